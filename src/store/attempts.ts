/** The log of attempts, and what each one does to its delivery. */

import type { AfterAttempt, AttemptOutcome } from '../domain/delivery.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import type { Queryable } from './database.ts';
import { NOT_YET_DELIVERED } from './delivery-states.ts';

export interface SettledAttempt {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly endpointKey: string;
  readonly attemptCount: number;
  readonly outcome: AttemptOutcome;
  readonly after: AfterAttempt;
  /** From the moment of recording, on PostgreSQL's clock: what counts when `after` is a retry. */
  readonly retryInMs: number;
  readonly traceparent?: string | null;
}

/**
 * Records how attempts ended and what follows. A delivery cancelled meanwhile stays cancelled; its attempt is logged
 * all the same. A success that comes after its lease ended wins over the abort and over whatever has followed: the
 * endpoint has the data. One statement, so that it needs no transaction of its own. Served by the primary keys.
 */
export async function recordAttempts(client: Queryable, settled: readonly SettledAttempt[]): Promise<void> {
  const rows = settled.map(({ id, searchNumber, attemptCount, outcome, after, retryInMs }) => ({
    id,
    search_number: searchNumber,
    number: attemptCount,
    started_at: outcome.startedAt,
    ended_at: new Date(outcome.startedAt.getTime() + outcome.durationMs),
    duration_ms: Math.round(outcome.durationMs),
    status_code: outcome.statusCode,
    error: outcome.error,
    reason: outcome.reason,
    response_head: outcome.responseHead,
    state: after.state,
    retry_in_ms: Math.max(0, Math.ceil(retryInMs)),
  }));
  await client.query({ name: 'record-attempts', text: RECORD, values: [JSON.stringify(rows)] });
}

/**
 * Deliveries are locked in key order, as they are claimed and cancelled, and so are searches, so that two batches cannot
 * lock each other out.
 */
const RECORD = `
  with settled as materialized (
    select * from json_to_recordset($1) as row(id uuid, search_number integer, number smallint, started_at timestamptz,
      ended_at timestamptz, duration_ms integer, status_code smallint, error text, reason text, response_head text,
      state text, retry_in_ms bigint)
  ), locked as materialized (
    select settled.*, deliveries.state as held_state, attempt_count
    from settled join deliveries on deliveries.id = settled.id order by deliveries.id for update of deliveries
  ), decisive as (
    select distinct on (id) * from locked order by id, state = 'delivered' desc, number desc
  ), logged as (
    insert into attempts (delivery_id, number, started_at, duration_ms, status_code, error, reason, response_head)
    select id, number, started_at, duration_ms, status_code, error, reason, response_head from settled
    on conflict (delivery_id, number) do update
    set duration_ms = excluded.duration_ms, status_code = excluded.status_code, error = excluded.error,
      reason = excluded.reason, response_head = excluded.response_head
    where attempts.error = 'aborted'
  ), alerted as (
    select search_number, max(ended_at) as ended_at from settled where state = 'delivered' group by search_number
  ), locked_searches as materialized (
    select searches.number, ended_at from searches join alerted on searches.number = search_number
    order by searches.number for no key update of searches
  ), noted as (
    update searches set last_alert_at = greatest(last_alert_at, ended_at)
    from locked_searches where searches.number = locked_searches.number
  )
  update deliveries
  set state = decisive.state,
    due_at = case when decisive.state = 'retry_wait'
      then clock_timestamp() + retry_in_ms * interval '1 millisecond' else deliveries.due_at end,
    finished_at = case when decisive.state <> 'retry_wait' then ended_at end
  from decisive
  where deliveries.id = decisive.id
    and (held_state = 'sending' and decisive.attempt_count = number
      or decisive.state = 'delivered' and held_state in ${NOT_YET_DELIVERED})`;

export interface AttemptRead {
  readonly number: number;
  readonly startedAt: Date;
  readonly durationMs: number | null;
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly reason: string | null;
  readonly responseHead: string | null;
}

/** Of each delivery, oldest first. Served by the primary key. */
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

export interface AbandonedAttempt {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly endpointKey: string;
  readonly attemptCount: number;
  readonly attemptsSpent: number;
  readonly startedAt: Date;
  readonly startedAgoMs: number;
}

/**
 * Attempts whose lease ended without an outcome: their process died. They stay locked until the transaction ends.
 * Served by index `deliveries_dispatched`.
 */
export async function lockAbandonedAttempts(client: Queryable, limit: number): Promise<readonly AbandonedAttempt[]> {
  const { rows } = await client.query<AbandonedAttempt>(
    `select id, search_number as "searchNumber", endpoint_key as "endpointKey", attempt_count as "attemptCount",
       attempts_spent as "attemptsSpent", attempt_started_at as "startedAt",
       extract(epoch from clock_timestamp() - attempt_started_at)::float8 * 1000 as "startedAgoMs"
     from deliveries
     where state = 'sending' and due_at <= clock_timestamp() order by due_at limit $1 for update skip locked`,
    [limit],
  );
  return rows;
}
