/**
 * The steps of recoveries. A step is one transaction under a lock that one process at a time can have, and everything it
 * needs is in the rows: whoever takes the next one goes on where the last one ended.
 */

import { firstUuidAt, type SearchNumber, type Uuid } from '../domain/ids.ts';
import type { RecoveryState } from '../domain/recovery.ts';
import { IS_CANCELLED, IS_WANTED } from './cancellations.ts';
import type { Queryable } from './database.ts';
import type { DeliveryAddress } from './deliveries.ts';
import { FINAL } from './delivery-states.ts';
import { lockForResending, sendAgain } from './resends.ts';

export interface OpenRecovery {
  readonly id: Uuid;
  readonly clientId: Uuid;
  readonly state: RecoveryState;
  readonly place: Uuid;
  readonly searchNumber: SearchNumber | null;
  readonly endpoint: string | null;
  readonly since: Date;
  readonly until: Date;
  readonly includesDelivered: boolean;
}

/** Any number that nothing else in the database locks. */
const STEP_LOCK = 7_640_891_577;
const OPEN_MAX = 256;
/** Deliveries of all clients that one step looks through: some ten milliseconds. */
const PAGE_ROWS = 10_000;
const CLOCKS_APART_MS = 3_600_000;

/** Longest open first; null when another process is at it. Served by recoveries_open. */
export async function lockOpenRecoveries(connection: Queryable): Promise<readonly OpenRecovery[] | null> {
  const { rows: locked } = await connection.query<{ isMine: boolean }>(
    `select pg_try_advisory_xact_lock(${STEP_LOCK}) as "isMine"`,
  );
  if (locked[0]?.isMine !== true) return null;
  const { rows } = await connection.query<OpenRecovery>(
    `select id, client_id as "clientId", state, place, search_number as "searchNumber", endpoint, since, until,
       includes_delivered as "includesDelivered"
     from recoveries where state in ('counting', 'running') order by id limit ${OPEN_MAX} for update`,
  );
  return rows;
}

const UNDELIVERED = ['failed', 'retry_wait', 'parked'] as const;
/** Of a delivery `d` and its search `s`. A first attempt that has not been made is on its way, and needs no recovery. */
const FITS = `s.client_id = $3 and d.created_at between $4 and $5
  and ($6::integer is null or d.search_number = $6) and ($7::text is null or d.endpoint = $7)
  and (d.state in (${UNDELIVERED.map((state) => `'${state}'`).join()}) or d.state = 'delivered' and $8) and not ${IS_CANCELLED}
  and ${IS_WANTED}`;

interface LookedThrough {
  /** The last delivery of the page, fitting or not; null where there is none. */
  readonly last: Uuid | null;
  /**
   * It is not full. What comes behind it later is none of the recovery's, though it may look as old: it is on its way.
   */
  readonly isLastPage: boolean;
  /** Fitting ones, oldest first. */
  readonly ids: readonly Uuid[];
}

/** The next page of deliveries behind the place. Served by the primary keys. */
async function lookThrough(connection: Queryable, recovery: OpenRecovery): Promise<LookedThrough> {
  const { place, clientId, since, until, searchNumber, endpoint, includesDelivered } = recovery;
  const beyond = firstUuidAt(new Date(until.getTime() + CLOCKS_APART_MS));
  const { rows } = await connection.query<LookedThrough>(
    `with page as materialized (
       select id, search_number, endpoint, state, created_at from deliveries
       where id > $1 and id < $2 order by id limit ${PAGE_ROWS}
     )
     select (select id from page order by id desc limit 1) as last,
       (select count(*) from page) < ${PAGE_ROWS} as "isLastPage", array(
       select d.id from page d join searches s on s.number = d.search_number where ${FITS} order by d.id
     ) as ids`,
    [place, beyond, clientId, since, until, searchNumber, endpoint, includesDelivered],
  );
  return rows[0] as LookedThrough;
}

/** Counts one page more, and begins to send when that was the last. */
export async function countPage(connection: Queryable, recovery: OpenRecovery): Promise<void> {
  const { last, isLastPage, ids } = await lookThrough(connection, recovery);
  const start = firstUuidAt(new Date(Math.max(0, recovery.since.getTime() - CLOCKS_APART_MS)));
  await connection.query('update recoveries set matched = matched + $2, place = $3, state = $4 where id = $1', [
    recovery.id,
    ids.length,
    isLastPage ? start : last,
    isLastPage ? 'running' : 'counting',
  ]);
}

/** Takes note of what has been attempted, and resolves with how many are still under way. Served by the primary keys. */
export async function settleItems(connection: Queryable, { id }: OpenRecovery): Promise<number> {
  const { rows } = await connection.query<{ count: number }>(
    `with now_so as materialized (
       select i.delivery_id, d.state, d.attempt_count > i.attempt_count as is_attempted
       from recovery_items i left join deliveries d on d.id = i.delivery_id where i.recovery_id = $1
     ), settled as (
       delete from recovery_items i using now_so
       where i.recovery_id = $1 and i.delivery_id = now_so.delivery_id
         and (now_so.state is null or now_so.state in ${FINAL}
           or now_so.is_attempted and now_so.state <> 'sending')
       returning now_so.state
     ), counts as (
       select count(*) filter (where state = 'delivered') as delivered,
         count(*) filter (where state not in ('delivered', 'cancelled')) as failed,
         count(*) filter (where state is null or state = 'cancelled') as skipped
       from settled
     ), noted as (
       update recoveries set sent = sent + counts.delivered + counts.failed, delivered = recoveries.delivered + counts.delivered,
         failed = recoveries.failed + counts.failed, skipped = recoveries.skipped + counts.skipped
       from counts where id = $1
     )
     select ((select count(*) from now_so) - (select count(*) from settled))::integer as count`,
    [id],
  );
  return rows[0]?.count ?? 0;
}

/**
 * Sends up to `room` more, oldest first, and resolves with what to publish once the transaction has ended. A recovery that
 * has nothing left, and nothing under way, is finished.
 */
export async function sendNext(
  connection: Queryable,
  recovery: OpenRecovery,
  room: number,
  underWay: number,
): Promise<readonly DeliveryAddress[]> {
  const { last, isLastPage, ids } = await lookThrough(connection, recovery);
  if (isLastPage && ids.length === 0) {
    if (underWay === 0) await finish(connection, recovery);
    return [];
  }
  const next = ids.slice(0, room);
  const candidates = await lockForResending(connection, recovery.clientId, next);
  // Looked at again under the lock: one may have been delivered or cancelled meanwhile.
  const fitting: readonly string[] = recovery.includesDelivered ? [...UNDELIVERED, 'delivered'] : UNDELIVERED;
  const sendable = candidates.filter(({ refusal, state }) => refusal === null && fitting.includes(state));
  const addresses = await sendAgain(connection, sendable);
  await connection.query(
    `insert into recovery_items (recovery_id, delivery_id, attempt_count)
     select $1::uuid, * from unnest($2::uuid[], $3::smallint[])`,
    [recovery.id, sendable.map(({ id }) => id), sendable.map(({ attemptCount }) => attemptCount)],
  );
  await connection.query('update recoveries set place = $2, skipped = skipped + $3 where id = $1', [
    recovery.id,
    ids.length > room ? next.at(-1) : last,
    next.length - sendable.length,
  ]);
  return addresses;
}

async function finish(connection: Queryable, { id }: OpenRecovery): Promise<void> {
  await connection.query(`update recoveries set state = 'finished', finished_at = now() where id = $1`, [id]);
}
