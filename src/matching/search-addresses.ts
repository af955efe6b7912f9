/**
 * Search number to record address. Numbers come from a sequence, so pages of consecutive numbers are dense; a page
 * that empties is dropped, and no table of a million entries is ever rehashed.
 */

import type { SearchNumber } from '../domain/ids.ts';

const PAGE_LOG2 = 10;
const PAGE_SIZE = 1 << PAGE_LOG2;
const NONE = -1;

interface Page {
  readonly addresses: Int32Array;
  used: number;
}

export class SearchAddresses {
  readonly #pages = new Map<number, Page>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#pages.size * PAGE_SIZE * 4;
  }

  get(number: SearchNumber): number | null {
    const page = this.#pages.get(number >>> PAGE_LOG2);
    const address = page === undefined ? NONE : (page.addresses[number & (PAGE_SIZE - 1)] as number);
    return address === NONE ? null : address;
  }

  /** `number` is new here. */
  add(number: SearchNumber, address: number): void {
    let page = this.#pages.get(number >>> PAGE_LOG2);
    if (page === undefined) {
      page = { addresses: new Int32Array(PAGE_SIZE).fill(NONE), used: 0 };
      this.#pages.set(number >>> PAGE_LOG2, page);
    }
    page.addresses[number & (PAGE_SIZE - 1)] = address;
    page.used += 1;
    this.#size += 1;
  }

  /** `number` is known. */
  delete(number: SearchNumber): void {
    const page = this.#pages.get(number >>> PAGE_LOG2) as Page;
    page.addresses[number & (PAGE_SIZE - 1)] = NONE;
    page.used -= 1;
    this.#size -= 1;
    if (page.used === 0) this.#pages.delete(number >>> PAGE_LOG2);
  }
}
