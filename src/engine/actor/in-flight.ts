/** Work under way: how much there is, when it has ended, and one shared run for concurrent callers. */

import { Signal } from './waiting.ts';

/** Work that was begun and is awaited elsewhere. */
export class InFlight {
  readonly #wakeUp = new Signal();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** `work` must not reject: a rejection is a bug and ends the process. */
  add(work: Promise<unknown>): void {
    this.#count += 1;
    void work.finally(() => {
      this.#count -= 1;
      this.#wakeUp.notify();
    });
  }

  /** Resolves when one work has ended; at once when none is under way. */
  async oneEnded(): Promise<void> {
    if (this.#count > 0) await this.#wakeUp.wait();
  }

  /** Resolves when no work is under way, work that was added meanwhile included. */
  async ended(): Promise<void> {
    while (this.#count > 0) await this.#wakeUp.wait();
  }
}

/** Returns a function that starts `work`, or shares the run that is under way. */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | null = null;
  return () => {
    underWay ??= work().finally(() => {
      underWay = null;
    });
    return underWay;
  };
}
