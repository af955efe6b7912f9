/**
 * Search number to record address. Numbers come from a sequence, so pages of consecutive numbers are dense; a page
 * that empties is dropped, and no table of a million entries is ever rehashed.
 */

import type { SearchNumber } from '../domain/ids.ts';

const PAGE_LOG2 = 14;
const PAGE_SIZE = 1 << PAGE_LOG2;
const NONE = -1;

export class SearchAddresses {
  readonly #pages: (Int32Array | undefined)[] = [];
  /** Numbers in use, by page. */
  readonly #used: number[] = [];
  #size = 0;
  #pageCount = 0;

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#pageCount * PAGE_SIZE * 4;
  }

  get(number: SearchNumber): number | null {
    const page = this.#pages[number >>> PAGE_LOG2];
    const address = page === undefined ? NONE : (page[number & (PAGE_SIZE - 1)] as number);
    return address === NONE ? null : address;
  }

  /** Every number with its address, in order. */
  *entries(): Generator<readonly [number: SearchNumber, address: number]> {
    for (const [index, page] of this.#pages.entries()) {
      if (page === undefined) continue;
      for (let i = 0; i < PAGE_SIZE; i++) {
        if (page[i] !== NONE) yield [((index << PAGE_LOG2) + i) as SearchNumber, page[i] as number];
      }
    }
  }

  /** `number` is new here. */
  add(number: SearchNumber, address: number): void {
    const index = number >>> PAGE_LOG2;
    let page = this.#pages[index];
    if (page === undefined) {
      page = new Int32Array(PAGE_SIZE).fill(NONE);
      this.#pages[index] = page;
      this.#pageCount += 1;
    }
    page[number & (PAGE_SIZE - 1)] = address;
    this.#used[index] = (this.#used[index] ?? 0) + 1;
    this.#size += 1;
  }

  /** `number` is known. */
  delete(number: SearchNumber): void {
    const index = number >>> PAGE_LOG2;
    (this.#pages[index] as Int32Array)[number & (PAGE_SIZE - 1)] = NONE;
    this.#used[index] = (this.#used[index] as number) - 1;
    this.#size -= 1;
    if (this.#used[index] !== 0) return;
    this.#pages[index] = undefined;
    this.#pageCount -= 1;
  }
}
