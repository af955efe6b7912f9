/**
 * Long work in small slices. Whoever has worked for a millisecond lets everything else of the thread go first, and
 * those who work like this wait for each other as well: one of them at a time works between two looks at sockets.
 */

import { yieldToOthers } from '../../engine/actor/waiting.ts';
import type { Cancellation } from '../../engine/actor/worker-thread.ts';

export interface WorkSlices {
  /** Milliseconds of work so far. */
  readonly workedMs: number;
  /** Called between small pieces of work: nothing to wait for, or the next slice. Throws when the work is cancelled. */
  take(): Promise<void> | undefined;
}

const SLICE_MS = 1;

let lastInLine: Promise<void> = Promise.resolve();

export interface WorkSlicesOptions {
  /** Milliseconds of a clock that never goes back. */
  readonly nowMs?: () => number;
  readonly cancellation?: Pick<Cancellation, 'throwIfCancelled'>;
}

export function createWorkSlices({
  nowMs = () => performance.now(),
  cancellation,
}: WorkSlicesOptions = {}): WorkSlices {
  let startMs = nowMs();
  let doneMs = 0;
  return {
    get workedMs() {
      return doneMs + nowMs() - startMs;
    },
    take() {
      const turnMs = nowMs() - startMs;
      if (turnMs < SLICE_MS) return undefined;
      cancellation?.throwIfCancelled();
      doneMs += turnMs;
      lastInLine = lastInLine.then(yieldToOthers);
      return lastInLine.then(() => {
        startMs = nowMs();
      });
    },
  };
}
