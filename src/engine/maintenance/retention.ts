/**
 * Removes expired data (domain/retention.ts) every ten minutes, in small batches. After each batch it pauses for four
 * times the batch's duration. Even a backlog therefore uses at most a fifth of one connection, and still shrinks by
 * some thousand rows a second. The leader of intake runs this task. If a run is interrupted, the next run finds the
 * remaining rows.
 */

import { startTask, type Task } from '../actor/task.ts';
import { pause } from '../actor/waiting.ts';
import { horizonsOf, type RetainedTable, type RetentionDays, type RetentionHorizons } from '../domain/retention.ts';
import type { Database } from '../store/database.ts';
import { removeIdempotencyKeys } from '../store/idempotency-keys.ts';
import { forgetInstances } from '../store/instances.ts';
import { removeNotices } from '../store/match-notices.ts';
import { removePublishers } from '../store/publishers.ts';
import {
  type Batches,
  fullBatches,
  type Removed,
  readClock,
  removeDeletedSearches,
  removeDeliveries,
  removeExpiredProperties,
  removeFeed,
  removeRecorded,
  removeSnapshots,
  removeUnusedEndpoints,
} from '../store/retention.ts';
import { removeWebhookSecrets } from '../store/webhook-secrets.ts';

export interface RetentionDependencies {
  readonly database: Database;
  readonly days: RetentionDays;
  /** `forget` removes a feature's rows. It runs before the rows to which these refer are removed. */
  readonly features?: readonly { readonly forget?: (database: Database, horizons: RetentionHorizons) => Batches }[];
  readonly onSwept: (sweep: Sweep) => void;
  readonly onTransientError: (what: string, error: Error) => void;
}

/** Number of rows removed from each table. Tables without removals are omitted. */
export interface Sweep {
  readonly removed: Partial<Readonly<Record<RetainedTable, number>>>;
  readonly durationMs: number;
}

const SWEEP_EVERY_MS = 600_000;
/** Pause after a batch, as a multiple of its duration. */
const REST_FACTOR = 4;

/** A task that is stopped finishes its current batch. */
export function startRetention(dependencies: RetentionDependencies): Task {
  return startTask({
    what: 'retention',
    everyMs: SWEEP_EVERY_MS,
    isDueAtOnce: true,
    work: async (signal) => dependencies.onSwept(await sweep(dependencies, { restFactor: REST_FACTOR, signal })),
    onTransientError: dependencies.onTransientError,
  });
}

/** Removes all expired data, by PostgreSQL's clock, which all instances share. */
export async function sweep(
  { database, days, features }: Pick<RetentionDependencies, 'database' | 'days' | 'features'>,
  { restFactor, signal }: { readonly restFactor: number; readonly signal?: AbortSignal },
): Promise<Sweep> {
  const startedAt = performance.now();
  const removed: Partial<Record<RetainedTable, number>> = {};
  let batchStartedAt = startedAt;
  const horizons = horizonsOf(days, await readClock(database));
  for await (const batch of allBatches(database, horizons, features)) {
    for (const [table, count] of Object.entries(batch) as [RetainedTable, number][]) {
      if (count > 0) removed[table] = (removed[table] ?? 0) + count;
    }
    await pause((performance.now() - batchStartedAt) * restFactor, signal);
    if (signal?.aborted === true) break;
    batchStartedAt = performance.now();
  }
  return { removed, durationMs: Math.round(performance.now() - startedAt) };
}

/** Removes referencing rows first: deliveries before their snapshots and searches. */
async function* allBatches(
  database: Database,
  horizons: RetentionHorizons,
  features: RetentionDependencies['features'] = [],
): AsyncGenerator<Removed, void, void> {
  const { events, deliveries, expired } = horizons;
  if (events !== null) {
    yield* removeRecorded(database, 'events', events);
    yield* removeRecorded(database, 'search_changes', events);
  }
  for (const { forget } of features) if (forget !== undefined) yield* forget(database, horizons);
  if (deliveries !== null) {
    yield* removeFeed(database, deliveries);
    yield* removeDeliveries(database, deliveries);
    yield* removeSnapshots(database, deliveries);
    yield* removeDeletedSearches(database, deliveries);
    yield* removeUnusedEndpoints(database, deliveries);
  }
  if (expired !== null) yield* removeExpiredProperties(database, expired);
  yield* fullBatches('match_notices', (limit) => removeNotices(database, limit));
  yield* fullBatches('publishers', (limit) => removePublishers(database, limit));
  yield* fullBatches('idempotency_keys', (limit) => removeIdempotencyKeys(database, limit));
  yield { webhook_secrets: await removeWebhookSecrets(database) };
  yield { instances: await forgetInstances(database) };
}
