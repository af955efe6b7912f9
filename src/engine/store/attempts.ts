/** The log of attempts, and the effect of each attempt on its delivery. */

import type { AfterAttempt, AttemptOutcome, DueDelivery, Lane, NewDelivery } from '../domain/delivery.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import { arrayLiteral, joinedJson, jsonTexts, memberArrays } from './array-literal.ts';
import { type Database, pipelinedTransaction, type Queryable, type Statement } from './database.ts';
import { laneOf } from './deliveries.ts';
import { isAtEndpoint, isUndecidedOf, LANE, NEVER_DELIVERED } from './delivery-states.ts';

export interface SettledAttempt extends DueDelivery, Pick<NewDelivery, 'searchNumber' | 'matchId'> {
  /** The courier that claimed the delivery. */
  readonly holder: number;
  readonly attemptCount: number;
  readonly outcome: AttemptOutcome;
  readonly after: AfterAttempt;
  /** The delay of a retry, from the recording on, by PostgreSQL's clock. Ignored if `after` is not a retry. */
  readonly retryInMs: number;
  readonly traceparent?: string | null;
}

/**
 * Records the outcomes of attempts and the next state of each delivery. Resolves with the deliveries that became due. A
 * delivery that was cancelled during its attempt stays cancelled, but the attempt is logged. If an attempt that counted
 * as aborted has succeeded, the endpoint has the data. The success then replaces the abort and a later retry or
 * failure. Served by the primary keys, open_undecided and open_resent.
 */
export async function recordAttempts(
  database: Database,
  settled: readonly SettledAttempt[],
): Promise<readonly DueDelivery[]> {
  const rows = [...settled].sort((a, b) => (a.id < b.id ? -1 : 1));
  const outcomes = rows.map(({ outcome }) => outcome);
  const firsts = rows.filter(({ lane }) => lane === 'first');
  const settle = {
    name: 'settle',
    text: SETTLE,
    values: [
      ...memberArrays(rows, 'id', 'holder', 'attemptCount'),
      ...memberArrays(outcomes, 'startedAt', 'statusCode', 'error'),
      arrayLiteral(outcomes.map(({ durationMs }) => Math.round(durationMs))),
      joinedJson(outcomes.map(({ reason, responseHead }) => JSON.stringify([reason, responseHead]))),
      arrayLiteral(rows.map(({ after }) => after.state)),
      arrayLiteral(rows.map(({ retryInMs }) => Math.max(0, Math.ceil(retryInMs)))),
    ],
  };
  const delivered = rows.filter(({ after }) => after.state === 'delivered').map(({ id }) => id);
  const resend = { name: 'resend', text: RESEND, values: [...settle.values.slice(0, 3), arrayLiteral(delivered)] };
  const { answers } = await pipelinedTransaction(database, async () => ({
    last: [settle, resend, releasing(firsts)],
    result: null,
  }));
  const dueOf = (answer: number, lane: Lane): readonly DueDelivery[] =>
    ((answers[answer]?.rows ?? []) as Omit<DueDelivery, 'lane'>[]).map((row) => ({ ...row, lane }));
  return [...dueOf(2, 'first'), ...dueOf(1, 'retry')];
}

/** The columns of `attempts` that statements write. */
export const LOGGED = 'delivery_id, number, started_at, duration_ms, status_code, error, reason, response_head';

/**
 * SQL that selects entries of the log, with the error `aborted`, for the attempts in progress on the deleted rows
 * `gone` of the queue. Every attempt must be logged, even if its courier ends before it records the outcome. An outcome
 * that is recorded later replaces the entry.
 */
export function attemptsUnderWay(gone: string): string {
  return `select id, attempt_count, claimed_at, 0, null, 'aborted',
      'the delivery ended during the attempt, whose outcome was not recorded', null
    from ${gone} where claimed_by is not null`;
}

/**
 * Updates, and thereby locks, each row for which a resend was requested. So no other resend moves the row before the
 * next statement reads its endpoint. Deletes delivered rows before it writes the log: if two couriers have attempted
 * the same delivery, both then wait for its row first. Otherwise one could wait for the row and the other for the log,
 * which is a deadlock.
 */
const SETTLE = `
  with settled as materialized (
    select id, holder, number, started_at, duration_ms, status_code, error, said ->> 0 as reason, said ->> 1 as response_head,
      state, retry_in_ms
    from unnest($1::uuid[], $2::integer[], $3::smallint[], $4::timestamptz[], $5::smallint[], $6::text[], $7::integer[],
      ${jsonTexts('$8')}::json[], $9::text[], $10::bigint[])
      as row(id, holder, number, started_at, status_code, error, duration_ms, said, state, retry_in_ms)
    order by id
  ), delivered as (
    delete from open_deliveries where id = any(array(select id from settled where state = 'delivered')) and not is_resent
    returning id, attempt_count, claimed_by, claimed_at
  ), logged as (
    insert into attempts (${LOGGED})
    ${attemptsUnderWay('delivered')} and (id, attempt_count) not in (select id, number from settled)
    union all
    select id, number, started_at, duration_ms, status_code, error, reason, response_head from settled
    on conflict (delivery_id, number) do update
    set duration_ms = excluded.duration_ms, status_code = excluded.status_code, error = excluded.error,
      reason = excluded.reason, response_head = excluded.response_head
    where attempts.error = 'aborted'
  ), failed as (
    delete from open_deliveries o using settled s
    where s.state = 'failed' and o.id = any(array[s.id]) and not o.is_resent and o.claimed_by = s.holder
      and o.attempt_count = s.number
    returning o.id, o.endpoint_key, o.attempt_count, o.recovery_id
  ), ended as (
    insert into final_outcomes (delivery_id, endpoint_key, state, attempt_count, recovery_id)
    select id, endpoint_key, 'failed', attempt_count, recovery_id from failed where ${NEVER_DELIVERED}
  )
  update open_deliveries o
  set lane = ${LANE.waiting_retry}, claimed_by = null, claimed_at = started_at,
    recovery_id = case when s.state <> 'delivered' then o.recovery_id end,
    due_at = clock_timestamp() + retry_in_ms * interval '1 millisecond'
  from settled s
  where o.id = any(array[s.id]) and (s.state = 'retry_wait' or o.is_resent) and o.claimed_by = s.holder
    and o.attempt_count = s.number`;

/** A delivery whose first attempt has ended, or which a resend may have moved to another endpoint. */
export type Decided = Pick<SettledAttempt, 'matchId' | 'endpointKey'>;

/** Releases deliveries that `decided` may have held back. Skips rows that are being released, moved or cancelled. */
export async function releaseHeld(client: Queryable, decided: readonly Decided[]): Promise<readonly DueDelivery[]> {
  if (decided.length === 0) return [];
  const { values } = releasing(decided);
  const text = RELEASE_HELD.replace('for update', 'for update skip locked');
  const { rows } = await client.query<Omit<DueDelivery, 'lane'>>({ text, values: [...values] });
  return rows.map((row) => ({ ...row, lane: 'first' }));
}

function releasing(decided: readonly Decided[]): Statement {
  return { name: 'release-held', text: RELEASE_HELD, values: memberArrays(decided, 'matchId', 'endpointKey') };
}

const IS_HELD = `${isUndecidedOf('o', 'settled.match_id')} and lane <= ${LANE.held}`;
/** The order of open_undecided within a match, so that PostgreSQL uses no other index. */
const IN_ORDER = 'order by hashtext(endpoint_key), lane, id';
const heldAt = (endpoint: string, limit: number): string => `
      (select id, endpoint_key from open_deliveries o where ${IS_HELD} and ${endpoint} ${IN_ORDER} limit ${limit})`;
const heldBeside = (side: '<' | '>'): string => heldAt(`hashtext(endpoint_key) ${side} hashtext(settled.key)`, 32);

/**
 * Releases the first held delivery of each match at each endpoint. The delivery that held it back may have just ended.
 * Reads at most 64 held rows of other endpoints; the scan for expired holds finds the rest. This is a separate
 * statement after those that lock the settled rows. A claim locks the predecessor of each row that it marks as held
 * (delivery-claims.ts), so this statement sees the row. The condition on the lane is `<=`: with `=`, the order would be
 * that of `id`, and PostgreSQL would read the primary key. Served by open_undecided, with one descent if nothing is
 * held.
 */
const RELEASE_HELD = `
  with with_held as materialized (
    select * from unnest($1::uuid[], $2::text[]) as settled(match_id, key)
    where (select true from open_deliveries o where ${IS_HELD} ${IN_ORDER} limit 1)
  ), first as materialized (
    select distinct on (settled.match_id, held.endpoint_key) held.id
    from with_held settled, lateral (
      ${heldBeside('<')} union all ${heldAt(isAtEndpoint('o', 'settled.key'), 1)} union all ${heldBeside('>')}) held
    order by settled.match_id, held.endpoint_key, held.id
  ), locked as materialized (
    select id from open_deliveries where id = any(array(select id from first)) and lane = ${LANE.held} order by id for update
  )
  update open_deliveries o set lane = ${LANE.due} where o.id = any(array(select id from locked))
  returning o.id, o.endpoint_key as "endpointKey"`;

/**
 * Makes resends that were requested during an attempt due at their endpoints, and deletes the recorded failures of
 * delivered rows. This is a separate statement after the one that locks the settled rows. So it sees earlier requests,
 * and failures recorded by a courier that considered the attempt aborted. It runs before held deliveries are released,
 * because a resend holds nothing back. Served by open_resent, which is nearly empty, and the primary keys.
 */
const RESEND = `
  with corrected as (
    delete from final_outcomes where delivery_id = any($4::uuid[]) and state = 'failed'
  ), resent as materialized (select id from open_deliveries where is_resent)
  update open_deliveries o set lane = ${LANE.due_again}, claimed_by = null, is_resent = false, due_at = clock_timestamp(),
    endpoint_key = d.endpoint_key
  from resent join unnest($1::uuid[], $2::integer[], $3::smallint[]) as settled(id, holder, number) using (id)
    join deliveries d using (id)
  where d.id = any(array(select id from resent)) and o.id = any(array(select id from resent)) and o.id = resent.id
    and o.attempt_count = settled.number and coalesce(o.claimed_by, holder) = holder
  returning o.id, o.endpoint_key as "endpointKey"`;

/** Locks the searches in key order, so that concurrent couriers do not deadlock. */
const WRITE_LAST_ALERT_TIMES = `locked as materialized (
    select number from searches where number = any(array(select number from alerted)) order by number for no key update
  )
  update searches set last_alert_at = greatest(last_alert_at, at)
  from alerted where searches.number = alerted.number and searches.number = any(array(select number from locked))`;

/** Stores the time of the last success of each search. Served by the primary key. */
export async function recordLastAlertTimes(
  client: Queryable,
  alertedAt: ReadonlyMap<SearchNumber, Date>,
): Promise<void> {
  if (alertedAt.size === 0) return;
  await client.query({
    name: 'record-last-alert-times',
    text: `
      with alerted as materialized (
        select number, at from unnest($1::integer[], $2::timestamptz[]) as row(number, at)
      ), ${WRITE_LAST_ALERT_TIMES}`,
    values: [arrayLiteral([...alertedAt.keys()]), arrayLiteral([...alertedAt.values()])],
  });
}

/** Number of successful attempts that the repair reads. It is more than a courier makes in a second. */
const REPAIRED_MAX = 50_000;

/** Stores times that dead couriers did not store. Reads attempts of the newest deliveries, by the primary keys. */
export async function repairLastAlertTimes(client: Queryable): Promise<void> {
  await client.query(
    `with recent as materialized (
       select delivery_id, started_at + duration_ms * interval '1 millisecond' as at from attempts
       where error is null order by delivery_id desc, number desc limit ${REPAIRED_MAX}
     ), alerted as materialized (
       select search_number as number, max(at) as at from recent join deliveries on id = delivery_id group by search_number
     ), ${WRITE_LAST_ALERT_TIMES} and last_alert_at is distinct from greatest(last_alert_at, at)`,
  );
}

export interface AttemptRead extends Omit<AttemptOutcome, 'durationMs'> {
  readonly number: number;
  readonly durationMs: number | null;
}

/** The attempts of each delivery, oldest first. Served by the primary key. */
export async function readAttempts(
  database: Queryable,
  deliveryIds: readonly Uuid[],
): Promise<(deliveryId: Uuid) => readonly AttemptRead[]> {
  if (deliveryIds.length === 0) return () => [];
  const { rows } = await database.query<AttemptRead & { deliveryId: Uuid }>(
    `select delivery_id as "deliveryId", number, started_at as "startedAt", duration_ms as "durationMs",
       status_code as "statusCode", error, reason, response_head as "responseHead"
     from attempts where delivery_id = any($1::uuid[]) order by delivery_id, number`,
    [deliveryIds],
  );
  const attempts = new Map<Uuid, AttemptRead[]>(deliveryIds.map((id) => [id, []]));
  for (const { deliveryId, ...attempt } of rows) attempts.get(deliveryId)?.push(attempt);
  return (id) => attempts.get(id) ?? [];
}

/** An attempt in progress whose courier has died. */
export type AbandonedAttempt = Pick<
  SettledAttempt,
  'id' | 'searchNumber' | 'matchId' | 'endpointKey' | 'lane' | 'holder' | 'attemptCount'
> & { readonly attemptsSpent: number; readonly startedAt: Date };

/**
 * The claims of `holders` and of couriers that no longer exist. The latter are possible, because a claim may be
 * committed after `declareDead` has stopped waiting for it. Reads every open delivery, but only after a death.
 */
export async function readAbandoned(
  client: Queryable,
  holders: readonly number[],
  limit: number,
): Promise<readonly AbandonedAttempt[]> {
  const { rows } = await client.query<Omit<AbandonedAttempt, 'lane'> & { lane: number }>(
    `select o.id, o.search_number as "searchNumber", o.match_id as "matchId", o.endpoint_key as "endpointKey", o.lane,
       o.claimed_by as holder, o.attempt_count as "attemptCount", d.attempts_spent as "attemptsSpent",
       o.claimed_at as "startedAt"
     from open_deliveries o join deliveries d on d.id = o.id
     where o.claimed_by = any($1::integer[])
       or o.claimed_by is not null and o.claimed_by not in (select number from couriers)
     limit $2`,
    [holders, limit],
  );
  return rows.map((row) => ({ ...row, lane: laneOf(row.lane) }));
}
