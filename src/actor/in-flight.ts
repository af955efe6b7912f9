/** Work that was begun and is not awaited where it began: how much of it there is, and when it has ended. */

import { Bell } from './bell.ts';

export class InFlight {
  readonly #bell = new Bell();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** What is added must not reject: that would be a bug, and ends the process. */
  add(work: Promise<unknown>): void {
    this.#count += 1;
    void work.finally(() => {
      this.#count -= 1;
      this.#bell.ring();
    });
  }

  /** Resolves when one of them has ended; at once when there is none. */
  async oneEnded(): Promise<void> {
    if (this.#count > 0) await this.#bell.rung();
  }

  /** Resolves when there is nothing left, also of what was added meanwhile. */
  async ended(): Promise<void> {
    while (this.#count > 0) await this.#bell.rung();
  }
}
