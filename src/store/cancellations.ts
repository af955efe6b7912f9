/**
 * Cancelling what is open of a search that was deleted or silenced. There may be hundreds of thousands of deliveries, and
 * nobody waits for so many rows: the search is marked, which claims and reads honour at once, and its deliveries are
 * cancelled page by page behind it. The same for the searches of a deleted client.
 */

import type { SearchNumber, Uuid } from '../domain/ids.ts';
import type { Queryable } from './database.ts';
import { OPEN } from './delivery-states.ts';

/** Of a delivery `d` and its search `s`: it is cancelled, though its row may not say so yet. */
export const IS_CANCELLED = `(s.cancelled_before is not null and d.created_at < s.cancelled_before
  and d.state in ${OPEN})`;
/** Whether the search still wants the delivery. */
export const IS_WANTED = `s.deleted_at is null and s.notification_enabled
  and (s.cancelled_before is null or d.created_at >= s.cancelled_before)`;
export const STATE = `case when ${IS_CANCELLED} then 'cancelled' else d.state end`;
export const FINISHED_AT = `case when ${IS_CANCELLED} then s.cancelled_before else d.finished_at end`;

/** `parameter`: a state, for example `$2`. Leaves `d.state` to the indexes of a state. */
export function isInState(parameter: string): string {
  return `(${parameter} = 'cancelled' and (d.state = 'cancelled' or ${IS_CANCELLED})
    or ${parameter} <> 'cancelled' and d.state = ${parameter} and not ${IS_CANCELLED})`;
}

export interface MarkedSearch {
  readonly number: SearchNumber;
  /** PostgreSQL's text, with its microseconds. */
  readonly cancelledBefore: string;
  readonly markedAgoMs: number;
}

/** Longest marked first. Served by searches_cancelled. */
export async function readMarkedSearches(client: Queryable, limit: number): Promise<readonly MarkedSearch[]> {
  const { rows } = await client.query<MarkedSearch>(
    `select number, cancelled_before::text as "cancelledBefore",
       extract(epoch from clock_timestamp() - cancelled_before)::float8 * 1000 as "markedAgoMs"
     from searches where cancelled_before is not null order by cancelled_before limit $1`,
    [limit],
  );
  return rows;
}

/** The same for items of e-mails; there are few in the space of a week. Served by mail_items_search. */
export async function cancelMailItems(
  client: Queryable,
  { number, cancelledBefore }: MarkedSearch,
  limit: number,
): Promise<number> {
  const { rowCount } = await client.query(
    `with open as materialized (
       select id from mail_items
       where search_number = $1 and created_at < $2::timestamptz and state in ('queued', 'sending', 'retry_wait')
       order by id limit $3 for update
     )
     update mail_items set state = 'cancelled', finished_at = $2::timestamptz from open where mail_items.id = open.id`,
    [number, cancelledBefore, limit],
  );
  return rowCount ?? 0;
}

/** Where a page of deliveries ended. */
export interface CancelledPlace {
  readonly id: Uuid;
  readonly createdAt: string;
}

/**
 * Cancels what is open among the next `limit` deliveries of the search, newest first, behind `after`, and recorded no
 * more than `sinceMs` before the mark. Null when there are no more. One that is being sent at this moment finishes, and
 * its outcome finds no open row. Rows are locked in key order. Served by deliveries_search and the primary key.
 */
export async function cancelPage(
  client: Queryable,
  { number, cancelledBefore }: MarkedSearch,
  sinceMs: number,
  after: CancelledPlace | null,
  limit: number,
): Promise<CancelledPlace | null> {
  const { rows } = await client.query<CancelledPlace>(
    `with page as materialized (
       select id, created_at, state from deliveries
       where search_number = $1 and created_at < $2::timestamptz
         and created_at >= $2::timestamptz - $3 * interval '1 millisecond'
         and created_at <= $4::timestamptz and (created_at < $4::timestamptz or id > $5)
       order by created_at desc, id limit $6
     ), open as materialized (
       select id from deliveries
       where id = any(array(select id from page where state in ${OPEN}))
       order by id for update
     ), cancelled as (
       update deliveries set state = 'cancelled', finished_at = $2::timestamptz
       from open where deliveries.id = open.id and state in ${OPEN}
     )
     select id, created_at::text as "createdAt" from page order by created_at, id desc limit 1`,
    [number, cancelledBefore, sinceMs, after?.createdAt ?? 'infinity', after?.id ?? SMALLEST_UUID, limit],
  );
  return rows[0] ?? null;
}

const SMALLEST_UUID = '00000000-0000-0000-0000-000000000000';

/** Everything that the mark stood for is cancelled. Leaves a newer mark. Served by the primary key. */
export async function removeMark(client: Queryable, { number, cancelledBefore }: MarkedSearch): Promise<void> {
  await client.query('update searches set cancelled_before = null where number = $1 and cancelled_before = $2', [
    number,
    cancelledBefore,
  ]);
}

/**
 * Deletes up to `limit` searches of deleted clients; resolves with their number. Served by clients_deleted,
 * searches_client, deliveries_search and mail_items_search.
 */
export async function deleteOrphanedSearches(client: Queryable, limit: number): Promise<number> {
  const { rowCount } = await client.query(
    `with orphaned as materialized (
       select orphan.number from clients, lateral (
         select number from searches where client_id = clients.id and deleted_at is null
         order by number limit $1 for update skip locked
       ) orphan
       where clients.deleted_at is not null limit $1
     )
     update searches set deleted_at = now(), notification_enabled = false, revision = pg_current_xact_id(),
       cancelled_before = case
         when exists (select from deliveries where search_number = searches.number)
           or exists (select from mail_items where search_number = searches.number) then clock_timestamp() end
     from orphaned where searches.number = orphaned.number`,
    [limit],
  );
  return rowCount ?? 0;
}
