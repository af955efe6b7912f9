/**
 * A gate pauses a stage while it is closed. The stage's pulls finish their current batch and request no other.
 * Messages that are not pulled stay in JetStream.
 */

import { Signal } from '../actor/waiting.ts';

export type PauseGate = ReturnType<typeof createPauseGate>;

export function createPauseGate() {
  let isOpen = true;
  let busyCount = 0;
  const wakeUp = new Signal();
  return {
    get isOpen() {
      return isOpen;
    },
    /** Number of pulls in progress. */
    get busyCount() {
      return busyCount;
    },
    open() {
      isOpen = true;
      wakeUp.notify();
    },
    close() {
      isOpen = false;
    },
    /** Resolves at once if the gate is open, otherwise when it opens or `wake` is called. */
    whenOpen: (): Promise<void> => (isOpen ? Promise.resolve() : wakeUp.wait()),
    /** Runs `pull` and counts it as busy. */
    async run<T>(pull: () => Promise<T>) {
      busyCount += 1;
      try {
        return await pull();
      } finally {
        busyCount -= 1;
      }
    },
    /** Wakes every waiting task, so that it checks its other conditions. */
    wake: () => wakeUp.notify(),
  };
}
