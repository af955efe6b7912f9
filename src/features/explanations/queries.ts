/**
 * Queries about many properties or searches. They are answered in a worker thread with its own connections
 * to PostgreSQL: a second of evaluation blocks no event loop of clients, and neither requests nor recording wait for it.
 */

import type { AskThread } from '../../engine/actor/worker-thread.ts';
import type { Answers } from './query-thread.ts';

/**
 * Rejects with what answering throws, with a statement timeout among it; with the signal's reason when it is aborted; with
 * `WorkerLostError`.
 */
export type AskQuery = <Kind extends keyof Answers>(
  kind: Kind,
  asked: Parameters<Answers[Kind]>[0],
  signal?: AbortSignal,
) => ReturnType<Answers[Kind]>;

/** Summaries and texts of twenty thousand properties are some twenty megabytes, and eight queries run at once. */
const THREAD = { entry: new URL('./query-thread', import.meta.url), heapMaxMb: 512 };

export function queriesOf(askThread: AskThread): AskQuery {
  return ((kind, asked, signal) => askThread(THREAD, { kind, asked }, signal)) as AskQuery;
}
