/**
 * Cancels in the background what store/cancellations.ts has marked, page by page, with rests in between that leave most
 * of PostgreSQL to others. A mark outlives its pages by a minute: a change that was being recorded when the search was
 * silenced may come late. Every delivering instance does it; what two of them do twice does no harm.
 */

import { setTimeout as wait } from 'node:timers/promises';
import {
  type CancelledPlace,
  cancelMailItems,
  cancelPage,
  deleteOrphanedSearches,
  type MarkedSearch,
  readMarkedSearches,
  removeMark,
} from '../store/cancellations.ts';
import type { Database } from '../store/database.ts';

export interface CancellationsDependencies {
  readonly database: Database;
  readonly onTrouble: (what: string, error: Error) => void;
}

export interface Cancellations {
  /** Finishes the page that it is at. */
  stop(): Promise<void>;
}

const LOOK_EVERY_MS = 1_000;
const MARKED_MAX = 1_000;
const PAGE = 1_000;
const SEARCHES_PAGE = 500;
/** Of the time that a page took. */
const REST_FACTOR = 2;
/** Longer than any recording transaction. */
const LATE_MAX_MS = 60_000;
const ALL_MS = 100 * 365 * 24 * 3_600_000;

export function startCancellations({ database, onTrouble }: CancellationsDependencies): Cancellations {
  const stopping = new AbortController();
  const { signal } = stopping;
  /** Marks whose pages have been walked through, by the search. */
  let walked = new Map<number, string>();

  async function rested<T>(work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const result = await work();
    await pause((performance.now() - startedAt) * REST_FACTOR);
    return result;
  }

  const pause = (ms: number): Promise<void> => wait(ms, undefined, { signal }).catch(() => undefined);

  async function walk(marked: MarkedSearch, sinceMs: number): Promise<void> {
    let after: CancelledPlace | null = null;
    do {
      const from: CancelledPlace | null = after;
      after = await rested(() => cancelPage(database, marked, sinceMs, from, PAGE));
    } while (after !== null && !signal.aborted);
    while (!signal.aborted && (await rested(() => cancelMailItems(database, marked, PAGE))) > 0);
  }

  async function serve(marked: MarkedSearch): Promise<void> {
    const isWalked = walked.get(marked.number) === marked.cancelledBefore;
    const isOld = marked.markedAgoMs > LATE_MAX_MS;
    if (isWalked && !isOld) return;
    await walk(marked, isWalked ? 2 * LATE_MAX_MS : ALL_MS);
    if (signal.aborted) return;
    walked.set(marked.number, marked.cancelledBefore);
    if (isOld) await removeMark(database, marked);
  }

  async function lookOnce(): Promise<void> {
    while (!signal.aborted && (await rested(() => deleteOrphanedSearches(database, SEARCHES_PAGE))) > 0);
    const marks = await readMarkedSearches(database, MARKED_MAX);
    walked = new Map(
      marks.flatMap(({ number }) => (walked.has(number) ? [[number, walked.get(number) as string]] : [])),
    );
    for (const marked of marks) if (!signal.aborted) await serve(marked);
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await lookOnce().catch((error: Error) => onTrouble('cancellations', error));
      await pause(LOOK_EVERY_MS);
    }
  }

  const ended = run();
  return {
    stop() {
      stopping.abort();
      return ended;
    },
  };
}
