/**
 * What an operator closes to pause a stage: its pulls finish the batch they are at and take no further one. JetStream
 * keeps what is not pulled.
 */

import { Bell } from '../actor/waiting.ts';

export interface Valve {
  readonly isOpen: boolean;
  /** Batches being pulled at this moment. */
  readonly busyCount: number;
  open(): void;
  close(): void;
  /** Resolves at once while open, else when it opens or `wake` is called. */
  whenOpen(): Promise<void>;
  /** Runs `pull` and counts it as busy. */
  through<T>(pull: () => Promise<T>): Promise<T>;
  /** Lets every waiter go, to look at what else has changed. */
  wake(): void;
}

export function createValve(): Valve {
  let isOpen = true;
  let busyCount = 0;
  const bell = new Bell();
  return {
    get isOpen() {
      return isOpen;
    },
    get busyCount() {
      return busyCount;
    },
    open() {
      isOpen = true;
      bell.ring();
    },
    close() {
      isOpen = false;
    },
    whenOpen: () => (isOpen ? Promise.resolve() : bell.rung()),
    async through(pull) {
      busyCount += 1;
      try {
        return await pull();
      } finally {
        busyCount -= 1;
      }
    },
    wake: () => bell.ring(),
  };
}
