/**
 * Deliveries and their attempts (domain/delivery.ts has the states). An attempt is counted when it is claimed, before
 * any byte is sent, and every time is PostgreSQL's, so instances with different clocks agree on what is due.
 */

import type { AfterAttempt, AttemptOutcome, DeliveryState, NewDelivery } from '../domain/delivery.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import type { Queryable } from './database.ts';

export interface ClaimedDelivery {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly endpoint: string;
  readonly endpointKey: string;
  readonly head: string;
  readonly document: string;
  readonly token: string;
  /** This attempt's number, from 1; counts on over replays. */
  readonly attemptCount: number;
  /** Attempts made before the last replay: they do not count against the retries. */
  readonly attemptsSpent: number;
  readonly startedAt: Date;
  readonly traceparent: string | null;
}

/** Why a delivery was not claimed, and when to look again: null when it is final or gone. */
export interface RefusedClaim {
  readonly id: Uuid;
  readonly state: DeliveryState;
  readonly dueInMs: number | null;
}

export interface SettledAttempt {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly endpointKey: string;
  readonly attemptCount: number;
  readonly outcome: AttemptOutcome;
  readonly after: AfterAttempt;
}

export async function insertDeliveries(
  client: Queryable,
  deliveries: readonly (NewDelivery & { readonly endpointKey: string })[],
): Promise<void> {
  if (deliveries.length === 0) return;
  const rows = deliveries.map((delivery) => ({
    id: delivery.id,
    search_number: delivery.searchNumber,
    match_id: delivery.matchId,
    channel: delivery.channel,
    kind: delivery.kind,
    endpoint: delivery.endpoint,
    endpoint_key: delivery.endpointKey,
    head: delivery.head,
    snapshot_id: delivery.snapshotId,
    traceparent: delivery.traceparent,
  }));
  await client.query({
    name: 'insert-deliveries',
    text: `
      insert into deliveries (id, search_number, match_id, channel, kind, endpoint, endpoint_key, head, snapshot_id,
        traceparent)
      select * from json_to_recordset($1) as written(id uuid, search_number integer, match_id uuid, channel text,
        kind text, endpoint text, endpoint_key text, head text, snapshot_id uuid, traceparent text)`,
    values: [JSON.stringify(rows)],
  });
}

/**
 * Takes the due ones among `ids` for one attempt each, for at most `leaseMs`. A delivery whose search is gone or silent
 * is cancelled instead: the change was recorded while the search was being deleted. Served by the primary key.
 */
export async function claimDeliveries(
  client: Queryable,
  ids: readonly Uuid[],
  leaseMs: number,
): Promise<readonly ClaimedDelivery[]> {
  const { rows } = await client.query({
    name: 'claim-deliveries',
    text: `
      with due as (
        select id, exists (
          select from searches
          where number = search_number and deleted_at is null and notification_enabled) as is_wanted
        from deliveries
        where id = any($1::uuid[]) and state in ('queued', 'retry_wait') and due_at <= clock_timestamp()
        order by id for update
      ), taken as (
        update deliveries
        set state = case when is_wanted then 'sending' else 'cancelled' end,
          attempt_count = attempt_count + is_wanted::integer,
          attempt_started_at = case when is_wanted then clock_timestamp() end,
          due_at = clock_timestamp() + $2 * interval '1 millisecond',
          finished_at = case when not is_wanted then clock_timestamp() end
        from due where deliveries.id = due.id
        returning deliveries.*
      )
      select taken.id, search_number, endpoint, endpoint_key, head, document, token, attempt_count, attempts_spent,
        attempt_started_at, traceparent
      from taken join snapshots on snapshots.id = snapshot_id join searches on searches.number = search_number
      where state = 'sending'`,
    values: [ids, leaseMs],
  });
  return rows.map((row) => ({
    id: row.id,
    searchNumber: row.search_number,
    endpoint: row.endpoint,
    endpointKey: row.endpoint_key,
    head: row.head,
    document: row.document,
    token: row.token,
    attemptCount: row.attempt_count,
    attemptsSpent: row.attempts_spent,
    startedAt: row.attempt_started_at,
    traceparent: row.traceparent,
  }));
}

/** What to do with the messages of deliveries that could not be claimed. Served by the primary key. */
export async function readRefusals(client: Queryable, ids: readonly Uuid[]): Promise<readonly RefusedClaim[]> {
  const { rows } = await client.query<{ id: Uuid; state: DeliveryState; due_in_ms: number }>({
    name: 'read-refusals',
    text: `
      select id, state, ceil(extract(epoch from due_at - clock_timestamp()) * 1000)::float8 as due_in_ms
      from deliveries where id = any($1::uuid[])`,
    values: [ids],
  });
  const isFinal = (state: DeliveryState): boolean => ['delivered', 'failed', 'cancelled'].includes(state);
  return rows.map(({ id, state, due_in_ms }) => ({
    id,
    state,
    dueInMs: isFinal(state) ? null : Math.max(0, due_in_ms),
  }));
}

/**
 * Records how attempts ended and what follows. A delivery cancelled meanwhile stays cancelled; its attempt is logged
 * all the same. Run it in a transaction. Served by the primary keys.
 */
export async function recordAttempts(client: Queryable, settled: readonly SettledAttempt[]): Promise<void> {
  const rows = settled.map(({ id, searchNumber, attemptCount, outcome, after }) => ({
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
    due_at: after.dueAt,
  }));
  const recordset = `json_to_recordset($1) as settled(id uuid, search_number integer, number smallint,
    started_at timestamptz, ended_at timestamptz, duration_ms integer, status_code smallint, error text, reason text,
    response_head text, state text, due_at timestamptz)`;
  const values = [JSON.stringify(rows)];
  await client.query({
    name: 'settle-deliveries',
    text: `
      update deliveries
      set state = settled.state, due_at = coalesce(settled.due_at, deliveries.due_at),
        finished_at = case when settled.state <> 'retry_wait' then settled.ended_at end
      from ${recordset}
      where deliveries.id = settled.id and deliveries.state = 'sending' and attempt_count = settled.number`,
    values,
  });
  await client.query({
    name: 'insert-attempts',
    text: `
      insert into attempts (delivery_id, number, started_at, duration_ms, status_code, error, reason, response_head)
      select id, number, started_at, duration_ms, status_code, error, reason, response_head from ${recordset}
      on conflict (delivery_id, number) do nothing`,
    values,
  });
  // Searches are locked in key order, so that two batches cannot lock each other out.
  await client.query({
    name: 'note-alerts',
    text: `
      with alerted as (
        select search_number, max(ended_at) as ended_at from ${recordset}
        where state = 'delivered' group by search_number
      ), locked as (
        select number from searches join alerted on number = search_number order by number for no key update
      )
      update searches set last_alert_at = greatest(last_alert_at, ended_at)
      from alerted join locked on locked.number = search_number where searches.number = search_number`,
    values,
  });
}

/** Attempts whose lease ended without an outcome: their process died. Served by index `deliveries_open`. */
export async function readAbandonedAttempts(
  client: Queryable,
  limit: number,
): Promise<
  readonly Pick<
    ClaimedDelivery,
    'id' | 'searchNumber' | 'endpointKey' | 'attemptCount' | 'attemptsSpent' | 'startedAt'
  >[]
> {
  const { rows } = await client.query(
    `select id, search_number, endpoint_key, attempt_count, attempts_spent, attempt_started_at from deliveries
     where state = 'sending' and due_at <= clock_timestamp() order by due_at limit $1 for update skip locked`,
    [limit],
  );
  return rows.map((row) => ({
    id: row.id,
    searchNumber: row.search_number,
    endpointKey: row.endpoint_key,
    attemptCount: row.attempt_count,
    attemptsSpent: row.attempts_spent,
    startedAt: row.attempt_started_at,
  }));
}

export interface DeliveryAddress {
  readonly id: Uuid;
  readonly endpointKey: string;
}

/** The open ones among `ids`, to publish. Served by the primary key. */
export async function readOpenAddresses(client: Queryable, ids: readonly Uuid[]): Promise<readonly DeliveryAddress[]> {
  const { rows } = await client.query<{ id: Uuid; endpoint_key: string }>(
    `select id, endpoint_key from deliveries where id = any($1::uuid[]) and state in ('queued', 'retry_wait')`,
    [ids],
  );
  return rows.map(({ id, endpoint_key }) => ({ id, endpointKey: endpoint_key }));
}

/** Deliveries that should have been attempted `overdueMs` ago: JetStream has lost them. Served by index `deliveries_open`. */
export async function readOverdue(
  client: Queryable,
  overdueMs: number,
  limit: number,
): Promise<readonly DeliveryAddress[]> {
  const { rows } = await client.query<{ id: Uuid; endpoint_key: string }>(
    `select id, endpoint_key from deliveries
     where state in ('queued', 'retry_wait') and due_at <= clock_timestamp() - $1 * interval '1 millisecond'
     order by due_at limit $2`,
    [overdueMs, limit],
  );
  return rows.map(({ id, endpoint_key }) => ({ id, endpointKey: endpoint_key }));
}
