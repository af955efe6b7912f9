/**
 * Variable-size records in pages, addressed by word. Freed records wait in a list per size for the next one of that
 * size; nothing is ever moved or copied, so no change to the index waits for a reorganisation. The pages are shared
 * buffers for the reason given in `shared-memory`.
 */

const PAGE_WORDS_LOG2 = 15;
const PAGE_WORDS = 1 << PAGE_WORDS_LOG2;
/** Eight bytes each: half a page. */
export const RECORD_WORDS_MAX = PAGE_WORDS / 2;

interface Page {
  readonly numbers: Float64Array;
  /** The same memory, two integers a word. */
  readonly integers: Int32Array;
}

export class RecordArena {
  readonly #pages: Page[] = [];
  /** First free record of each size; it holds the next one. -1 ends. */
  readonly #free = new Int32Array(RECORD_WORDS_MAX + 1).fill(-1);
  #top = 0;

  get bytes(): number {
    return this.#pages.length * PAGE_WORDS * 8;
  }

  /** The address of `words` words, at most `RECORD_WORDS_MAX`, within one page. */
  allocate(words: number): number {
    const free = this.#free[words] as number;
    if (free !== -1) {
      this.#free[words] = this.integersAt(free)[this.integerOffset(free)] as number;
      return free;
    }
    if (this.#top + words > this.#pages.length * PAGE_WORDS) this.#addPage();
    const address = this.#top;
    this.#top += words;
    return address;
  }

  free(address: number, words: number): void {
    this.integersAt(address)[this.integerOffset(address)] = this.#free[words] as number;
    this.#free[words] = address;
  }

  /** Reads one integer of the record, to have it near. */
  touch(address: number): number {
    return this.integersAt(address)[this.integerOffset(address)] as number;
  }

  numbersAt(address: number): Float64Array {
    return (this.#pages[address >>> PAGE_WORDS_LOG2] as Page).numbers;
  }

  integersAt(address: number): Int32Array {
    return (this.#pages[address >>> PAGE_WORDS_LOG2] as Page).integers;
  }

  numberOffset(address: number): number {
    return address & (PAGE_WORDS - 1);
  }

  integerOffset(address: number): number {
    return (address & (PAGE_WORDS - 1)) * 2;
  }

  /** The rest of the last page stays unused: a few words, as records of usual size go. */
  #addPage(): void {
    const buffer = new SharedArrayBuffer(PAGE_WORDS * 8);
    this.#top = this.#pages.length * PAGE_WORDS;
    this.#pages.push({ numbers: new Float64Array(buffer), integers: new Int32Array(buffer) });
  }
}
