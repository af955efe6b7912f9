/** Deliveries that wait for a retry. */

import type { DueDelivery, FailedAttempt } from '../domain/delivery.ts';
import { memberArrays } from './array-literal.ts';
import type { Queryable } from './database.ts';
import { isInLane, LANE } from './delivery-states.ts';

/** Makes deliveries due whose last attempt is the given one, and resolves with them. Served by the primary key. */
export async function releaseRetries(
  client: Queryable,
  retries: readonly FailedAttempt[],
): Promise<readonly DueDelivery[]> {
  const { rows } = await client.query<Omit<DueDelivery, 'lane'>>({
    name: 'release-retries',
    text: `
      update open_deliveries o set lane = ${LANE.due_again}, due_at = clock_timestamp()
      from unnest($1::uuid[], $2::smallint[], $3::timestamptz[]) as retry(id, number, started_at)
      where o.id = any($1::uuid[]) and o.id = retry.id and o.lane = ${LANE.waiting_retry}
        and o.attempt_count = retry.number and o.claimed_at = retry.started_at
      returning o.id, o.endpoint_key as "endpointKey"`,
    values: memberArrays(retries, 'id', 'attemptCount', 'startedAt'),
  });
  return rows.map((row) => ({ ...row, lane: 'retry' }));
}

export interface OverdueRetry extends FailedAttempt {
  /** The time as PostgreSQL's text, where the next page begins. A `Date` would lose the microseconds. */
  readonly dueAt: string;
  readonly dueAtMs: number;
}

/** Retries that are overdue by at least `overdueMs`, the earliest first. Served by open_retrying. */
export async function readOverdueRetries(
  client: Queryable,
  overdueMs: number,
  after: Pick<OverdueRetry, 'id' | 'dueAt'> | null,
  limit: number,
): Promise<readonly OverdueRetry[]> {
  const { rows } = await client.query<OverdueRetry>({
    name: 'overdue-retries',
    text: `
      select id, endpoint_key as "endpointKey", attempt_count as "attemptCount", claimed_at as "startedAt", due_at::text as "dueAt",
        extract(epoch from due_at)::float8 * 1000 as "dueAtMs"
      from open_deliveries
      where ${isInLane('waiting_retry')} and due_at < statement_timestamp() - $1 * interval '1 millisecond' and (due_at, id) > ($2, $3)
      order by due_at, id limit $4`,
    values: [overdueMs, after?.dueAt ?? '-infinity', after?.id ?? '00000000-0000-0000-0000-000000000000', limit],
  });
  return rows;
}
