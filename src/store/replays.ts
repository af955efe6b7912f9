/**
 * Sending failed deliveries again. A replay keeps the row, hence the id and the bytes that the receiver knows; it
 * starts a new series of attempts and remembers how many were made before.
 */

import type { DeliveryState } from '../domain/delivery.ts';
import type { Uuid } from '../domain/ids.ts';
import { IS_WANTED, STATE } from './cancellations.ts';
import type { Queryable } from './database.ts';
import type { DeliveryAddress } from './deliveries.ts';
import { WAITING } from './delivery-states.ts';

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

/** Served by deliveries_failed. */
const FAILED = `d.state = 'failed' and ($1::uuid is null or s.id = $1) and ($2::text is null or d.endpoint_key >= $2 and d.endpoint_key < $2 || 'g')
  and ($3::timestamptz is null or d.created_at >= $3) and ($4::timestamptz is null or d.created_at < $4)`;
const START_ANEW = `state = 'queued', attempts_spent = attempt_count, replay_count = replay_count + 1,
  due_at = clock_timestamp(), finished_at = null`;

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
     from deliveries d join searches s on s.number = d.search_number where ${FAILED}`,
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
): Promise<readonly (DeliveryAddress & { readonly createdAt: Date })[]> {
  const { rows } = await database.query<{ id: Uuid; endpointKey: string; createdAt: Date }>(
    `with chosen as (
       select d.id from deliveries d join searches s on s.number = d.search_number
       where ${FAILED} and ${IS_WANTED} and ($5::uuid is null or d.id > $5)
       order by d.id limit $6 for update of d skip locked
     ), requeued as (
       update deliveries set ${START_ANEW} from chosen where deliveries.id = chosen.id
       returning deliveries.id, endpoint_key, created_at
     )
     select id, endpoint_key as "endpointKey", created_at as "createdAt" from requeued order by id`,
    [...valuesOf(filter), aboveId, limit],
  );
  return rows;
}

/**
 * Makes one delivery due now: a failed one starts anew, one that waits goes on with its series. Answers the state it
 * was in, and its address only when something was changed; null when there is no such delivery.
 */
export async function requeueOne(
  database: Queryable,
  id: Uuid,
): Promise<{ readonly state: DeliveryState; readonly address: DeliveryAddress | null } | null> {
  const { rows } = await database.query<{ state: DeliveryState; endpointKey: string; isChanged: boolean }>(
    `with held as (
       select d.id, ${STATE} as state, d.endpoint_key from deliveries d join searches s on s.number = d.search_number
       where d.id = $1 for update of d
     ),
     restarted as (
       update deliveries set ${START_ANEW} from held where deliveries.id = held.id and held.state = 'failed'
       returning deliveries.id
     ), hastened as (
       update deliveries set due_at = clock_timestamp()
       from held where deliveries.id = held.id and held.state in ${WAITING} returning deliveries.id
     )
     select state, endpoint_key as "endpointKey",
       exists (select from restarted) or exists (select from hastened) as "isChanged" from held`,
    [id],
  );
  const [row] = rows;
  if (row === undefined) return null;
  return { state: row.state, address: row.isChanged ? { id, endpointKey: row.endpointKey } : null };
}
