/**
 * Work that the rest of the process makes way for. A batch of changes is recorded in some ten milliseconds and everyone
 * waits for it; who reads thousands of rows to answer one client waits between two steps until none is under way.
 */

import { Bell } from './waiting.ts';

let underWay = 0;
const free = new Bell();

/** Settles as `work` does. */
export async function goingFirst<T>(work: () => Promise<T>): Promise<T> {
  underWay += 1;
  try {
    return await work();
  } finally {
    underWay -= 1;
    if (underWay === 0) free.ring();
  }
}

export interface Courtesy {
  /** Resolves when nothing that goes first is under way, or when it has waited for long enough. */
  stepAside(): Promise<void>;
}

/** Half of the second that an answer may take. */
const WAIT_MS_MAX = 500;

/** Waits `waitMsMax` at most, in all: where something always goes first, the rest gets its share as well. */
export function createCourtesy(waitMsMax = WAIT_MS_MAX): Courtesy {
  let leftMs = waitMsMax;
  return {
    async stepAside() {
      if (underWay === 0 || leftMs <= 0) return;
      const startMs = performance.now();
      await free.rung(leftMs);
      leftMs -= performance.now() - startMs;
    },
  };
}
