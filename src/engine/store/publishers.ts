/** Names of professional publishers and agencies in recent adverts, for completion. Never names of individuals. */

import { publisherKey, publisherPrefix } from '../domain/publisher-criteria.ts';
import { joinedJson, jsonTexts } from './array-literal.ts';
import type { Queryable, Statement } from './database.ts';

/** Days for which a name is kept after its last advert. */
const KEPT_DAYS = 90;
/** Above every other character in the collation "C". */
const LAST_CHARACTER = '\u{10ffff}';

/** `names`: the names of publishers, by key. A row is written at most once a day. Served by the primary key. */
export function insertPublishers(names: ReadonlyMap<string, string>): readonly Statement[] {
  if (names.size === 0) return [];
  return [
    {
      name: 'insert-publishers',
      // In key order, so that two transactions do not deadlock.
      text: `
        insert into publishers (key, name, seen_on)
        select publisher ->> 0, publisher ->> 1, current_date
        from unnest(${jsonTexts('$1')}::json[]) as seen (publisher) order by 1
        on conflict (key) do update set name = excluded.name, seen_on = excluded.seen_on
        where publishers.seen_on < excluded.seen_on`,
      values: [joinedJson([...names].map((each) => JSON.stringify(each)))],
    },
  ];
}

/**
 * Names that begin with `name`, both folded and without a leading legal form, in order. They include the publisher that
 * `name` denotes, because its key has no legal form at the end. Served by the primary key.
 */
export async function findPublishers(database: Queryable, name: string, max: number): Promise<readonly string[]> {
  const prefix = publisherPrefix(name);
  if (prefix === '') return [];
  const { rows } = await database.query<{ readonly name: string }>(
    `select name from (
       select * from publishers where key = $4 and key <> $1
       union all select * from publishers where key >= $1 and key < $2
     ) as found where seen_on >= current_date - ${KEPT_DAYS} order by key limit $3`,
    [prefix, `${prefix}${LAST_CHARACTER}`, max, publisherKey(name)],
  );
  return rows.map((row) => row.name);
}

/** Removes up to `limit` expired names (`KEPT_DAYS`), and resolves with their number. Served by publishers_seen. */
export async function removePublishers(client: Queryable, limit: number): Promise<number> {
  const { rowCount } = await client.query(
    `delete from publishers where key in (
       select key from publishers where seen_on < current_date - ${KEPT_DAYS} order by seen_on limit $1)`,
    [limit],
  );
  return rowCount ?? 0;
}
