/**
 * Variable-size records in pages, addressed by word. Freed records wait in a list per size for the next one of that
 * size; nothing is ever moved or copied, so no change to the index waits for a reorganisation. The pages are shared
 * buffers for the reason given in `shared-memory`.
 */

const PAGE_WORDS_LOG2 = 15;

interface Page {
  readonly numbers: Float64Array;
  /** The same memory, two integers a word. */
  readonly integers: Int32Array;
  /** And four of sixteen bits. */
  readonly shorts: Uint16Array;
}

export class RecordArena {
  readonly #pages: Page[] = [];
  readonly #pageLog2: number;
  readonly #pageMask: number;
  /** Of a record: eight bytes each, half a page. */
  readonly wordsMax: number;
  /** First free record of each size; it holds the next one. -1 ends. */
  readonly #free: Int32Array;
  #top = 0;

  constructor(pageWordsLog2 = PAGE_WORDS_LOG2) {
    this.#pageLog2 = pageWordsLog2;
    this.#pageMask = (1 << pageWordsLog2) - 1;
    this.wordsMax = 1 << (pageWordsLog2 - 1);
    this.#free = new Int32Array(this.wordsMax + 1).fill(-1);
  }

  get bytes(): number {
    return this.#pages.length * 8 * (this.#pageMask + 1);
  }

  /** The address of `words` words, at most `wordsMax`, within one page. */
  allocate(words: number): number {
    const free = this.#free[words] as number;
    if (free !== -1) {
      this.#free[words] = this.integersAt(free)[this.integerOffset(free)] as number;
      return free;
    }
    if (this.#top + words > this.#pages.length << this.#pageLog2) this.#addPage();
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
    return (this.#pages[address >>> this.#pageLog2] as Page).numbers;
  }

  integersAt(address: number): Int32Array {
    return (this.#pages[address >>> this.#pageLog2] as Page).integers;
  }

  shortsAt(address: number): Uint16Array {
    return (this.#pages[address >>> this.#pageLog2] as Page).shorts;
  }

  numberOffset(address: number): number {
    return address & this.#pageMask;
  }

  integerOffset(address: number): number {
    return (address & this.#pageMask) * 2;
  }

  /** The rest of the last page stays unused: a few words, as records of usual size go. */
  #addPage(): void {
    const buffer = new SharedArrayBuffer(8 * (this.#pageMask + 1));
    this.#top = this.#pages.length << this.#pageLog2;
    this.#pages.push({
      numbers: new Float64Array(buffer),
      integers: new Int32Array(buffer),
      shorts: new Uint16Array(buffer),
    });
  }
}
