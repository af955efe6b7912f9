/**
 * (search, property) pairs. They are written only by the transaction that holds the property's row lock, so reading
 * a pair and then writing it cannot race with another writer.
 */

import type { SearchNumber, Uuid } from '../domain/ids.ts';
import { arrayLiteral } from './array-literal.ts';
import type { Queryable, Statement } from './database.ts';

export interface Match {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly propertyUuid: Uuid;
  /** Null while the pair only stands (see the schema). */
  readonly beganAt: Date | null;
  readonly updatedAt: Date;
}

/** A pair as the table holds it. */
export type KnownMatch = Omit<Match, 'updatedAt'>;

/** All pairs of the properties `uuids`. Served by the unique index. */
export async function readMatches(client: Queryable, uuids: readonly Uuid[]): Promise<readonly KnownMatch[]> {
  if (uuids.length === 0) return [];
  const { rows } = await client.query<KnownMatch>({
    name: 'read-matches',
    text: `
      select id, search_number as "searchNumber", property_uuid as "propertyUuid", began_at as "beganAt"
      from matches where property_uuid = any($1::uuid[])`,
    values: [arrayLiteral(uuids)],
  });
  return rows;
}

/** Written at `at`, the `updatedAt` of them all. */
export function insertMatches(matches: readonly Match[], at: Date): readonly Statement[] {
  if (matches.length === 0) return [];
  return [
    {
      name: 'insert-matches',
      text: `
      insert into matches (id, search_number, property_uuid, began_at, updated_at)
      select id, search_number, property_uuid, case when has_begun then $5::timestamptz end, $5
      from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::boolean[])
        as written(id, search_number, property_uuid, has_begun)`,
      values: [
        arrayLiteral(matches.map(({ id }) => id)),
        arrayLiteral(matches.map(({ searchNumber }) => searchNumber)),
        arrayLiteral(matches.map(({ propertyUuid }) => propertyUuid)),
        arrayLiteral(matches.map(({ beganAt }) => beganAt !== null)),
        at,
      ],
    },
  ];
}

/** Known ones of which some begin now: at `at`, the `updatedAt` of them all. Served by the primary key. */
export function updateMatches(matches: readonly Match[], at: Date): readonly Statement[] {
  if (matches.length === 0) return [];
  const begin = matches.filter(({ beganAt }) => beganAt?.getTime() === at.getTime());
  return [
    {
      name: 'update-matches',
      text: `
      update matches set updated_at = $3, began_at = case when id = any($2::uuid[]) then $3 else began_at end
      where id = any($1::uuid[])`,
      values: [arrayLiteral(matches.map(({ id }) => id)), arrayLiteral(begin.map(({ id }) => id)), at],
    },
  ];
}
