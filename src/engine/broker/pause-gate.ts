/**
 * A gate that an operator closes to pause a stage. The stage's pulls finish their current batch and request no other.
 * Messages that are not pulled stay in JetStream.
 */

import { Signal } from '../actor/waiting.ts';

export interface PauseGate {
  readonly isOpen: boolean;
  /** Number of pulls in progress. */
  readonly busyCount: number;
  open(): void;
  close(): void;
  /** Resolves at once if the gate is open, otherwise when it opens or `wake` is called. */
  whenOpen(): Promise<void>;
  /** Runs `pull` and counts it as busy. */
  run<T>(pull: () => Promise<T>): Promise<T>;
  /** Wakes every waiting task, so that it checks its other conditions. */
  wake(): void;
}

export function createPauseGate(): PauseGate {
  let isOpen = true;
  let busyCount = 0;
  const wakeUp = new Signal();
  return {
    get isOpen() {
      return isOpen;
    },
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
    whenOpen: () => (isOpen ? Promise.resolve() : wakeUp.wait()),
    async run(pull) {
      busyCount += 1;
      try {
        return await pull();
      } finally {
        busyCount -= 1;
      }
    },
    wake: () => wakeUp.notify(),
  };
}
