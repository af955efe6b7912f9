/**
 * Rows that wait to be laid out all at once, with the code of their place: 48 bytes each. Laid out one by one, in the
 * order in which searches were made, every row would wait for another corner of the memory.
 */

import { BOUND_COLUMNS, type Row } from './row-groups.ts';

const PAGE_LOG2 = 14;
const PAGE_ROWS = 1 << PAGE_LOG2;

/** In integers. */
const PLACE = 0;
const NUMBER = 1;
const ADDRESS = 2;
const EXPRESSION = 3;
/** `types`, `needs` and `attention`, a byte each. */
const KINDS = 4;
const BOUNDS = 5;
const LATITUDE = 8;
const LONGITUDE = 9;
const REACH = 10;
const ROW_INTEGERS = 12;

/** Rows handled between two steps: some tenths of a millisecond. */
const STEP_ROWS = 8192;

interface Page {
  readonly integers: Int32Array;
  readonly floats: Float32Array;
  readonly codes: Int8Array;
}

export class StagedRows {
  readonly #pages: Page[] = [];
  #count = 0;
  #placesEnd = 0;

  get count(): number {
    return this.#count;
  }

  add(place: number, row: Row): void {
    const position = this.#count++;
    if (position >>> PAGE_LOG2 === this.#pages.length) this.#pages.push(createPage());
    const { integers, floats, codes } = this.#pages[position >>> PAGE_LOG2] as Page;
    const start = (position & (PAGE_ROWS - 1)) * ROW_INTEGERS;
    integers[start + PLACE] = place;
    integers[start + NUMBER] = row.number;
    integers[start + ADDRESS] = row.address;
    integers[start + EXPRESSION] = row.expression;
    integers[start + KINDS] = row.types | (row.needs << 8) | (row.attention << 16);
    for (let column = 0; column < BOUND_COLUMNS; column++) {
      codes[4 * (start + BOUNDS) + column] = row.bounds[column] as number;
    }
    floats[start + LATITUDE] = row.latitude;
    floats[start + LONGITUDE] = row.longitude;
    floats[start + REACH] = row.reach;
    if (place >= this.#placesEnd) this.#placesEnd = place + 1;
  }

  placeOf(position: number): number {
    const { integers } = this.#pages[position >>> PAGE_LOG2] as Page;
    return integers[(position & (PAGE_ROWS - 1)) * ROW_INTEGERS + PLACE] as number;
  }

  read(position: number, row: Row): void {
    const { integers, codes } = this.#pages[position >>> PAGE_LOG2] as Page;
    const start = (position & (PAGE_ROWS - 1)) * ROW_INTEGERS;
    row.address = integers[start + ADDRESS] as number;
    row.expression = integers[start + EXPRESSION] as number;
    row.attention = (integers[start + KINDS] as number) >>> 16;
    for (let column = 0; column < BOUND_COLUMNS; column++) {
      row.bounds[column] = codes[4 * (start + BOUNDS) + column] as number;
    }
    this.readKeys(position, row);
  }

  /** Reads what tells the row from others: number, kinds and area. */
  readKeys(position: number, row: Row): void {
    const { integers, floats } = this.#pages[position >>> PAGE_LOG2] as Page;
    const start = (position & (PAGE_ROWS - 1)) * ROW_INTEGERS;
    const kinds = integers[start + KINDS] as number;
    row.number = integers[start + NUMBER] as number;
    row.types = kinds & 0xff;
    row.needs = (kinds >>> 8) & 0xff;
    row.latitude = floats[start + LATITUDE] as number;
    row.longitude = floats[start + LONGITUDE] as number;
    row.reach = floats[start + REACH] as number;
  }

  /** The positions of all rows, in order of place, in short steps: a counting sort. */
  *sort(): Generator<void, Int32Array> {
    const next = new Int32Array(this.#placesEnd + 1);
    for (let position = 0; position < this.#count; position++) {
      const place = this.placeOf(position) + 1;
      next[place] = (next[place] as number) + 1;
      if (position % STEP_ROWS === 0) yield;
    }
    for (let place = 1; place < next.length; place++)
      next[place] = (next[place] as number) + (next[place - 1] as number);
    const sorted = new Int32Array(this.#count);
    for (let position = 0; position < this.#count; position++) {
      const place = this.placeOf(position);
      const at = next[place] as number;
      sorted[at] = position;
      next[place] = at + 1;
      if (position % STEP_ROWS === 0) yield;
    }
    return sorted;
  }

  /**
   * Reorders `positions` from `start` to `end`, those of which `isRight` says so last, in short steps; returns where they
   * begin.
   */
  *partition(
    positions: Int32Array,
    start: number,
    end: number,
    isRight: (position: number) => boolean,
  ): Generator<void, number> {
    let left = start;
    let right = end;
    for (let steps = 1; left < right; steps++) {
      const position = positions[left] as number;
      if (isRight(position)) {
        right -= 1;
        positions[left] = positions[right] as number;
        positions[right] = position;
      } else {
        left += 1;
      }
      if (steps % STEP_ROWS === 0) yield;
    }
    return left;
  }
}

/** Shared for the reason given in `row-groups`. */
function createPage(): Page {
  const buffer = new SharedArrayBuffer(4 * ROW_INTEGERS * PAGE_ROWS);
  return { integers: new Int32Array(buffer), floats: new Float32Array(buffer), codes: new Int8Array(buffer) };
}
