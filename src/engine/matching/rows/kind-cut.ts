/**
 * Cuts by the kinds of property that rows accept: by type, transaction and what else they need. The shares of French
 * adverts steer speed, never answers.
 */

import { COLUMN_NEEDS, NEEDS_COHERENT_PRICE, NEEDS_RENT, NEEDS_SALE } from '../needs.ts';

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
/** Of every set of types. */
const SET_SHARES = Float64Array.from({ length: 1 << TYPE_SHARES.length }, (_, set) =>
  TYPE_SHARES.reduce((sum, share, code) => sum + ((set >> code) & 1) * share, 0),
);
const SALE_SHARE = 0.65;
/** Of properties that provide any other need. */
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
