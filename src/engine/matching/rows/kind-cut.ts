/**
 * The kinds of property (types and transactions) that rows accept. The shares of French adverts in this file affect
 * only the speed, not the answers.
 */

import { NEEDS_RENT, NEEDS_SALE } from '../needs.ts';

/** The kinds that a row accepts are its `TYPES` and these bits for sale, rent and an unknown transaction. */
export const ACCEPTS_SALE = 0x100;
export const ACCEPTS_RENT = 0x200;
export const ACCEPTS_UNKNOWN_TRANSACTION = 0x400;

export function acceptsOf(types: number, needs: number): number {
  if ((needs & NEEDS_SALE) !== 0) return types | ACCEPTS_SALE;
  if ((needs & NEEDS_RENT) !== 0) return types | ACCEPTS_RENT;
  return types | ACCEPTS_SALE | ACCEPTS_RENT | ACCEPTS_UNKNOWN_TRANSACTION;
}

/** Shares of French adverts by the code of the type. The last share is that of an unknown type. */
const TYPE_SHARES = [0.5, 0.3, 0.02, 0.04, 0.03, 0.07, 0.03, 0.01];
/** For every set of types, the share of adverts whose type is in the set. */
const SET_SHARES = Float64Array.from({ length: 1 << TYPE_SHARES.length }, (_, set) =>
  TYPE_SHARES.reduce((sum, share, code) => sum + ((set >> code) & 1) * share, 0),
);
const SALE_SHARE = 0.65;
/** The sets of types by which trees can be split: apartments, houses, both, land, and each other type. */
export const TYPE_SETS = [1, 2, 3, 32, 4, 8, 16, 64];

export function shareOf(accepted: number): number {
  const types = SET_SHARES[accepted % SET_SHARES.length] as number;
  const sales = (accepted & ACCEPTS_SALE) !== 0 ? SALE_SHARE : 0;
  return types * (sales + ((accepted & ACCEPTS_RENT) !== 0 ? 1 - SALE_SHARE : 0));
}
