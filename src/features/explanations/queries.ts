/**
 * Queries about many properties or searches. They run in a worker thread with its own connections to PostgreSQL, so
 * that long evaluations do not delay requests or recording.
 */

import type { AskThread } from '../../engine/actor/worker-thread.ts';
import type { Answers } from './query-thread.ts';

/** Rejects with the query's error (e.g. a statement timeout), the signal's abort reason, or `WorkerLostError`. */
export type AskQuery = <Kind extends keyof Answers>(
  kind: Kind,
  requested: Parameters<Answers[Kind]>[0],
  signal?: AbortSignal,
) => ReturnType<Answers[Kind]>;

/** A query's summaries and texts take about twenty megabytes, and clients run at most eight queries at a time. */
const THREAD = { entry: new URL('./query-thread', import.meta.url), heapMaxMb: 512 };

export function queriesOf(askThread: AskThread): AskQuery {
  return ((kind, requested, signal) => askThread(THREAD, { kind, requested }, signal)) as AskQuery;
}
