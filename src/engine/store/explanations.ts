/** What was recorded of one search and one property, for their explanation; and a client's searches one page a time. */

import { createdAtOf, type SearchNumber, type Uuid } from '../domain/ids.ts';
import type { SearchMembers } from '../domain/search.ts';
import { ALL_DELIVERIES } from './all-deliveries.ts';
import type { Queryable } from './database.ts';
import type { PairRow } from './pairs.ts';
import { membersOfStored, type StoredMembers } from './searches.ts';

/** Of one pair; more are found under `/deliveries`. */
const PAIR_DELIVERIES_MAX = 1_000;

/**
 * Ids of a pair's deliveries, newest first. Served by deliveries_search and mail_items_search: a delivery was recorded
 * after its pair was first heard of, and not after the pair's last event.
 */
export async function listPairDeliveryIds(
  database: Queryable,
  searchNumber: SearchNumber,
  { matchId, updatedAt }: PairRow,
): Promise<readonly Uuid[]> {
  const { rows } = await database.query<{ id: Uuid }>(
    `select id from ${ALL_DELIVERIES} d
     where search_number = $1 and match_id = $2
       and created_at between $3::timestamptz - interval '1 hour' and $4::timestamptz + interval '1 hour'
     order by created_at desc, id desc limit ${PAIR_DELIVERIES_MAX}`,
    [searchNumber, matchId, createdAtOf(matchId), updatedAt],
  );
  return rows.map(({ id }) => id);
}

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
