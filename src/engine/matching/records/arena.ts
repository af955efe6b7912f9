/**
 * Variable-size records in pages, addressed by word. Freed records wait in a list per size for the next one of that
 * size; records are never moved or copied, so no change to the index waits for a reorganisation. The pages are shared
 * buffers for the reason given in `shared-memory`.
 */

/** Four megabytes: few pages, so pointers to them stay cached. A page takes no memory before it is written. */
const PAGE_WORDS_LOG2 = 19;
/** Words in a cache line. */
export const LINE_WORDS = 8;
/** Unused, so that records align to cache lines: the allocator begins each buffer with two words of its own. */
const MARGIN_WORDS = LINE_WORDS - 2;
const PAGE_MASK = 2 ** PAGE_WORDS_LOG2 - 1;
/** The largest record, unless the caller sets another maximum: 128 kB. */
const WORDS_MAX = 1 << 14;
/**
 * Sixteen size classes per doubling. A client that saves and deletes records of every possible size leaves a few
 * megabytes unused; with a class for each size it would leave all of their memory unused.
 */
const SIZES_LOG2 = 4;

interface Page {
  readonly numbers: Float64Array;
  readonly floats: Float32Array;
  /** The same memory, two integers a word. */
  readonly integers: Int32Array;
  /** The same memory, four integers of sixteen bits a word. */
  readonly shorts: Uint16Array;
}

export class RecordArena {
  readonly #pages: Page[] = [];
  /** Words of the largest record, eight bytes each: a power of two, at most half a page. */
  readonly wordsMax: number;
  /** First free record of each size, whose first integer is the address of the next one; -1 ends the list. */
  readonly #free: Int32Array;
  #top = 0;

  constructor(wordsMax = WORDS_MAX) {
    this.wordsMax = wordsMax;
    this.#free = new Int32Array(wordsMax + 1).fill(-1);
  }

  get bytes(): number {
    return this.#top * 8;
  }

  /** The address of `words` words, at most `wordsMax`, within one page. */
  allocate(words: number): number {
    const size = sizeOf(words);
    const free = this.#free[size] as number;
    if (free !== -1) {
      this.#free[size] = this.integersAt(free)[this.integerOffset(free)] as number;
      return free;
    }
    if (this.#top + size > this.#pages.length << PAGE_WORDS_LOG2) this.#addPage();
    const address = this.#top;
    this.#top += size;
    return address;
  }

  /** `words`: as passed to `allocate`. */
  free(address: number, words: number): void {
    const size = sizeOf(words);
    this.integersAt(address)[this.integerOffset(address)] = this.#free[size] as number;
    this.#free[size] = address;
  }

  /** Reads one integer of the record, to prefetch it. */
  touch(address: number): number {
    return this.integersAt(address)[this.integerOffset(address)] as number;
  }

  /** Likewise for the following cache line, even if that belongs to another record. */
  touchSecondLine(address: number): number {
    return this.integersAt(address)[this.integerOffset(address + LINE_WORDS)] as number;
  }

  numbersAt(address: number): Float64Array {
    return (this.#pages[address >>> PAGE_WORDS_LOG2] as Page).numbers;
  }

  integersAt(address: number): Int32Array {
    return (this.#pages[address >>> PAGE_WORDS_LOG2] as Page).integers;
  }

  floatsAt(address: number): Float32Array {
    return (this.#pages[address >>> PAGE_WORDS_LOG2] as Page).floats;
  }

  shortsAt(address: number): Uint16Array {
    return (this.#pages[address >>> PAGE_WORDS_LOG2] as Page).shorts;
  }

  numberOffset(address: number): number {
    return address & PAGE_MASK;
  }

  integerOffset(address: number): number {
    return (address & PAGE_MASK) * 2;
  }

  /** The rest of the last page stays unused. */
  #addPage(): void {
    const buffer = new SharedArrayBuffer(8 * (PAGE_MASK + 1));
    this.#top = (this.#pages.length << PAGE_WORDS_LOG2) + MARGIN_WORDS;
    this.#pages.push({
      numbers: new Float64Array(buffer),
      floats: new Float32Array(buffer),
      integers: new Int32Array(buffer),
      shorts: new Uint16Array(buffer),
    });
  }
}

/** Rounds a number of words up to its size class. */
function sizeOf(words: number): number {
  const step = 2 ** Math.max(0, 31 - Math.clz32(words) - SIZES_LOG2);
  return Math.ceil(words / step) * step;
}
