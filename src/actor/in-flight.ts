/** Work that was begun and is not awaited where it began: how much of it there is, and when it has ended. */

export class InFlight {
  readonly #works = new Set<Promise<unknown>>();

  get count(): number {
    return this.#works.size;
  }

  /** What is added must not reject: that would be a bug, and ends the process. */
  add(work: Promise<unknown>): void {
    this.#works.add(work);
    void work.finally(() => this.#works.delete(work));
  }

  /** Resolves when one of them has ended; at once when there is none. */
  async oneEnded(): Promise<void> {
    if (this.#works.size > 0) await Promise.race(this.#works);
  }

  /** Resolves when there is nothing left, also of what was added meanwhile. */
  async ended(): Promise<void> {
    while (this.#works.size > 0) await Promise.all(this.#works);
  }
}
