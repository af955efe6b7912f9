/** Reads the endpoints of all clients, for operators and metrics. */

import type { EndpointHealth, PauseCause } from '../domain/endpoint.ts';
import type { Queryable } from './database.ts';
import { isInAnyLane } from './delivery-states.ts';

export interface AdminEndpoint
  extends Pick<EndpointHealth, 'key' | 'url' | 'pausedAt' | 'oldestDueAt' | 'failureStreak' | 'lastError'> {
  readonly pauseReason: string | null;
  readonly openCount: number;
  readonly failedCount: number;
  readonly lastAttemptAt: Date | null;
}

const COLUMNS = `key, url, paused_at as "pausedAt", pause_reason as "pauseReason", "openCount",
  "failedCount", "oldestDueAt", failure_streak as "failureStreak",
  case when last_failure_at > coalesce(last_success_at, '-infinity') then last_error end as "lastError",
  greatest(last_success_at, last_failure_at) as "lastAttemptAt"`;

/** For the key of a URL, counts all clients' deliveries. Served by open_endpoint and final_outcomes_failed. */
const COUNTS = `left join lateral (
    select count(*)::integer as "openCount", min(due_at) filter (where claimed_by is null) as "oldestDueAt"
    from open_deliveries where endpoint_key >= key and endpoint_key < key || 'g' and ${isInAnyLane()}
  ) as open on true left join lateral (
    select count(*)::integer as "failedCount" from final_outcomes
    where endpoint_key >= key and endpoint_key < key || 'g' and state = 'failed'
  ) as failed on true`;

/** The pause of the endpoint itself or of its URL. Served by the primary key. */
const PAUSE = `left join lateral (
    select paused_at, case when operator_paused_at is not null then pause_reason
      when client_paused_at is not null then 'by its client' else 'after failures' end as pause_reason
    from endpoints
    where endpoints.key in (named.key, left(named.key, 16)) and paused_at is not null
    order by endpoints.key desc limit 1
  ) as pause on true`;

/** SQL that selects an `AdminEndpoint` for each row of `named` (key, url). */
const shownOf = (named: string): string => `select ${COLUMNS} from (${named}) as named left join lateral (
    select coalesce(max(failure_streak), 0) as failure_streak,
      (array_agg(last_error order by last_failure_at desc nulls last))[1] as last_error,
      max(last_success_at) as last_success_at, max(last_failure_at) as last_failure_at
    from endpoints where endpoints.key >= named.key and endpoints.key < named.key || 'g'
  ) as known on true ${PAUSE} ${COUNTS}`;

/**
 * Lists endpoints that have had an attempt or a pause, as `readAdminEndpoint` returns them, those with the most open
 * deliveries first. `pausedOnly` omits those that are not paused themselves. Reads every endpoint, at most thousands.
 */
export async function listAdminEndpoints(
  database: Queryable,
  page: { readonly pausedOnly: boolean; readonly offset: number; readonly limit: number },
): Promise<readonly AdminEndpoint[]> {
  const { rows } = await database.query<AdminEndpoint>(
    `${shownOf('select key, url, paused_at is not null as "isPaused" from endpoints')} where not $1 or "isPaused"
     order by "openCount" desc, "failedCount" desc, key limit $2 offset $3`,
    [page.pausedOnly, page.limit, page.offset],
  );
  return rows;
}

/**
 * Null if nothing is stored about the endpoint. The key of a URL combines all endpoints with that URL. A client's
 * endpoint is also paused if its URL is. Served by the primary key, open_endpoint and final_outcomes_failed.
 */
export async function readAdminEndpoint(database: Queryable, key: string): Promise<AdminEndpoint | null> {
  const { rows } = await database.query<AdminEndpoint>(
    shownOf(`select $1::text as key, min(url) as url from (
         select url from endpoints where key >= $1 and key < $1 || 'g'
         union all
         (select endpoint from open_deliveries o join deliveries d using (id)
          where o.endpoint_key >= $1 and o.endpoint_key < $1 || 'g' and ${isInAnyLane('o')} limit 1)
         union all
         (select endpoint from final_outcomes e join deliveries d on d.id = e.delivery_id
          where e.endpoint_key >= $1 and e.endpoint_key < $1 || 'g' and e.state = 'failed' limit 1)
       ) as known having count(*) > 0`),
    [key],
  );
  return rows[0] ?? null;
}

/** Served by endpoints_paused. */
export async function countPausedEndpoints(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    'select count(*)::integer as count from endpoints where paused_at is not null',
  );
  return rows[0]?.count ?? 0;
}

export interface PausedBacklog {
  readonly counts: Readonly<Record<PauseCause, number>>;
  /** Number of deliveries that wait for paused endpoints; `bytes` is their approximate size in the database. */
  readonly waiting: number;
  readonly bytes: number;
}

/**
 * Counts paused endpoints by the displayed cause, and their waiting deliveries. Bytes are estimated from the average
 * size of a row in PostgreSQL's statistics. Served by endpoints_paused and open_endpoint.
 */
export async function readPausedBacklog(database: Queryable): Promise<PausedBacklog> {
  const { rows } = await database.query<Record<PauseCause | 'waiting' | 'bytes', number>>(
    `with paused as materialized (
       select key, case when operator_paused_at is not null then 'operator'
         when client_paused_at is not null then 'client' else 'failures' end as cause
       from endpoints where paused_at is not null
     ), backlog as materialized (
       select coalesce(sum(waiting), 0)::integer as waiting from paused, lateral (
         select count(*) as waiting from open_deliveries
         where endpoint_key >= key and endpoint_key < key || 'g' and ${isInAnyLane()}) as open
     )
     select waiting, (waiting * (
         select coalesce(sum(pg_table_size(oid) / greatest(reltuples, 1)), 0) from pg_class
         where oid in ('open_deliveries'::regclass, 'deliveries'::regclass, 'snapshots'::regclass)))::float8 as bytes,
       (select count(*)::integer from paused where cause = 'operator') as operator,
       (select count(*)::integer from paused where cause = 'client') as client,
       (select count(*)::integer from paused where cause = 'failures') as failures
     from backlog`,
  );
  const [{ waiting, bytes, ...counts }] = rows as [(typeof rows)[number]];
  return { counts, waiting, bytes };
}
