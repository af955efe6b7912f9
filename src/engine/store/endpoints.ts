/** The stored state of endpoints: what couriers have observed, and the pauses that clients and operators have set. */

import type { AttemptError, DueDelivery } from '../domain/delivery.ts';
import {
  DEAD_FROM_FAILURES,
  DEAD_FROM_GONE,
  DEAD_GONE_SPAN_MS,
  type EndpointHealth,
  type EndpointObservation,
  FAILING_FROM,
  type PauseCause,
  type RememberedEndpoint,
  URL_DIGITS,
} from '../domain/endpoint.ts';
import { arrayLiteral } from './array-literal.ts';
import { passed } from './claim-fence.ts';
import { NOTE_PAUSES } from './couriers.ts';
import type { Queryable } from './database.ts';
import { isInAnyLane, isInLane, isUndecidedOf, LANE } from './delivery-states.ts';

/** The beginning or the end of an endpoint's series of failures, which has no success in between. */
export interface FailureSeries {
  readonly key: string;
  readonly since: Date;
  /** The error of the last failure. */
  readonly error: AttemptError;
  /** Null if the series begins; otherwise the number of failures in the series, which has ended. */
  readonly endedAfter: number | null;
}

export interface EndpointChanges {
  /** Endpoints that were paused because of the observations (see `pauseDeadEndpoints`). */
  readonly dead: readonly DeadEndpoint[];
  readonly series: readonly FailureSeries[];
}

/** Adds a courier's observations to those of the others. Resolves with their effects. Served by the primary key. */
export async function recordObservations(
  client: Queryable,
  observed: readonly EndpointObservation[],
  days: number,
): Promise<EndpointChanges> {
  if (observed.length === 0) return { dead: [], series: [] };
  // In key order, so that concurrent couriers do not deadlock.
  const { rows: series } = await client.query<FailureSeries>({
    name: 'record-observations',
    text: `
      with former as materialized (
        select key, failure_streak, failing_since from endpoints where key = any($2::text[])
      ), present as (
      insert into endpoints (key, url, failure_streak, failing_since, gone_at, last_success_at, last_failure_at, last_error,
        concurrency)
      select * from json_to_recordset($1) as row(key text, url text, "failuresSinceSuccess" integer,
        "failingSince" timestamptz, "goneAt" timestamptz[], "succeededAt" timestamptz, "failedAt" timestamptz,
        "lastError" text, concurrency smallint)
      order by key
      on conflict (key) do update
      set failure_streak = excluded.failure_streak
          + case when excluded.last_success_at is null then endpoints.failure_streak else 0 end,
        failing_since = case when excluded.last_success_at is null
          then coalesce(endpoints.failing_since, excluded.failing_since) else excluded.failing_since end,
        gone_at = (endpoints.gone_at || excluded.gone_at)
          [greatest(1, cardinality(endpoints.gone_at || excluded.gone_at) - ${DEAD_FROM_GONE - 1}):],
        last_success_at = greatest(endpoints.last_success_at, excluded.last_success_at),
        last_failure_at = greatest(endpoints.last_failure_at, excluded.last_failure_at),
        last_error = coalesce(excluded.last_error, endpoints.last_error),
        is_resuming = endpoints.is_resuming and excluded.last_success_at is null,
        concurrency = excluded.concurrency
      returning key, failure_streak, failing_since, last_error
      )
      select key, coalesce(present.failing_since, former.failing_since) as since, last_error as error,
        nullif(former.failure_streak, 0) as "endedAfter"
      from present left join former using (key)
      where (present.failure_streak = 0) <> (coalesce(former.failure_streak, 0) = 0)`,
    values: [JSON.stringify(observed), arrayLiteral(observed.map(({ key }) => key))],
  });
  const failing = observed.filter(({ failuresSinceSuccess }) => failuresSinceSuccess > 0).map(({ key }) => key);
  return { dead: await pauseDeadEndpoints(client, failing, days), series };
}

/** The most recently used endpoints, so that a starting courier knows which ones do not answer. Reads all endpoints. */
export async function readRememberedEndpoints(
  client: Queryable,
  limit: number,
): Promise<readonly RememberedEndpoint[]> {
  const { rows } = await client.query<RememberedEndpoint>(
    `select key, failure_streak as "failureStreak", last_error as "lastError", concurrency,
       last_success_at is not null as "hasAnswered" from endpoints
     order by greatest(last_success_at, last_failure_at) desc nulls last limit $1`,
    [limit],
  );
  return rows;
}

export interface DeadEndpoint {
  readonly key: string;
  readonly failingSince: Date;
  readonly failureCount: number;
}

/**
 * Pauses the dead endpoints among `keys` (decisions, section 6). An endpoint is dead after 20 failures in a row over
 * `days` days (0: never), or after three 410s in a row over an hour. If other endpoints were tried since the first
 * failure and all failed, the cause is Vigie's own network, and none is paused. Deliveries that wait for a paused
 * endpoint are released after their waiting time. Served by the primary key. Reads all endpoints if one seems dead.
 */
export async function pauseDeadEndpoints(
  client: Queryable,
  keys: readonly string[],
  days: number,
): Promise<readonly DeadEndpoint[]> {
  if (keys.length === 0) return [];
  const { rows } = await client.query<DeadEndpoint>({
    name: 'pause-dead-endpoints',
    text: `
      with dead as materialized (
        select key, failing_since from endpoints
        where key = any($1::text[]) and failures_paused_at is null and (
          $2 > 0 and failure_streak >= ${DEAD_FROM_FAILURES} and last_failure_at - failing_since >= $2 * interval '1 day'
          or gone_at[2] is not null and gone_at[3] - gone_at[1] >= ${DEAD_GONE_SPAN_MS} * interval '1 millisecond')
        order by key for update
      ), paused as (
        update endpoints e set failures_paused_at = clock_timestamp() from dead
        where e.key = any(array(select key from dead)) and e.key = dead.key and ${isFaultOfItsOwn('dead')}
        returning e.key, dead.failing_since as "failingSince", e.failure_streak as "failureCount"
      ), noted as (${NOTE_PAUSES} and exists (select from paused))
      select * from paused`,
    values: [arrayLiteral(keys), days],
  });
  return rows;
}

/** SQL: whether an endpoint's failures have a cause other than Vigie's network. `row` has `key` and `failing_since`. */
function isFaultOfItsOwn(row: string): string {
  return `(exists (select from endpoints o where o.last_success_at >= ${row}.failing_since)
    or not exists (
      select from endpoints o
      where o.key <> ${row}.key and greatest(o.last_success_at, o.last_failure_at) >= ${row}.failing_since))`;
}

/** SQL: whether an unpaused endpoint has at least half of the failures that would pause it, over half of the time. */
export function isHalfDead(endpoint: string, days: string): string {
  return `(${endpoint}.paused_at is null and ${days}::integer > 0
    and ${endpoint}.failure_streak >= ${DEAD_FROM_FAILURES / 2}
    and ${endpoint}.last_failure_at - ${endpoint}.failing_since >= ${days}::integer * interval '12 hours'
    and ${isFaultOfItsOwn(endpoint)})`;
}

/** Served by index `endpoints_paused`. */
export async function readPausedEndpoints(client: Queryable): Promise<readonly string[]> {
  const { rows } = await client.query<{ key: string }>('select key from endpoints where paused_at is not null');
  return rows.map(({ key }) => key);
}

/**
 * Pauses an endpoint for an operator. `key` identifies a client's endpoint, or a URL for all clients. After this
 * resolves, no attempt begins; attempts in progress continue. Resolves with the deliveries that the endpoint no longer
 * holds back.
 */
export async function pauseEndpoint(
  client: Queryable,
  key: string,
  url: string,
  reason: string | null = null,
): Promise<readonly DueDelivery[]> {
  await setPaused(client, key, url, 'operator', reason);
  return releaseHeldBehind(client, key);
}

/** Pauses a client's endpoint at the client's request. After this resolves, no attempt begins. */
export function pauseOwnEndpoint(client: Queryable, key: string, url: string): Promise<void> {
  return setPaused(client, key, url, 'client', null);
}

async function setPaused(
  client: Queryable,
  key: string,
  url: string,
  cause: PauseCause,
  reason: string | null,
): Promise<void> {
  const column = `${cause}_paused_at`;
  await client.query(
    `with paused as (
       insert into endpoints (key, url, pause_reason, ${column}) values ($1, $2, $3, now()) on conflict (key) do update
       set ${column} = coalesce(endpoints.${column}, now()), pause_reason = coalesce($3, endpoints.pause_reason)
     ) ${NOTE_PAUSES}`,
    [key, url, reason],
  );
  await passed(client);
}

/**
 * Releases deliveries that may wait for this endpoint. For each match that has an earlier delivery here, the first held
 * delivery at each endpoint becomes due, and its next claim decides. No claim holds back others for this endpoint,
 * because it is paused. Reads every held row. Served by open_held and open_undecided.
 */
async function releaseHeldBehind(client: Queryable, key: string): Promise<readonly DueDelivery[]> {
  const { rows } = await client.query<Omit<DueDelivery, 'lane'>>(
    `with first as materialized (
       select distinct on (match_id, endpoint_key, generation) id, match_id from open_deliveries
       where ${isInLane('held')} order by match_id, endpoint_key, generation, id
     ), behind as materialized (
       select id from first where exists (
         select from open_deliveries e where ${isUndecidedOf('e', 'first.match_id')} and e.id < first.id
           and e.endpoint_key >= $1 and e.endpoint_key < $1 || 'g')
     ), held as materialized (
       select id from open_deliveries
       where id = any(array(select id from behind)) and lane = ${LANE.held} order by id for update skip locked
     )
     update open_deliveries set lane = ${LANE.due} where id = any(array(select id from held))
     returning id, endpoint_key as "endpointKey"`,
    [key],
  );
  return rows.map((row) => ({ ...row, lane: 'first' }));
}

/** Assignments that end the pause after failures. Until a 200, all couriers together make one attempt at a time. */
const RESUMED = `failures_paused_at = null, failure_streak = 0, failing_since = null, gone_at = '{}', concurrency = 1,
  is_resuming = length(key) > ${URL_DIGITS}`;

/**
 * Ends the pause that `by` has set and the pause after failures. A pause that the other party has set stays. The key of
 * a URL applies to all clients. Served by the primary key.
 */
export async function resumeEndpoint(client: Queryable, key: string, by: 'operator' | 'client'): Promise<void> {
  await client.query(
    `with named as materialized (
       select max(${by}_paused_at) is not null or max(failures_paused_at) is not null as is_paused from endpoints where key = $1
     ), resumed as (
       update endpoints set ${by}_paused_at = null, ${by === 'operator' ? 'pause_reason = null, ' : ''}${RESUMED}
       where key >= $1 and key < $1 || 'g'
         and (${by}_paused_at is not null or failures_paused_at is not null or (select is_paused from named))
     ) ${NOTE_PAUSES}`,
    [key],
  );
}

/** The health of the known endpoints among `keys`, by key. Served by the primary key and index `open_endpoint`. */
export async function readEndpointHealth(
  client: Queryable,
  keys: readonly string[],
): Promise<ReadonlyMap<string, EndpointHealth>> {
  const { rows } = await client.query<EndpointHealth>(
    `select named.key, coalesce(own.url, everybodys.url) as url,
       case when own.paused_at is not null or everybodys.paused_at is not null then 'paused'
         when own.failure_streak >= ${FAILING_FROM} then 'failing' else 'healthy' end as state,
       case when coalesce(everybodys.operator_paused_at, own.operator_paused_at) is not null then 'operator'
         when own.client_paused_at is not null then 'client'
         when own.failures_paused_at is not null then 'failures' end as "pausedBy",
       coalesce(everybodys.operator_paused_at, own.operator_paused_at, own.client_paused_at, own.failures_paused_at)
         as "pausedAt", own.failing_since as "failingSince",
       coalesce(own.failure_streak, 0) as "failureStreak", coalesce(own.concurrency, 1) as concurrency,
       own.last_success_at as "lastSuccessAt", own.last_failure_at as "lastFailureAt", own.last_error as "lastError",
       backlog, oldest_due_at as "oldestDueAt"
     from unnest($1::text[]) as named(key)
     left join endpoints own on own.key = named.key
     left join endpoints everybodys on everybodys.key = left(named.key, 16) and everybodys.paused_at is not null
     left join lateral (
       select count(*)::integer as backlog, min(due_at) as oldest_due_at from open_deliveries
       where endpoint_key = named.key and ${isInAnyLane()}
     ) as open on true
     where own.key is not null or everybodys.key is not null`,
    [[...new Set(keys)]],
  );
  return new Map(rows.map((health) => [health.key, health]));
}
