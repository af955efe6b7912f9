/**
 * Cancels the open deliveries of a search that was deleted or silenced. There may be too many for one request, so the
 * request only marks the search. Claims and reads treat its earlier open deliveries as cancelled, and a background task
 * cancels them page by page. The searches of a deleted client are also deleted page by page.
 */

import type { SearchNumber, Uuid } from '../domain/ids.ts';
import { attemptsUnderWay, LOGGED } from './attempts.ts';
import type { Queryable } from './database.ts';
import { NEVER_DELIVERED, OPEN } from './delivery-states.ts';

/** SQL: whether delivery `d` (delivery-states.ts) of search `s` counts as cancelled although its row is still open. */
export const IS_CANCELLED = `(coalesce(d.generation < s.generation, false) and d.state in ${OPEN})`;
/** SQL: whether search `s` still wants delivery `d`. */
export const IS_WANTED = `s.deleted_at is null and s.notification_enabled and not ${IS_CANCELLED}`;
export const STATE = `case when ${IS_CANCELLED} then 'cancelled' else d.state end`;
export const FINISHED_AT = `case when ${IS_CANCELLED} then coalesce(s.silenced_at, s.updated_at) else d.finished_at end`;
/** The assignments of an update that silences a search. */
export const SILENCE = 'generation = generation + 1, silenced_at = clock_timestamp()';

/** SQL: whether `d` is in the state `parameter`, for example `$2`. Compares `d.state` itself, so that indexes apply. */
export function isInState(parameter: string): string {
  return `(${parameter} = 'cancelled' and (d.state = 'cancelled' or ${IS_CANCELLED})
    or ${parameter} <> 'cancelled' and d.state = ${parameter} and not ${IS_CANCELLED})`;
}

export interface MarkedSearch {
  readonly number: SearchNumber;
  readonly generation: number;
  readonly markedAgoMs: number;
}

/** The searches that were marked first, in this order. Served by searches_silenced. */
export async function readMarkedSearches(client: Queryable, limit: number): Promise<readonly MarkedSearch[]> {
  const { rows } = await client.query<MarkedSearch>(
    `select number, generation, extract(epoch from clock_timestamp() - silenced_at)::float8 * 1000 as "markedAgoMs"
     from searches where silenced_at is not null order by silenced_at limit $1`,
    [limit],
  );
  return rows;
}

/** Cancels up to `limit` open e-mail items of a search. Resolves with their number. Served by mail_items_search. */
export async function cancelMailItems(
  client: Queryable,
  { number, generation }: MarkedSearch,
  limit: number,
): Promise<number> {
  const { rowCount } = await client.query(
    `with open as materialized (
       select id from mail_items
       where search_number = $1 and generation < $2 and state in ${OPEN}
       order by id limit $3 for update
     )
     update mail_items set state = 'cancelled', finished_at = clock_timestamp() from open where mail_items.id = open.id`,
    [number, generation, limit],
  );
  return rowCount ?? 0;
}

/** The position at which a page of deliveries ended. */
export interface CancelledCursor {
  readonly id: Uuid;
  readonly createdAt: string;
}

/**
 * Cancels the open deliveries in the next page of the search's deliveries, newest first. Resolves with the end of the
 * page, or null if there are no more. An attempt in progress continues, but its outcome finds no open row. Locked rows
 * are skipped: they are being settled or claimed, and a claim checks the generation. Served by deliveries_search and
 * the primary keys.
 */
export async function cancelPage(
  client: Queryable,
  { number, generation }: MarkedSearch,
  after: CancelledCursor | null,
  limit: number,
): Promise<CancelledCursor | null> {
  const { rows } = await client.query<CancelledCursor>(
    `with page as materialized (
       select id, created_at from deliveries
       where search_number = $1 and created_at <= $3::timestamptz and (created_at < $3::timestamptz or id > $4)
       order by created_at desc, id limit $5
     ), open as materialized (
       select id from open_deliveries
       where id = any(array(select id from page)) and generation < $2 order by id for update skip locked
     ), gone as (
       delete from open_deliveries where id = any(array(select id from open))
       returning id, endpoint_key, attempt_count, claimed_by, claimed_at, recovery_id
     ), logged as (
       insert into attempts (${LOGGED}) ${attemptsUnderWay('gone')} on conflict do nothing
     ), ended as (
       insert into final_outcomes (delivery_id, endpoint_key, state, attempt_count, recovery_id)
       select id, endpoint_key, 'cancelled', attempt_count, recovery_id from gone where ${NEVER_DELIVERED}
     )
     select id, created_at::text as "createdAt" from page order by created_at, id desc limit 1`,
    [number, generation, after?.createdAt ?? 'infinity', after?.id ?? SMALLEST_UUID, limit],
  );
  return rows[0] ?? null;
}

const SMALLEST_UUID = '00000000-0000-0000-0000-000000000000';

/** Removes the mark after all deliveries of the search were cancelled. Keeps newer marks. Served by the primary key. */
export async function removeMark(client: Queryable, { number, generation }: MarkedSearch): Promise<void> {
  await client.query('update searches set silenced_at = null where number = $1 and generation = $2', [
    number,
    generation,
  ]);
}

/**
 * Marks up to `limit` searches of deleted clients as deleted. Resolves with their number. Served by clients_deleted,
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
       generation = generation + 1, silenced_at = case
         when exists (select from deliveries where search_number = searches.number)
           or exists (select from mail_items where search_number = searches.number) then clock_timestamp() end
     from orphaned where searches.number = orphaned.number`,
    [limit],
  );
  return rowCount ?? 0;
}
