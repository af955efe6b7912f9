/** A client's searches one page a time. */

import type { SearchNumber, Uuid } from '../domain/ids.ts';
import type { SearchMembers } from '../domain/search.ts';
import type { Queryable } from './database.ts';
import { membersOfStored, type StoredMembers } from './searches.ts';

interface ListedSearch {
  readonly number: SearchNumber;
  readonly members: SearchMembers;
}

const SEARCHES_PER_PAGE = 500;
/** Of members as they are stored, compressed. */
const PAGE_BYTES = 512 * 1_024;

/** A client's searches in the order of their numbers; each page is read when the one before was taken. Served by searches_client. */
export async function* readMembersOf(database: Queryable, clientId: Uuid): AsyncGenerator<readonly ListedSearch[]> {
  for (let after = 0; ; ) {
    const { rows } = await database.query<{ number: SearchNumber; members: StoredMembers }>(
      `select number, members from (
         select number, members, sum(pg_column_size(members)) over (order by number) - pg_column_size(members) as before
         from (
           select number, members from searches where client_id = $1 and number > $2 and deleted_at is null
           order by number limit ${SEARCHES_PER_PAGE}
         ) page
       ) sized where before < ${PAGE_BYTES} order by number`,
      [clientId, after],
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(({ number, members }) => ({ number, members: membersOfStored(members) }));
    after = last.number;
  }
}
