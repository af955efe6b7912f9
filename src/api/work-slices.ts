/**
 * Long work in small slices. Whoever has worked for some milliseconds lets everything else of the process go first, and
 * those who work like this wait for each other as well: one of them at a time works between two looks at sockets.
 */

import { setImmediate as yieldToOthers } from 'node:timers/promises';

export interface WorkSlices {
  /** Milliseconds of work so far. */
  readonly workedMs: number;
  /** Called between small pieces of work: nothing to wait for, or the next slice. */
  take(): Promise<void> | undefined;
  /** Waits for what is no work of this process, a statement for instance. */
  pause<T>(wait: Promise<T>): Promise<T>;
}

const SLICE_MS = 4;

let lastInLine: Promise<void> = Promise.resolve();

export function createWorkSlices(nowMs: () => number = () => performance.now()): WorkSlices {
  let startMs = nowMs();
  let doneMs = 0;
  return {
    get workedMs() {
      return doneMs + nowMs() - startMs;
    },
    take() {
      const sliceMs = nowMs() - startMs;
      if (sliceMs < SLICE_MS) return undefined;
      doneMs += sliceMs;
      lastInLine = lastInLine.then(() => yieldToOthers());
      return lastInLine.then(() => {
        startMs = nowMs();
      });
    },
    async pause(wait) {
      doneMs += nowMs() - startMs;
      const waited = await wait;
      startMs = nowMs();
      return waited;
    },
  };
}
