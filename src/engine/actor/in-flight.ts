/** Work under way: how much of it there is, when it has ended, and whether somebody else is at it already. */

import { Signal } from './waiting.ts';

/** Work that was begun and is not awaited where it began. */
export class InFlight {
  readonly #wakeUp = new Signal();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** What is added must not reject: that would be a bug, and ends the process. */
  add(work: Promise<unknown>): void {
    this.#count += 1;
    void work.finally(() => {
      this.#count -= 1;
      this.#wakeUp.notify();
    });
  }

  /** Resolves when one of them has ended; at once when there is none. */
  async oneEnded(): Promise<void> {
    if (this.#count > 0) await this.#wakeUp.wait();
  }

  /** Resolves when there is nothing left, also of what was added meanwhile. */
  async ended(): Promise<void> {
    while (this.#count > 0) await this.#wakeUp.wait();
  }
}

/** What it returns begins `work`, or shares the end of the one that is under way. */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | null = null;
  return () => {
    underWay ??= work().finally(() => {
      underWay = null;
    });
    return underWay;
  };
}
