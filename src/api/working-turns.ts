/**
 * Long work in small turns. Whoever has worked for some milliseconds lets everything else of the process have its turn
 * first, and those who work like this take turns among themselves: one of them at a time between two looks at sockets.
 */

import { yieldToOthers } from '../actor/waiting.ts';

export interface WorkingTurns {
  /** Milliseconds of work so far. */
  readonly workedMs: number;
  /** Called between small pieces of work: nothing to wait for, or others' turn. */
  take(): Promise<void> | undefined;
  /** Waits for what is no work of this process, a statement for instance. */
  pause<T>(wait: Promise<T>): Promise<T>;
}

const TURN_MS = 4;

let lastInLine: Promise<void> = Promise.resolve();

export function createWorkingTurns(nowMs: () => number = () => performance.now()): WorkingTurns {
  let startMs = nowMs();
  let doneMs = 0;
  return {
    get workedMs() {
      return doneMs + nowMs() - startMs;
    },
    take() {
      const turnMs = nowMs() - startMs;
      if (turnMs < TURN_MS) return undefined;
      doneMs += turnMs;
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
