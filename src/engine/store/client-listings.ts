/**
 * Lists matches or deliveries of all searches of a client, by time. Their rows refer only to the search, and an index
 * by client would make every write more expensive. So the statement merges the lists of the searches. It reads the head
 * of each list, then more rows of the lists that reach into the page. The result is exact, but at most `LISTED_MAX`
 * rows are listed and counted. For more, a caller must name a search.
 */

import type { Uuid } from '../domain/ids.ts';
import type { Queryable } from './database.ts';
import { ALL_DELIVERIES } from './delivery-states.ts';

export const LISTED_MAX = 10_000;

/** `desc`: newest first. */
export type Direction = 'asc' | 'desc';

export interface ListedPage {
  readonly direction: Direction;
  readonly offset: number;
  /** For `listOfClient`, the sum of offset and limit is at most `LISTED_MAX`. */
  readonly limit: number;
}

export interface ListedIds {
  readonly ids: readonly Uuid[];
  /** Number of rows on all pages, at most `LISTED_MAX`. */
  readonly total: number;
  /** True if there may be more rows than were read. */
  readonly isCut: boolean;
}

export interface ListedTable {
  readonly name: 'matches' | typeof ALL_DELIVERIES;
  readonly condition: string;
}

export const LISTED_MATCHES: ListedTable = { name: 'matches', condition: 'true' };
export const LISTED_DELIVERIES: ListedTable = { name: ALL_DELIVERIES, condition: 'true' };

/**
 * The beginning of a statement. Its table `listed` (id, at) has the first `$2` rows of client `$1`, and may have more
 * rows. Its table `heads` has the searches with rows. Served by searches_client and, for each search, by
 * matches_search, or by deliveries_search and mail_items_search.
 */
export function listedOfClient({ name, condition }: ListedTable, direction: Direction): string {
  const [beyond, last, endless] = direction === 'desc' ? ['>=', 'min', '-infinity'] : ['<=', 'max', 'infinity'];
  // The limits in the lateral joins force one index read per search, whatever the planner estimates.
  return `with heads as materialized (
      select s.number, head.at from searches s cross join lateral (
        select one.created_at as at from ${name} one where one.search_number = s.number and ${condition}
        order by one.created_at ${direction} limit 1
      ) head
      where s.client_id = $1 and s.deleted_at is null
    ), reaching as materialized (
      select number, at from heads order by at ${direction} fetch first ($2::bigint) rows with ties
    ), rim as materialized (
      select case when count(*) < $2::bigint then '${endless}'::timestamptz else ${last}(at) end as at from reaching
    ), listed as materialized (
      select item.id, item.at from reaching cross join lateral (
        select one.id, one.created_at as at from ${name} one
        where one.search_number = reaching.number and ${condition} and one.created_at ${beyond} (select at from rim)
        order by one.created_at ${direction} fetch first ($2::bigint) rows with ties
      ) item
    )`;
}

/** SQL for the first `$2` rows of `listed`. */
export function cutOfListed(direction: Direction): string {
  return `(select id, at from listed order by at ${direction}, id ${direction} limit $2::bigint)`;
}

/** One page of a client's rows. Served by the indexes of `listedOfClient`. */
export async function listOfClient(
  database: Queryable,
  table: ListedTable,
  clientId: Uuid,
  { direction, offset, limit }: ListedPage,
): Promise<ListedIds> {
  const { name, condition } = table;
  const { rows } = await database.query<Omit<ListedIds, 'isCut'>>(
    `${listedOfClient(table, direction)}
     select array(
       select id from ${cutOfListed(direction)} cut order by at ${direction}, id ${direction} offset $3
     ) as ids, (
       select count(*)::integer from (
         select from heads cross join lateral (
           select from ${name} one where one.search_number = heads.number and ${condition} limit ${LISTED_MAX}
         ) item limit ${LISTED_MAX}
       ) counted
     ) as total`,
    [clientId, offset + limit, offset],
  );
  const [{ ids, total } = { ids: [], total: 0 }] = rows;
  return { ids, total, isCut: total === LISTED_MAX };
}
