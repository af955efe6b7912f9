/** Endpoints as operators see them; `endpoints.ts` is the couriers' side. */

import type { Queryable } from './database.ts';

export interface OperatorEndpoint {
  readonly key: string;
  readonly url: string;
  readonly pausedAt: Date | null;
  readonly pauseReason: string | null;
  readonly openCount: number;
  readonly parkedCount: number;
  readonly failedCount: number;
  readonly oldestDueAt: Date | null;
  readonly failureStreak: number;
  readonly lastError: string | null;
  readonly lastSuccessAt: Date | null;
  readonly lastFailureAt: Date | null;
}

const COLUMNS = `key, url, paused_at as "pausedAt", pause_reason as "pauseReason", "openCount", "parkedCount",
  "failedCount", "oldestDueAt", failure_streak as "failureStreak", last_error as "lastError",
  last_success_at as "lastSuccessAt", last_failure_at as "lastFailureAt"`;

/** Served by deliveries_endpoint_open and deliveries_failed. */
const FROM = `endpoints left join lateral (
    select count(*)::integer as "openCount", (count(*) filter (where state = 'parked'))::integer as "parkedCount",
      min(due_at) filter (where state in ('queued', 'retry_wait')) as "oldestDueAt"
    from deliveries where endpoint_key = key and state in ('queued', 'sending', 'retry_wait', 'parked')
  ) as open on true left join lateral (
    select count(*)::integer as "failedCount" from deliveries where endpoint_key = key and state = 'failed'
  ) as failed on true`;

/** Those with most open deliveries first. Reads every endpoint: there are thousands at most. */
export async function listOperatorEndpoints(
  database: Queryable,
  page: { readonly pausedOnly: boolean; readonly offset: number; readonly limit: number },
): Promise<readonly OperatorEndpoint[]> {
  const { rows } = await database.query<OperatorEndpoint>(
    `select ${COLUMNS} from ${FROM} where not $1 or paused_at is not null
     order by "openCount" desc, "failedCount" desc, key limit $2 offset $3`,
    [page.pausedOnly, page.limit, page.offset],
  );
  return rows;
}

/** Null when no courier has used it and nobody has paused it. Served by the primary key. */
export async function readOperatorEndpoint(database: Queryable, key: string): Promise<OperatorEndpoint | null> {
  const { rows } = await database.query<OperatorEndpoint>(`select ${COLUMNS} from ${FROM} where key = $1`, [key]);
  return rows[0] ?? null;
}

/**
 * The URL of an endpoint that no courier has used yet, of a delivery that is open or failed; null when there is none.
 * Served by deliveries_endpoint_open and deliveries_failed.
 */
export async function readEndpointUrl(database: Queryable, key: string): Promise<string | null> {
  const { rows } = await database.query<{ endpoint: string }>(
    `(select endpoint from deliveries
      where endpoint_key = $1 and state in ('queued', 'sending', 'retry_wait', 'parked') limit 1)
     union all
     (select endpoint from deliveries where endpoint_key = $1 and state = 'failed' limit 1) limit 1`,
    [key],
  );
  return rows[0]?.endpoint ?? null;
}

/** Served by the primary key. */
export async function setPauseReason(database: Queryable, key: string, reason: string | null): Promise<void> {
  await database.query('update endpoints set pause_reason = $2 where key = $1', [key, reason]);
}

/** Served by endpoints_paused. */
export async function countPausedEndpoints(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    'select count(*)::integer as count from endpoints where paused_at is not null',
  );
  return rows[0]?.count ?? 0;
}
