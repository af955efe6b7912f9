/**
 * Marks the searches of deleted clients, and cancels the open deliveries and e-mail items of marked searches.
 * Works in pages, with pauses that leave most of PostgreSQL's time to other work. A change that was being recorded when
 * a search was deleted or disabled may commit late. The mark therefore stays until a run that begins a minute later has
 * ended. Every instance with the role `deliver` does this; concurrent runs are harmless.
 */

import { startTask, type Task } from '../actor/task.ts';
import { rested } from '../actor/waiting.ts';
import {
  type CancelledCursor,
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
  readonly onTransientError: (what: string, error: Error) => void;
}

const CHECK_EVERY_MS = 1_000;
const MARKED_MAX = 1_000;
const PAGE = 1_000;
const SEARCHES_PAGE = 500;
/** Pause after a page, as a multiple of its duration. */
const REST_FACTOR = 2;
/** Far longer than a recording transaction. If one takes even longer, claims cancel its deliveries. */
const LATE_MAX_MS = 60_000;

/** A task that is stopped finishes its current page. */
export function startCancellations({ database, onTransientError }: CancellationsDependencies): Task {
  /** The generations of marks whose pages are complete, by search. */
  let walked = new Map<number, number>();

  async function cancelMarked(stopping: AbortSignal): Promise<void> {
    const inPages = async (page: () => Promise<boolean>): Promise<void> => {
      while (!stopping.aborted && (await rested(page, REST_FACTOR, stopping)));
    };
    await inPages(async () => (await deleteOrphanedSearches(database, SEARCHES_PAGE)) > 0);
    const marks = await readMarkedSearches(database, MARKED_MAX);
    walked = new Map(
      marks.flatMap(({ number }) => (walked.has(number) ? [[number, walked.get(number) as number]] : [])),
    );
    for (const marked of marks) {
      const isWalked = walked.get(marked.number) === marked.generation;
      const isOld = marked.markedAgoMs > LATE_MAX_MS;
      if (isWalked && !isOld) continue;
      await walk(marked, inPages);
      if (stopping.aborted) return;
      walked.set(marked.number, marked.generation);
      if (isOld) await removeMark(database, marked);
    }
  }

  async function walk(marked: MarkedSearch, inPages: InPages): Promise<void> {
    let after: CancelledCursor | null = null;
    await inPages(async () => {
      after = await cancelPage(database, marked, after, PAGE);
      return after !== null;
    });
    await inPages(async () => (await cancelMailItems(database, marked, PAGE)) > 0);
  }

  return startTask({
    what: 'cancellations',
    everyMs: CHECK_EVERY_MS,
    isDueAtOnce: true,
    work: cancelMarked,
    onTransientError,
  });
}

/** Runs `page` with pauses until `page` resolves with false or the task is stopped. */
type InPages = (page: () => Promise<boolean>) => Promise<void>;
