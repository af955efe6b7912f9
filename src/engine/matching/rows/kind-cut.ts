/**
 * Cuts by the kinds of property that rows accept: by type, transaction and what else they need. The shares of French
 * adverts steer speed, never answers.
 */

import { COLUMN_NEEDS, NEEDS_COHERENT_PRICE, NEEDS_RENT, NEEDS_SALE } from '../needs.ts';
import { CODE_MAX, CODE_MIN } from './quantiser.ts';

/** Kinds of property that a row accepts: its `TYPES`, and a bit for a sale, a rent and an unknown transaction. */
export const ACCEPTS_SALE = 0x100;
export const ACCEPTS_RENT = 0x200;
export const ACCEPTS_UNKNOWN_TRANSACTION = 0x400;

export function acceptsOf(types: number, needs: number): number {
  if ((needs & NEEDS_SALE) !== 0) return types | ACCEPTS_SALE;
  if ((needs & NEEDS_RENT) !== 0) return types | ACCEPTS_RENT;
  return types | ACCEPTS_SALE | ACCEPTS_RENT | ACCEPTS_UNKNOWN_TRANSACTION;
}

/** Shares of French adverts by type code, then of unknown type. */
const TYPE_SHARES = [0.5, 0.3, 0.02, 0.04, 0.03, 0.07, 0.03, 0.01];
/** The share of properties that have one of the types, for every set of types. */
const SET_SHARES = Float64Array.from({ length: 1 << TYPE_SHARES.length }, (_, set) =>
  TYPE_SHARES.reduce((sum, share, code) => sum + ((set >> code) & 1) * share, 0),
);
const SALE_SHARE = 0.65;
/** The share of properties that meet any other need. */
const NEED_SHARE = 0.5;
/** Apartments, houses, both, land, any other single type. */
export const TYPE_SETS = [1, 2, 3, 32, 4, 8, 16, 64];

export function shareOf(accepted: number): number {
  const types = SET_SHARES[accepted % SET_SHARES.length] as number;
  const sales = (accepted & ACCEPTS_SALE) !== 0 ? SALE_SHARE : 0;
  return types * (sales + ((accepted & ACCEPTS_RENT) !== 0 ? 1 - SALE_SHARE : 0));
}

/** Tells rows that have this need from others, or, where it is 0, those that accept no other types than these. */
export interface KindCut {
  readonly need: number;
  readonly types: number;
}

const OTHER_NEEDS = COLUMN_NEEDS & ~(NEEDS_SALE | NEEDS_RENT | NEEDS_COHERENT_PRICE);

export const KIND_CUTS: readonly KindCut[] = [
  ...bitsOf(COLUMN_NEEDS & ~NEEDS_COHERENT_PRICE).map((need) => ({ need, types: 0 })),
  ...TYPE_SETS.map((types) => ({ need: 0, types })),
];

function bitsOf(all: number): number[] {
  const bits: number[] = [];
  for (let bit = 1; bit <= all; bit *= 2) if ((all & bit) !== 0) bits.push(bit);
  return bits;
}

export function isOfKind(cut: KindCut, types: number, needs: number): boolean {
  return cut.need !== 0 ? (needs & cut.need) !== 0 : (types & ~cut.types) === 0;
}

/** What distinguishes rows, by position; `accepts`: see `acceptsOf`. */
export interface RowKinds {
  readonly types: Uint8Array;
  readonly needs: Uint16Array;
  readonly accepts: Uint16Array;
}

/** Rows tested after the cut for each tested before it. */
export function costOfKinds(cut: KindCut, { types, needs, accepts }: RowKinds, rows: Uint16Array): number {
  let left = 0;
  let leftAccepted = 0;
  let leftNeeded = COLUMN_NEEDS;
  let rightAccepted = 0;
  let rightNeeded = COLUMN_NEEDS;
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] as number;
    const needed = needs[row] as number;
    if (isOfKind(cut, types[row] as number, needed)) {
      rightAccepted |= accepts[row] as number;
      rightNeeded &= needed;
    } else {
      left += 1;
      leftAccepted |= accepts[row] as number;
      leftNeeded &= needed;
    }
  }
  const right = rows.length - left;
  if (left === 0 || right === 0) return Infinity;
  const before = rows.length * visitShare(leftAccepted | rightAccepted, leftNeeded & rightNeeded);
  return (left * visitShare(leftAccepted, leftNeeded) + right * visitShare(rightAccepted, rightNeeded)) / before;
}

/** The share of properties with all these needs among those that visit the rows. */
function visitShare(accepted: number, needed: number): number {
  let share = shareOf(accepted);
  for (let bits = needed & OTHER_NEEDS; bits !== 0; bits &= bits - 1) share *= NEED_SHARE;
  return share;
}

const CODES = 256;

/** Columns of codes side by side, a minimum and a maximum by turns; every second pair is one measure. */
interface BoundColumns {
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
  /** Whether any row has a bound in the column. */
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

  /** The share of values that keep this bound. */
  passingShare(column: number, code: number): number {
    const first = (column >> 1) * CODES - CODE_MIN;
    if ((column & 1) === 0) return code === CODE_MIN ? 1 : 1 - (this.#shares[first + code - 1] as number);
    return code === CODE_MAX ? 1 : (this.#shares[first + code] as number);
  }
}

/**
 * Sorted by their maximums, the lower half of the rows is irrelevant to every property beyond the largest of theirs: a
 * cut saves the share of properties beyond it. The rows themselves approximate the distribution of properties: people
 * search for what exists. * Finds the cheapest cut of those rows along the column, at a multiple of `step` rows, of one
 * only between different codes; `cut.cost` is infinite when there is none.
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
