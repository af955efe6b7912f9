/**
 * Where to cut rows along one column of bounds. Sorted by their maximums, the lower half of the rows is irrelevant to
 * every property beyond the largest of theirs: a cut saves the share of properties beyond it. The rows themselves
 * approximate the distribution of properties: people search for what exists.
 */

import { CODE_MAX, CODE_MIN } from './quantiser.ts';

const CODES = 256;

/** Columns of codes side by side, a minimum and a maximum by turns; every second pair is one measure. */
export interface BoundColumns {
  readonly codes: Int8Array;
  /** From one column to the next. */
  readonly stride: number;
}

export interface BoundCut {
  /** Rows tested after the cut for each tested before it. */
  cost: number;
  /** Rows before the cut, and the code of the first one behind it. */
  position: number;
  code: number;
}

/** Rows by code; zeros between two calls. */
const counts = new Int32Array(CODES);

/** For each measure and code the share of values at most that; see `passingShare`. */
export class ValueShares {
  readonly #shares: Float64Array;
  /** Of the columns, whether any row has such a bound. */
  readonly #isBounded: Uint8Array;

  constructor(columnCount: number) {
    this.#shares = new Float64Array((columnCount >> 1) * CODES);
    this.#isBounded = new Uint8Array(columnCount);
  }

  /** Takes the bounds of the rows for values. */
  read({ codes, stride }: BoundColumns, columnCount: number, rowCount: number): void {
    for (let column = 0; column < columnCount; column += 2) {
      const first = (column >> 1) * CODES;
      const shares = this.#shares.subarray(first, first + CODES).fill(0);
      let total = 0;
      for (let side = column; side < column + 2; side++) {
        const unbounded = side === column ? CODE_MIN : CODE_MAX;
        let bounded = 0;
        for (let row = 0; row < rowCount; row++) {
          const code = codes[side * stride + row] as number;
          if (code === unbounded) continue;
          bounded += 1;
          shares[code - CODE_MIN] = (shares[code - CODE_MIN] as number) + 1;
        }
        this.#isBounded[side] = bounded > 0 ? 1 : 0;
        total += bounded;
      }
      let sum = 0;
      for (let code = 0; total > 0 && code < CODES; code++) shares[code] = (sum += shares[code] as number) / total;
    }
  }

  /** Takes values to be anywhere alike. */
  spread(column: number): void {
    const first = (column >> 1) * CODES;
    for (let code = 0; code < CODES; code++) this.#shares[first + code] = code / (CODES - 1);
    this.#isBounded[column] = this.#isBounded[column + 1] = 1;
  }

  isBounded(column: number): boolean {
    return this.#isBounded[column] === 1;
  }

  /** Of values that keep this bound. */
  passingShare(column: number, code: number): number {
    const first = (column >> 1) * CODES - CODE_MIN;
    if ((column & 1) === 0) return code === CODE_MIN ? 1 : 1 - (this.#shares[first + code - 1] as number);
    return code === CODE_MAX ? 1 : (this.#shares[first + code] as number);
  }
}

/**
 * Finds the cheapest cut of those rows along the column, at a multiple of `step` rows, of one only between different
 * codes; `cut.cost` is infinite when there is none.
 */
export function findBoundCut(
  { codes, stride }: BoundColumns,
  shares: ValueShares,
  column: number,
  rows: Uint16Array,
  step: number,
  cut: BoundCut,
): void {
  const start = column * stride;
  cut.cost = Infinity;
  let lowest = CODES;
  let highest = -1;
  for (let i = 0; i < rows.length; i++) {
    const code = (codes[start + (rows[i] as number)] as number) - CODE_MIN;
    counts[code] = (counts[code] as number) + 1;
    if (code < lowest) lowest = code;
    if (code > highest) highest = code;
  }
  const isMinimum = (column & 1) === 0;
  // All rows are tested whenever their loosest bound is kept.
  const loosest = shares.passingShare(column, (isMinimum ? lowest : highest) + CODE_MIN);
  let before = 0;
  let previous = lowest;
  for (let code = lowest; code <= highest; code++) {
    const count = counts[code] as number;
    if (count === 0) continue;
    counts[code] = 0;
    const end = step === 1 ? before + 1 : before + count;
    for (let at = Math.max(1, Math.ceil(before / step)) * step; at < end; at += step) {
      const tightest = isMinimum ? code : at === before ? previous : code;
      const share = shares.passingShare(column, tightest + CODE_MIN);
      const tight = isMinimum ? rows.length - at : at;
      const cost = loosest === 0 ? 1 : (tight * share + (rows.length - tight) * loosest) / (rows.length * loosest);
      if (cost >= cut.cost) continue;
      cut.cost = cost;
      cut.position = at;
      cut.code = code + CODE_MIN;
    }
    before += count;
    previous = code;
  }
}
