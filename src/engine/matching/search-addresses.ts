/**
 * Maps search numbers to the addresses of records, and marks searches that were already found for the current property.
 * Numbers come from a sequence, so pages of consecutive numbers are dense. Empty pages are dropped. Unlike a hash table
 * with a million entries, pages never need a rehash.
 */

import type { SearchNumber } from '../domain/ids.ts';

const PAGE_LOG2 = 14;
const PAGE_SIZE = 1 << PAGE_LOG2;
/** Number of integers per entry: the address, and the round in which the search was last found. */
const ENTRY = 2;
const NONE = -1;
const ROUNDS_MAX = 2 ** 31 - 1;

export class SearchAddresses {
  readonly #pages: (Int32Array | undefined)[] = [];
  /** By page, the number of entries in use. */
  readonly #used: number[] = [];
  #size = 0;
  #pageCount = 0;
  #round = 0;

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#pageCount * PAGE_SIZE * ENTRY * 4;
  }

  get(number: SearchNumber): number | null {
    const address = this.#pages[number >>> PAGE_LOG2]?.[entryOf(number)] ?? NONE;
    return address === NONE ? null : address;
  }

  /** `number` must not be in the table. */
  add(number: SearchNumber, address: number): void {
    const index = number >>> PAGE_LOG2;
    let page = this.#pages[index];
    if (page === undefined) {
      page = new Int32Array(ENTRY * PAGE_SIZE).fill(NONE);
      this.#pages[index] = page;
      this.#pageCount += 1;
    }
    page[entryOf(number)] = address;
    this.#used[index] = (this.#used[index] ?? 0) + 1;
    this.#size += 1;
  }

  /** `number` must be in the table. */
  delete(number: SearchNumber): void {
    const index = number >>> PAGE_LOG2;
    (this.#pages[index] as Int32Array)[entryOf(number)] = NONE;
    this.#used[index] = (this.#used[index] as number) - 1;
    this.#size -= 1;
    if (this.#used[index] !== 0) return;
    this.#pages[index] = undefined;
    this.#pageCount -= 1;
  }

  /** Begins the round of another property, in which no search was found yet. */
  startRound(): void {
    this.#round += 1;
    if (this.#round <= ROUNDS_MAX) return;
    this.#round = 0;
    for (const page of this.#pages)
      for (let at = 1; at < (page?.length ?? 0); at += ENTRY) page?.fill(NONE, at, at + 1);
  }

  /** Marks a search as found. False if it was already marked. The search must be in the table. */
  meet(number: SearchNumber): boolean {
    const page = this.#pages[number >>> PAGE_LOG2] as Int32Array;
    const at = entryOf(number) + 1;
    if (page[at] === this.#round) return false;
    page[at] = this.#round;
    return true;
  }
}

function entryOf(number: SearchNumber): number {
  return ENTRY * (number & (PAGE_SIZE - 1));
}
