/**
 * The order of a leaf's rows: those that the same properties pass side by side, so that the groups of sixteen differ
 * as much as can be and most of them are ruled out for a property by their zone alone. The rows are cut in two, along
 * whatever spares most tests, and each part again until it is a group.
 */

import { BOUND_COLUMNS, LANES } from '../kernel/layout.ts';
import type { Box } from './area-geometry.ts';
import {
  type BoundCut,
  costOfKinds,
  findBoundCut,
  isOfKind,
  KIND_CUTS,
  type KindCut,
  ValueShares,
} from './kind-cut.ts';
import { CODE_MAX, CODE_MIN } from './quantiser.ts';

export const ORDERED_ROWS_MAX = LANES * LANES;
/** A box is four bounds more: west and east, south and north. */
const BOX_COLUMNS = 4;
const COLUMNS = BOUND_COLUMNS + BOX_COLUMNS;
/** Codes of a box's sides, between the two codes of no bound. */
const BOX_CODES = CODE_MAX - CODE_MIN - 2;
/** A cut that leaves more of the tests than this is no use. */
const COST_MAX = 0.98;

/** The rows to order, by position: what `orderRows` compares. */
export const orderedRows = {
  bounds: { codes: new Int8Array(COLUMNS * ORDERED_ROWS_MAX), stride: ORDERED_ROWS_MAX },
  types: new Uint8Array(ORDERED_ROWS_MAX),
  needs: new Uint16Array(ORDERED_ROWS_MAX),
  accepts: new Uint16Array(ORDERED_ROWS_MAX),
  /** The areas' boxes, four integers each as in `Box`. */
  boxes: new Int32Array(BOX_COLUMNS * ORDERED_ROWS_MAX),
};

const shares = new ValueShares(COLUMNS);
const order = new Uint16Array(ORDERED_ROWS_MAX);
const sorted = new Uint16Array(ORDERED_ROWS_MAX);
const cut: BoundCut = { cost: 0, position: 0, code: 0 };

/** The positions of the `orderedRows` in their new order; lent until the next call. `box`: round all of them, if any. */
export function orderRows(rowCount: number, box: Box | null): Uint16Array {
  shares.read(orderedRows.bounds, BOUND_COLUMNS, rowCount);
  if (box !== null) writeBoxCodes(rowCount, box);
  for (let i = 0; i < rowCount; i++) order[i] = i;
  orderPart(0, rowCount, box === null ? BOUND_COLUMNS : COLUMNS);
  return order.subarray(0, rowCount);
}

function writeBoxCodes(rowCount: number, { minX, minY, maxX, maxY }: Box): void {
  const { bounds, boxes } = orderedRows;
  for (let side = 0; side < BOX_COLUMNS; side++) {
    const isX = side < 2;
    const low = isX ? minX : minY;
    const scale = BOX_CODES / Math.max(1, (isX ? maxX : maxY) - low);
    // Boxes have both minimums first.
    const integer = (side >> 1) + 2 * (side & 1);
    const column = (BOUND_COLUMNS + side) * bounds.stride;
    for (let row = 0; row < rowCount; row++) {
      bounds.codes[column + row] =
        CODE_MIN + 1 + Math.round(((boxes[BOX_COLUMNS * row + integer] as number) - low) * scale);
    }
  }
  shares.spread(BOUND_COLUMNS);
  shares.spread(BOUND_COLUMNS + 2);
}

function orderPart(start: number, end: number, columnCount: number): void {
  const groups = Math.ceil((end - start) / LANES);
  if (groups <= 1) return;
  const rows = order.subarray(start, end);
  let bestCost = COST_MAX;
  let bestColumn = -1;
  let position = 0;
  for (let column = 0; column < columnCount; column++) {
    if (!shares.isBounded(column)) continue;
    findBoundCut(orderedRows.bounds, shares, column, rows, LANES, cut);
    if (cut.cost >= bestCost) continue;
    bestCost = cut.cost;
    bestColumn = column;
    position = cut.position;
  }
  const kind = bestKindCut(rows, bestCost);
  if (kind !== null) {
    position = sortByKind(rows, kind);
  } else if (bestColumn >= 0) {
    sortByBound(rows, bestColumn);
  } else {
    return;
  }
  orderPart(start, start + position, columnCount);
  orderPart(start + position, end, columnCount);
}

/** The cut of least cost, if that is below `costMax`. */
function bestKindCut(rows: Uint16Array, costMax: number): KindCut | null {
  const { types, needs } = orderedRows;
  let best: KindCut | null = null;
  let bestCost = costMax;
  const first = rows[0] as number;
  let variousTypes = 0;
  let variousNeeds = 0;
  for (let i = 1; i < rows.length; i++) {
    const row = rows[i] as number;
    variousTypes |= (types[row] as number) ^ (types[first] as number);
    variousNeeds |= (needs[row] as number) ^ (needs[first] as number);
  }
  for (const kind of KIND_CUTS) {
    if (kind.need === 0 ? variousTypes === 0 : (variousNeeds & kind.need) === 0) continue;
    const cost = costOfKinds(kind, orderedRows, rows);
    if (cost >= bestCost) continue;
    bestCost = cost;
    best = kind;
  }
  return best;
}

/** Moves the rows of that kind behind the others; returns the number of rows before the nearest border of groups. */
function sortByKind(rows: Uint16Array, kind: KindCut): number {
  const { types, needs } = orderedRows;
  let left = 0;
  let moved = 0;
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] as number;
    if (isOfKind(kind, types[row] as number, needs[row] as number)) sorted[moved++] = row;
    else rows[left++] = row;
  }
  for (let i = 0; i < moved; i++) rows[left + i] = sorted[i] as number;
  const groups = Math.ceil(rows.length / LANES);
  return LANES * Math.max(1, Math.min(groups - 1, Math.round(left / LANES)));
}

const nexts = new Int32Array(CODE_MAX - CODE_MIN + 2);

/** A counting sort. */
function sortByBound(rows: Uint16Array, column: number): void {
  const { codes, stride } = orderedRows.bounds;
  const first = column * stride;
  nexts.fill(0);
  for (let i = 0; i < rows.length; i++) {
    const after = (codes[first + (rows[i] as number)] as number) - CODE_MIN + 1;
    nexts[after] = (nexts[after] as number) + 1;
  }
  for (let code = 1; code < nexts.length; code++) {
    nexts[code] = (nexts[code] as number) + (nexts[code - 1] as number);
  }
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] as number;
    const code = (codes[first + row] as number) - CODE_MIN;
    const next = nexts[code] as number;
    sorted[next] = row;
    nexts[code] = next + 1;
  }
  rows.set(sorted.subarray(0, rows.length));
}
