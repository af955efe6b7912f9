/**
 * The steps of recoveries. A step is one transaction under a lock that one process at a time holds. The state is stored
 * in rows, so any process can continue where the last step ended.
 */

import type { DueDelivery } from '../../engine/domain/delivery.ts';
import { endpointKeyOf } from '../../engine/domain/endpoint.ts';
import { firstUuidAt, type Uuid } from '../../engine/domain/ids.ts';
import { IS_CANCELLED, IS_WANTED } from '../../engine/store/cancellations.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { lockForResending, type ResendCandidate, resend } from '../../engine/store/resends.ts';
import { CLOCKS_APART_MS, type NewRecovery, type RecoveryState, startOf } from './recovery-rows.ts';

export interface OpenRecovery extends NewRecovery {
  readonly state: RecoveryState;
  /** Deliveries after it have not been read. */
  readonly place: Uuid;
}

/** An arbitrary number that nothing else in the database locks. */
const STEP_LOCK = 7_640_891_577;
const OPEN_MAX = 256;
/** Deliveries of all clients that one step reads, in about ten milliseconds. */
const PAGE_ROWS = 10_000;

/** The oldest recovery comes first. Null if another process holds the lock. Served by recoveries_open. */
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

const UNDELIVERED = ['failed', 'retry_wait'] as const;
/**
 * For a delivery `d` and its search `s`. A delivery that waits for its first attempt needs no recovery. Times are in
 * milliseconds in answers, and in microseconds in rows.
 */
const FITS = `s.client_id = $3 and d.created_at >= $4 and d.created_at < $5::timestamptz + interval '1 millisecond'
  and ($6::integer is null or d.search_number = $6) and ($7::text is null or d.endpoint_key = $7)
  and (d.state in (${UNDELIVERED.map((state) => `'${state}'`).join()}) or d.state = 'delivered' and $8) and not ${IS_CANCELLED}
  and ${IS_WANTED}`;

interface RecoveryPage {
  /** The last delivery of the page, fitting or not; null without one. */
  readonly last: Uuid | null;
  /**
   * True if the page is not full. Deliveries added later need no recovery, even if they seem as old, because their
   * first attempts are still to come.
   */
  readonly isLastPage: boolean;
  /** Fitting ones, oldest first. */
  readonly ids: readonly Uuid[];
}

/** The next page of deliveries after `place`. Served by the primary keys. */
async function readRecoveryPage(connection: Queryable, recovery: Omit<OpenRecovery, 'state'>): Promise<RecoveryPage> {
  const { place, clientId, since, until, searchNumber, includesDelivered } = recovery;
  const endpointKey = recovery.endpoint === null ? null : endpointKeyOf(clientId, recovery.endpoint);
  const beyond = firstUuidAt(new Date(until.getTime() + CLOCKS_APART_MS));
  const { rows } = await connection.query<RecoveryPage>(
    `with page as materialized (
       select id, search_number, endpoint_key, created_at, state, generation from delivery_states
       where id > $1 and id < $2 order by id limit ${PAGE_ROWS}
     )
     select (select id from page order by id desc limit 1) as last,
       (select count(*) from page) < ${PAGE_ROWS} as "isLastPage", array(
       select d.id from page d join searches s on s.number = d.search_number where ${FITS} order by d.id
     ) as ids`,
    [place, beyond, clientId, since, until, searchNumber, endpointKey, includesDelivered],
  );
  return rows[0] as RecoveryPage;
}

/** The deliveries that a recovery would resend now, page by page. */
export async function countFitting(database: Queryable, recovery: NewRecovery): Promise<number> {
  for (let count = 0, place = startOf(recovery); ; ) {
    const { last, isLastPage, ids } = await readRecoveryPage(database, { ...recovery, place });
    count += ids.length;
    if (isLastPage || last === null) return count;
    place = last;
  }
}

/** Counts another page, and begins to send if it was the last one. */
export async function countPage(connection: Queryable, recovery: OpenRecovery): Promise<void> {
  const { last, isLastPage, ids } = await readRecoveryPage(connection, recovery);
  await connection.query('update recoveries set matched = matched + $2, place = $3, state = $4 where id = $1', [
    recovery.id,
    ids.length,
    isLastPage ? startOf(recovery) : last,
    isLastPage ? 'running' : 'counting',
  ]);
}

interface UnderWay {
  readonly count: number;
  /** Deliveries whose match has nothing else in progress any more, oldest first. */
  readonly next: readonly Uuid[];
}

/** Records the attempts that have ended. Resolves with the work still in progress. Served by the primary keys. */
export async function settleItems(connection: Queryable, { id }: OpenRecovery): Promise<UnderWay> {
  const { rows } = await connection.query<UnderWay>(
    `with now_so as materialized (
       select i.delivery_id, i.match_id, i.attempt_count is null as waits, d.id is null as is_gone, e.state as ending,
         o.id is null as is_closed, o.attempt_count > i.attempt_count and o.claimed_by is null as is_attempted,
         exists (select from attempts a where a.delivery_id = i.delivery_id and a.number > i.attempt_count and a.error is null)
           as is_delivered
       from recovery_items i left join deliveries d on d.id = i.delivery_id
       left join open_deliveries o on o.id = i.delivery_id left join final_outcomes e on e.delivery_id = i.delivery_id
       where i.recovery_id = $1
     ), settled as (
       delete from recovery_items i using now_so
       where i.recovery_id = $1 and i.delivery_id = now_so.delivery_id and not now_so.waits
         and (now_so.is_gone or now_so.is_closed or now_so.is_attempted)
       returning i.delivery_id, case when now_so.is_gone then 'cancelled'
         else coalesce(now_so.ending, case when now_so.is_delivered then 'delivered' else 'failed' end) end as state
     ), counts as (
       select count(*) filter (where state = 'delivered') as delivered, count(*) filter (where state = 'failed') as failed,
         count(*) filter (where state = 'cancelled') as skipped
       from settled
     ), noted as (
       update recoveries set sent = sent + counts.delivered + counts.failed, delivered = recoveries.delivered + counts.delivered,
         failed = recoveries.failed + counts.failed, skipped = recoveries.skipped + counts.skipped
       from counts where id = $1
     ), still as materialized (
       select * from now_so where delivery_id not in (select delivery_id from settled)
     )
     select (select count(*) from still)::integer as count, array(
       select first.id from (
         select distinct on (match_id) delivery_id as id, waits from still order by match_id, waits, delivery_id
       ) first where first.waits order by first.id) as next`,
    [id],
  );
  return rows[0] as UnderWay;
}

/** Resends those of `ids` that may still be sent; resolves with these, and with the deliveries that are due. */
async function send(
  connection: Queryable,
  recovery: OpenRecovery,
  ids: readonly Uuid[],
): Promise<{ readonly sent: readonly ResendCandidate[]; readonly due: readonly DueDelivery[] }> {
  const candidates = await lockForResending(connection, recovery.clientId, ids);
  // Checked again under the lock, because some may have been delivered or cancelled since.
  const fitting: readonly string[] = recovery.includesDelivered ? [...UNDELIVERED, 'delivered'] : UNDELIVERED;
  const sent = candidates.filter(({ refusal, state }) => refusal === null && fitting.includes(state));
  return { sent, due: await resend(connection, sent) };
}

/** Sends those that waited for an earlier one of the match; resolves with the due ones. Served by the primary keys. */
export async function sendWaiting(
  connection: Queryable,
  recovery: OpenRecovery,
  ids: readonly Uuid[],
): Promise<readonly DueDelivery[]> {
  if (ids.length === 0) return [];
  const { sent, due } = await send(connection, recovery, ids);
  await connection.query(
    `with begun as (
       update recovery_items i set attempt_count = sent.attempt_count
       from unnest($3::uuid[], $4::smallint[]) as sent(id, attempt_count)
       where i.recovery_id = $1 and i.delivery_id = sent.id
     ), skipped as (
       delete from recovery_items where recovery_id = $1 and delivery_id = any($2::uuid[]) and delivery_id <> all($3::uuid[])
     )
     update recoveries set skipped = skipped + $5 where id = $1`,
    [
      recovery.id,
      ids,
      sent.map(({ id }) => id),
      sent.map(({ attemptCount }) => attemptCount),
      ids.length - sent.length,
    ],
  );
  return due;
}

/**
 * Adds up to `room` more deliveries, oldest first. Makes the first one of each match due, queues the others of the
 * match behind it, and resolves with the due ones. A recovery is finished when no delivery is left or in progress.
 */
export async function sendNext(
  connection: Queryable,
  recovery: OpenRecovery,
  room: number,
  underWay: number,
): Promise<readonly DueDelivery[]> {
  const { last, isLastPage, ids } = await readRecoveryPage(connection, recovery);
  if (isLastPage && ids.length === 0) {
    const finish = `update recoveries set state = 'finished', finished_at = now() where id = $1`;
    if (underWay === 0) await connection.query(finish, [recovery.id]);
    return [];
  }
  const next = ids.slice(0, room);
  // Served by the primary keys.
  const { rows: waiting } = await connection.query<{ id: Uuid }>(
    `with next as materialized (
       select id, match_id, row_number() over (partition by match_id order by id) as place
       from deliveries where id = any($2::uuid[])
     )
     insert into recovery_items (recovery_id, delivery_id, match_id)
     select $1, id, match_id from next
     where place > 1 or exists (select from recovery_items i where i.recovery_id = $1 and i.match_id = next.match_id)
     returning delivery_id as id`,
    [recovery.id, next],
  );
  const behind = new Set(waiting.map(({ id }) => id));
  const { sent, due } = await send(
    connection,
    recovery,
    next.filter((id) => !behind.has(id)),
  );
  await connection.query(
    `insert into recovery_items (recovery_id, delivery_id, match_id, attempt_count)
     select $1::uuid, * from unnest($2::uuid[], $3::uuid[], $4::smallint[])`,
    [
      recovery.id,
      sent.map(({ id }) => id),
      sent.map(({ matchId }) => matchId),
      sent.map(({ attemptCount }) => attemptCount),
    ],
  );
  await connection.query('update recoveries set place = $2, skipped = skipped + $3 where id = $1', [
    recovery.id,
    ids.length > room ? next.at(-1) : last,
    next.length - behind.size - sent.length,
  ]);
  return due;
}
