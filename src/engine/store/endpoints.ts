/** The stored state of each endpoint: written by couriers, read by operators and by starting couriers. */

import type { DueDelivery } from '../domain/delivery.ts';
import {
  type EndpointHealth,
  type EndpointObservation,
  FAILING_FROM,
  type RememberedEndpoint,
} from '../domain/endpoint.ts';
import { passed } from './claim-fence.ts';
import type { Queryable } from './database.ts';
import { isInAnyLane, isInLane, isUndecidedOf, LANE } from './delivery-states.ts';

/** Adds up the observations of several couriers. Served by the primary key. */
export async function recordObservations(client: Queryable, observed: readonly EndpointObservation[]): Promise<void> {
  if (observed.length === 0) return;
  const rows = observed.map((each) => ({
    key: each.key,
    url: each.url,
    succeeded_at: each.succeededAt,
    failed_at: each.failedAt,
    last_error: each.lastError,
    failures: each.failuresSinceSuccess,
    concurrency: each.concurrency,
  }));
  // In key order, so that concurrent couriers do not deadlock.
  await client.query({
    name: 'record-observations',
    text: `
      insert into endpoints (key, url, failure_streak, last_success_at, last_failure_at, last_error, concurrency)
      select key, url, failures, succeeded_at, failed_at, last_error, concurrency
      from json_to_recordset($1) as row(key text, url text, failures integer, succeeded_at timestamptz,
        failed_at timestamptz, last_error text, concurrency smallint)
      order by key
      on conflict (key) do update
      set failure_streak = excluded.failure_streak
          + case when excluded.last_success_at is null then endpoints.failure_streak else 0 end,
        last_success_at = greatest(endpoints.last_success_at, excluded.last_success_at),
        last_failure_at = greatest(endpoints.last_failure_at, excluded.last_failure_at),
        last_error = coalesce(excluded.last_error, endpoints.last_error),
        concurrency = excluded.concurrency`,
    values: [JSON.stringify(rows)],
  });
}

/** The most recently used endpoints, so that a starting courier need not find out again which ones hang. */
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

/** Served by index `endpoints_paused`. */
export async function readPausedEndpoints(client: Queryable): Promise<readonly string[]> {
  const { rows } = await client.query<{ key: string }>('select key from endpoints where paused_at is not null');
  return rows.map(({ key }) => key);
}

/**
 * No attempt begins once it resolves, with what the endpoint held back; attempts under way end. `key`: of a client's
 * endpoint, or of a URL for all.
 */
export async function pauseEndpoint(client: Queryable, key: string, url: string): Promise<readonly DueDelivery[]> {
  await client.query(
    `insert into endpoints (key, url, paused_at) values ($1, $2, now())
     on conflict (key) do update set paused_at = coalesce(endpoints.paused_at, now())`,
    [key, url],
  );
  await passed(client);
  return releaseHeldBehind(client, key);
}

/**
 * Makes due what waits first at its endpoint for an earlier delivery of its match at this one: the next claim decides
 * anew. No claim makes more wait for it. Served by open_held and open_undecided; reads everything that waits.
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

/** The key of a URL ends the pauses of all its clients. False when nothing was paused. Served by the primary key. */
export async function resumeEndpoint(client: Queryable, key: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `update endpoints set paused_at = null, pause_reason = null
     where key >= $1 and key < $1 || 'g' and paused_at is not null`,
    [key],
  );
  return rowCount !== null && rowCount > 0;
}

/** The health of those among `keys` that are known. Served by the primary key and index `open_endpoint`. */
export async function readEndpointHealth(
  client: Queryable,
  keys: readonly string[],
): Promise<readonly EndpointHealth[]> {
  const { rows } = await client.query<EndpointHealth>(
    `select named.key, coalesce(own.url, everybodys.url) as url,
       case when own.paused_at is not null or everybodys.paused_at is not null then 'paused'
         when own.failure_streak >= ${FAILING_FROM} then 'failing' else 'healthy' end as state,
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
    [keys],
  );
  return rows;
}
