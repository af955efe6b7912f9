/**
 * Sending failed deliveries again. A replay keeps the row, hence the id and the bytes that the receiver knows; it
 * starts a new series of attempts and remembers how many were made before.
 */

import type { DeliveryState, DueDelivery } from '../domain/delivery.ts';
import type { Uuid } from '../domain/ids.ts';
import { IS_WANTED, STATE } from './cancellations.ts';
import type { Queryable } from './database.ts';

export interface ReplayFilter {
  readonly searchId: Uuid | null;
  /** Of a URL alone: of all its clients. */
  readonly endpointKey: string | null;
  readonly from: Date | null;
  readonly before: Date | null;
}

export interface ReplayPreview {
  readonly count: number;
  /** Up to ten ids, oldest first. */
  readonly sample: readonly Uuid[];
  readonly oldestAt: Date | null;
  readonly newestAt: Date | null;
  /** Failed ones that fit, whose search is deleted or silent. */
  readonly unwantedCount: number;
}

/** Failed ones, with their facts. Served by endings_failed and the primary key. */
const FAILED_ONES = `(
  select d.*, null::integer as generation, e.state, e.attempt_count
  from endings e join deliveries d on d.id = e.delivery_id
  where e.state = 'failed' and ($2::text is null or e.endpoint_key >= $2 and e.endpoint_key < $2 || 'g')) d`;
const FITS = `($1::uuid is null or s.id = $1) and ($3::timestamptz is null or d.created_at >= $3)
  and ($4::timestamptz is null or d.created_at < $4)`;
/** Failed ones 'chosen' and locked begin a new series; answers with their ids. Served by the primary keys. */
const START_ANEW = `
  forgotten as (
    delete from endings where delivery_id in (select id from chosen) and state = 'failed'
    returning delivery_id as id, attempt_count
  ), turned as (
    update deliveries d set attempts_spent = forgotten.attempt_count, replay_count = replay_count + 1
    from forgotten where d.id = forgotten.id returning d.*, forgotten.attempt_count
  ), begun as (
    insert into open_deliveries (id, match_id, search_number, generation, lane, attempt_count, follows, endpoint_key)
    select turned.id, match_id, search_number, searches.generation, 2, attempt_count, coalesce(sequence > 1, false),
      endpoint_key
    from turned join searches on searches.number = search_number
    on conflict (id) do nothing returning id, endpoint_key
  )`;

function valuesOf({ searchId, endpointKey, from, before }: ReplayFilter): unknown[] {
  return [searchId, endpointKey, from, before];
}

export async function previewReplay(database: Queryable, filter: ReplayFilter): Promise<ReplayPreview> {
  const { rows } = await database.query<{
    count: number;
    sample: Uuid[] | null;
    oldest: Date | null;
    newest: Date | null;
    unwanted: number;
  }>(
    `select count(*) filter (where ${IS_WANTED})::integer as count,
       (array_agg(d.id order by d.id) filter (where ${IS_WANTED}))[1:10] as sample,
       min(d.created_at) filter (where ${IS_WANTED}) as oldest,
       max(d.created_at) filter (where ${IS_WANTED}) as newest,
       count(*) filter (where not (${IS_WANTED}))::integer as unwanted
     from ${FAILED_ONES} join searches s on s.number = d.search_number where ${FITS}`,
    valuesOf(filter),
  );
  const [row] = rows;
  return {
    count: row?.count ?? 0,
    sample: row?.sample ?? [],
    oldestAt: row?.oldest ?? null,
    newestAt: row?.newest ?? null,
    unwantedCount: row?.unwanted ?? 0,
  };
}

/**
 * Re-queues up to `limit` failed deliveries above `aboveId`, oldest first, and answers what to publish. What another
 * operator is replaying at this moment is left to them.
 */
export async function requeueFailed(
  database: Queryable,
  filter: ReplayFilter,
  aboveId: Uuid | null,
  limit: number,
): Promise<readonly (DueDelivery & { readonly createdAt: Date })[]> {
  const { rows } = await database.query<{ id: Uuid; endpointKey: string; createdAt: Date }>(
    `with fitting as materialized (
       select d.id from ${FAILED_ONES} join searches s on s.number = d.search_number
       where ${FITS} and ${IS_WANTED} and ($5::uuid is null or d.id > $5) order by d.id limit $6
     ), chosen as materialized (
       select id from deliveries where id = any(array(select id from fitting)) order by id for update skip locked
     ), ${START_ANEW}
     select begun.id, begun.endpoint_key as "endpointKey", turned.created_at as "createdAt"
     from begun join turned using (id) order by id`,
    [...valuesOf(filter), aboveId, limit],
  );
  return rows.map((row) => ({ ...row, lane: 'again' }));
}

export interface Requeued {
  /** That it was in. */
  readonly state: DeliveryState;
  readonly isChanged: boolean;
}

/**
 * Makes one delivery due now: a failed one starts anew, one that waits for its hour goes on with its series. Answers the
 * state it was in, and what is due only when something was changed; null when there is no such delivery.
 */
export async function requeueOne(
  database: Queryable,
  id: Uuid,
): Promise<{ readonly state: DeliveryState; readonly due: DueDelivery | null } | null> {
  const { rows } = await database.query<{ state: DeliveryState; endpointKey: string; isChanged: boolean }>(
    `with chosen as materialized (
       select id from deliveries where id = $1 for update
     ), held as materialized (
       select d.id, ${STATE} as state, d.endpoint_key from chosen
       join delivery_states d using (id)
       join searches s on s.number = d.search_number
     ), ${START_ANEW}, hastened as (
       update open_deliveries o set lane = 2, due_at = clock_timestamp()
       from held where o.id = held.id and held.state = 'retry_wait' and o.lane = -1 returning o.id
     )
     select state, endpoint_key as "endpointKey",
       exists (select from begun) or exists (select from hastened) as "isChanged" from held`,
    [id],
  );
  const [row] = rows;
  if (row === undefined) return null;
  return { state: row.state, due: row.isChanged ? { id, endpointKey: row.endpointKey, lane: 'again' } : null };
}
