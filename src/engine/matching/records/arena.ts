/**
 * Stores records of variable size in pages. An address is a position in words, never 0. The space of a freed record is
 * kept in a list of its size class, and reused for a record of that class. Records never move, so no change of the
 * index waits for a reorganisation. Pages are shared buffers, for the reason that `shared-memory` gives.
 */

/** Pages of four megabytes: they are few, so pointers to them stay cached. Unwritten parts take no memory. */
const PAGE_WORDS_LOG2 = 19;
/** Number of words in a cache line. */
export const LINE_WORDS = 8;
/** Words skipped to align records to cache lines, because the allocator puts two words before each buffer. */
const MARGIN_WORDS = LINE_WORDS - 2;
const PAGE_MASK = 2 ** PAGE_WORDS_LOG2 - 1;
/** Default maximum size of a record, 128 kB. */
const WORDS_MAX = 1 << 14;
/**
 * There are sixteen size classes per doubling. If a client saves and deletes records of every possible size, a few
 * megabytes stay unused. With a class for each size, the memory of all these records would stay unused.
 */
const SIZES_LOG2 = 4;

interface Page {
  readonly numbers: Float64Array;
  readonly floats: Float32Array;
  /** The same memory, two integers per word. */
  readonly integers: Int32Array;
  /** The same memory, four 16-bit integers per word. */
  readonly shorts: Uint16Array;
}

export class RecordArena {
  readonly #pages: Page[] = [];
  /** Maximum number of words (eight bytes) in a record: a size class, at most half a page. */
  readonly wordsMax: number;
  /** By size, the first free record. Its first integer is the address of the next free record, or -1. */
  readonly #free: Int32Array;
  #top = 0;

  constructor(wordsMax = WORDS_MAX) {
    this.wordsMax = wordsMax;
    this.#free = new Int32Array(wordsMax + 1).fill(-1);
  }

  get bytes(): number {
    return this.#top * 8;
  }

  /** Allocates `words` words, at most `wordsMax`, within one page. Returns their address. */
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

  /** `words` must be the number that was passed to `allocate`. */
  free(address: number, words: number): void {
    const size = sizeOf(words);
    this.integersAt(address)[this.integerOffset(address)] = this.#free[size] as number;
    this.#free[size] = address;
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
