/**
 * PostgreSQL's clock, as a process without one of its own to trust sees it. Rows are due by this clock, so messages and
 * processes that speak of the same moment must use it too: a process whose clock is two hours ahead would otherwise wait
 * two hours too long.
 */

import type { Queryable } from './database.ts';

/** Milliseconds since the epoch. The time now lies between them: they differ by the duration of a statement. */
export interface DatabaseTime {
  readonly earliestMs: number;
  readonly latestMs: number;
}

/** Rejects when PostgreSQL does not answer. */
export type DatabaseClock = () => Promise<DatabaseTime>;

/** Between two statements the time advances by the process's monotonic clock. */
const SAMPLE_MAX_AGE_MS = 1_000;

export function createDatabaseClock(database: Queryable): DatabaseClock {
  let sample: { readonly databaseMs: number; readonly sentAt: number; readonly answeredAt: number } | null = null;
  return async () => {
    if (sample === null || performance.now() - sample.answeredAt > SAMPLE_MAX_AGE_MS) {
      const sentAt = performance.now();
      const { rows } = await database.query<{ ms: number }>({
        name: 'database-time',
        text: 'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
      });
      sample = { databaseMs: (rows[0] as { ms: number }).ms, sentAt, answeredAt: performance.now() };
    }
    const { databaseMs, sentAt, answeredAt } = sample;
    const now = performance.now();
    return { earliestMs: databaseMs + now - answeredAt, latestMs: databaseMs + now - sentAt };
  };
}
