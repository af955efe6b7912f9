/**
 * Chooses how to split a full leaf. The best split saves the most tests. A leaf costs as many tests as it has rows,
 * times the probability that a property is in its box and of an accepted kind. Rows of places have no box.
 */

import { NEEDS_RENT, NEEDS_SALE } from '../needs.ts';
import { type Box, writeBoxOfRow } from './area-geometry.ts';
import { acceptsOf, shareOf, TYPE_SETS } from './kind-cut.ts';
import { createRow, type Row } from './row-groups.ts';

/** The axes of splits. 0 means a leaf. */
export const AXIS_LATITUDE = 1;
export const AXIS_LONGITUDE = 2;
export const AXIS_REACH = 3;
/** `at` is a bit of `NEEDS`. */
export const AXIS_NEEDS = 4;
/** `at` is a set of types. Rows that accept no other types go right. */
export const AXIS_TYPES = 5;
/** `at` is the position of a bit in the search number. Limits the cost of a removal if no other split pays. */
export const AXIS_NUMBER = 6;

/** The values that axes compare. */
type AxisValues = Pick<Row, 'number' | 'types' | 'needs' | 'latitude' | 'longitude' | 'reach'>;

export function goesRight(axis: number, at: number, row: AxisValues): boolean {
  switch (axis) {
    case AXIS_LATITUDE:
      return row.latitude >= at;
    case AXIS_LONGITUDE:
      return row.longitude >= at;
    case AXIS_REACH:
      return row.reach >= at;
    case AXIS_NEEDS:
      return (row.needs & at) !== 0;
    case AXIS_TYPES:
      return (row.types & ~at) === 0;
    default:
      return ((row.number >>> at) & 1) !== 0;
  }
}

export interface ChosenSplit {
  readonly axis: number;
  readonly at: number;
}

/** A split must save at least this fraction of the expected cost. */
const GAIN_MIN = 0.1;
/** From this many rows on, a leaf is split by search number if no other split pays, so that finding a row is cheap. */
const ALIKE_ROWS_MAX = 256;
const SAMPLE_ROWS = 64;
const NUMBER_BITS = 31;

/** The sampled rows, column by column. */
const columns = {
  latitudes: new Float64Array(SAMPLE_ROWS),
  longitudes: new Float64Array(SAMPLE_ROWS),
  reaches: new Float64Array(SAMPLE_ROWS),
  boxes: new Float64Array(4 * SAMPLE_ROWS),
  accepts: new Int32Array(SAMPLE_ROWS),
  numbers: new Int32Array(SAMPLE_ROWS),
  needs: new Uint16Array(SAMPLE_ROWS),
  types: new Uint8Array(SAMPLE_ROWS),
  isRight: new Uint8Array(SAMPLE_ROWS),
  sorted: new Float64Array(SAMPLE_ROWS),
};
const keys = createRow();
const box: Box = { minX: 0, minY: 0, maxX: 0, maxY: 0 };

/** Evaluates the split that `isRight` describes. */
type Consider = (axis: number, at: number) => void;

/** Copies number, kinds and area of the row at `position` to `row`. */
export type ReadKeys = (position: number, row: Row) => void;

/** Chooses a split of `rowCount` rows; null if none pays. Of many rows, evaluates an evenly spaced sample. */
export function chooseSplit(readKeys: ReadKeys, rowCount: number, hasArea: boolean): ChosenSplit | null {
  const sampleCount = Math.min(rowCount, SAMPLE_ROWS);
  for (let i = 0; i < sampleCount; i++) {
    readKeys(Math.floor((i * rowCount) / sampleCount), keys);
    writeColumns(i, keys, hasArea);
  }
  const best = bestSplit(sampleCount, hasArea);
  return best === null && rowCount >= ALIKE_ROWS_MAX ? splitByNumber(sampleCount) : best;
}

function writeColumns(
  position: number,
  { number, types, needs, latitude, longitude, reach }: Row,
  hasArea: boolean,
): void {
  columns.numbers[position] = number;
  columns.types[position] = types;
  columns.needs[position] = needs;
  columns.accepts[position] = acceptsOf(types, needs);
  if (!hasArea) return;
  columns.latitudes[position] = latitude;
  columns.longitudes[position] = longitude;
  columns.reaches[position] = reach;
  writeBoxOfRow(latitude, longitude, reach, box);
  columns.boxes[4 * position] = box.minX;
  columns.boxes[4 * position + 1] = box.minY;
  columns.boxes[4 * position + 2] = box.maxX;
  columns.boxes[4 * position + 3] = box.maxY;
}

function bestSplit(rowCount: number, hasArea: boolean): ChosenSplit | null {
  columns.isRight.fill(0, 0, rowCount);
  const costBefore = costOfSide(0, rowCount, hasArea);
  let best: ChosenSplit | null = null;
  let bestCost = costBefore * (1 - GAIN_MIN);
  const consider: Consider = (axis, at) => {
    const cost = costOfSide(0, rowCount, hasArea) + costOfSide(1, rowCount, hasArea);
    if (cost >= bestCost) return;
    bestCost = cost;
    best = { axis, at };
  };
  for (const need of [NEEDS_SALE, NEEDS_RENT]) {
    for (let row = 0; row < rowCount; row++) columns.isRight[row] = (columns.needs[row] as number) & need ? 1 : 0;
    consider(AXIS_NEEDS, need);
  }
  for (const set of TYPE_SETS) {
    for (let row = 0; row < rowCount; row++)
      columns.isRight[row] = ((columns.types[row] as number) & ~set) === 0 ? 1 : 0;
    consider(AXIS_TYPES, set);
  }
  if (hasArea) {
    considerMiddle(AXIS_LATITUDE, columns.latitudes, rowCount, consider);
    considerMiddle(AXIS_LONGITUDE, columns.longitudes, rowCount, consider);
    considerMiddle(AXIS_REACH, columns.reaches, rowCount, consider);
  }
  return best;
}

/** Considers a split at the median, and a split at the next larger value. */
function considerMiddle(axis: number, values: Float64Array, rowCount: number, consider: Consider): void {
  const sorted = columns.sorted.subarray(0, rowCount);
  sorted.set(values.subarray(0, rowCount));
  sorted.sort();
  const middle = sorted[rowCount >> 1] as number;
  if (middle > (sorted[0] as number)) considerCut(axis, middle, values, rowCount, consider);
  let above = rowCount >> 1;
  while (above < rowCount && sorted[above] === middle) above += 1;
  if (above < rowCount) considerCut(axis, sorted[above] as number, values, rowCount, consider);
}

function considerCut(axis: number, at: number, values: Float64Array, rowCount: number, consider: Consider): void {
  for (let row = 0; row < rowCount; row++) columns.isRight[row] = (values[row] as number) >= at ? 1 : 0;
  consider(axis, at);
}

/** The number of rows on one side times the probability that a property visits that side. */
function costOfSide(side: number, rowCount: number, hasArea: boolean): number {
  const { boxes, accepts, isRight } = columns;
  let count = 0;
  let accepted = 0;
  let minX = Infinity;
  let minY = Infinity;
  let maxX = -Infinity;
  let maxY = -Infinity;
  for (let row = 0; row < rowCount; row++) {
    if (isRight[row] !== side) continue;
    count += 1;
    accepted |= accepts[row] as number;
    if (!hasArea) continue;
    minX = Math.min(minX, boxes[4 * row] as number);
    minY = Math.min(minY, boxes[4 * row + 1] as number);
    maxX = Math.max(maxX, boxes[4 * row + 2] as number);
    maxY = Math.max(maxY, boxes[4 * row + 3] as number);
  }
  if (count === 0) return 0;
  const area = hasArea ? (maxX - minX) * (maxY - minY) : 1;
  return count * area * shareOf(accepted);
}

/** Splits by the bit of the search numbers that divides the rows most evenly. */
function splitByNumber(rowCount: number): ChosenSplit | null {
  let best: ChosenSplit | null = null;
  let bestCount = 0;
  for (let bit = 0; bit < NUMBER_BITS; bit++) {
    let count = 0;
    for (let row = 0; row < rowCount; row++) count += ((columns.numbers[row] as number) >>> bit) & 1;
    const smaller = Math.min(count, rowCount - count);
    if (smaller <= bestCount) continue;
    bestCount = smaller;
    best = { axis: AXIS_NUMBER, at: bit };
  }
  return best;
}
