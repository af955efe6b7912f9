/**
 * Rows that wait to be laid out all at once, with the code of their place: 52 bytes each. Laid out one by one, in the
 * order in which searches were made, every row would wait for another corner of the memory.
 */

import { BOUND_COLUMNS } from '../kernel/layout.ts';
import { createRow, type Row } from './row-groups.ts';
import { SharedMemory } from './shared-memory.ts';

/** In integers. */
const PLACE = 0;
const NUMBER = 1;
const ADDRESS = 2;
const EXPRESSION = 3;
/** `types`, `needs` and `attention`: eight, sixteen and eight bits. */
const KINDS = 4;
const BOUNDS = 5;
const LATITUDE = 8;
const LONGITUDE = 9;
const REACH = 10;
const SHAPES = 11;
const CONDITIONS = 12;
const ROW_INTEGERS = 13;
const SLAB_ROWS = 1024;

/** Rows handled between two steps: some microseconds, or a millisecond while the code is cold. */
const STEP_ROWS = 1024;

export class StagedRows {
  #memory: SharedMemory | null = null;
  #capacity = 0;
  #count = 0;
  #placesEnd = 0;
  readonly #row = createRow();

  get count(): number {
    return this.#count;
  }

  add(place: number, row: Row): void {
    const start = this.#append();
    const { integers, floats, codes } = this.#memory as SharedMemory;
    integers[start + PLACE] = place;
    integers[start + NUMBER] = row.number;
    integers[start + ADDRESS] = row.address;
    integers[start + EXPRESSION] = row.expression;
    integers[start + SHAPES] = row.shapes;
    integers[start + CONDITIONS] = row.conditions;
    integers[start + KINDS] = row.types | (row.needs << 8) | (row.attention << 24);
    for (let column = 0; column < BOUND_COLUMNS; column++) {
      codes[4 * (start + BOUNDS) + column] = row.bounds[column] as number;
    }
    floats[start + LATITUDE] = row.latitude;
    floats[start + LONGITUDE] = row.longitude;
    floats[start + REACH] = row.reach;
    if (place >= this.#placesEnd) this.#placesEnd = place + 1;
  }

  read(position: number, row: Row): void {
    const { integers } = this.#memory as SharedMemory;
    const start = position * ROW_INTEGERS;
    row.address = integers[start + ADDRESS] as number;
    row.expression = integers[start + EXPRESSION] as number;
    row.shapes = integers[start + SHAPES] as number;
    row.conditions = integers[start + CONDITIONS] as number;
    row.attention = (integers[start + KINDS] as number) >>> 24;
    this.readKeys(position, row);
  }

  /** Reads what distinguishes the row from others: number, kinds, bounds and area. */
  readKeys(position: number, row: Row): void {
    const { integers, floats, codes } = this.#memory as SharedMemory;
    const start = position * ROW_INTEGERS;
    const kinds = integers[start + KINDS] as number;
    row.number = integers[start + NUMBER] as number;
    row.types = kinds & 0xff;
    row.needs = (kinds >>> 8) & 0xffff;
    row.latitude = floats[start + LATITUDE] as number;
    row.longitude = floats[start + LONGITUDE] as number;
    row.reach = floats[start + REACH] as number;
    for (let column = 0; column < BOUND_COLUMNS; column++) {
      row.bounds[column] = codes[4 * (start + BOUNDS) + column] as number;
    }
  }

  /** The rows place by place; each group of them is only lent until the next. In short steps: null is one. */
  *byPlace(): Generator<{ readonly place: number; readonly rows: StagedRows } | null> {
    const { positions, ends } = yield* this.#sort();
    const rows = new StagedRows();
    let at = 0;
    for (let place = 0; place < this.#placesEnd; place++) {
      if (at === ends[place]) continue;
      rows.#count = 0;
      for (; at < (ends[place] as number); at++) rows.#copy(this, positions[at] as number);
      yield { place, rows };
    }
  }

  /** Moves those rows from `start` to `end` that belong right behind the others; returns where they begin. */
  *partition(start: number, end: number, isRight: (row: Row) => boolean): Generator<null, number> {
    let left = start;
    let right = end;
    for (let step = 1; left < right; step++) {
      this.readKeys(left, this.#row);
      if (isRight(this.#row)) this.#swap(left, --right);
      else left += 1;
      if (step % STEP_ROWS === 0) yield null;
    }
    return left;
  }

  /** The positions of all rows in order of place, and where those of each place end: a counting sort. */
  *#sort(): Generator<null, { positions: Int32Array; ends: Int32Array }> {
    const nexts = new Int32Array(this.#placesEnd + 1);
    for (let position = 0; position < this.#count; position++) {
      const after = this.#placeOf(position) + 1;
      nexts[after] = (nexts[after] as number) + 1;
      if (position % STEP_ROWS === 0) yield null;
    }
    for (let place = 1; place < nexts.length; place++) {
      nexts[place] = (nexts[place] as number) + (nexts[place - 1] as number);
    }
    const positions = new Int32Array(this.#count);
    for (let position = 0; position < this.#count; position++) {
      const place = this.#placeOf(position);
      const next = nexts[place] as number;
      positions[next] = position;
      nexts[place] = next + 1;
      if (position % STEP_ROWS === 0) yield null;
    }
    // Each place's next has come to where the place ends.
    return { positions, ends: nexts };
  }

  #placeOf(position: number): number {
    return (this.#memory as SharedMemory).integers[position * ROW_INTEGERS + PLACE] as number;
  }

  #copy(from: StagedRows, position: number): void {
    const start = this.#append();
    const { integers } = this.#memory as SharedMemory;
    const source = (from.#memory as SharedMemory).integers;
    const first = position * ROW_INTEGERS;
    for (let i = 0; i < ROW_INTEGERS; i++) integers[start + i] = source[first + i] as number;
  }

  #swap(a: number, b: number): void {
    const { integers } = this.#memory as SharedMemory;
    const left = a * ROW_INTEGERS;
    const right = b * ROW_INTEGERS;
    for (let i = 0; i < ROW_INTEGERS; i++) {
      const kept = integers[left + i] as number;
      integers[left + i] = integers[right + i] as number;
      integers[right + i] = kept;
    }
  }

  /** Makes room for one more row; returns where it begins. */
  #append(): number {
    this.#memory ??= new SharedMemory(0);
    if (this.#count === this.#capacity) {
      this.#memory.carve(4 * ROW_INTEGERS * SLAB_ROWS);
      this.#capacity += SLAB_ROWS;
    }
    return this.#count++ * ROW_INTEGERS;
  }
}
