/** The words of a criteria record, see `criteria-record`: a head of integers, bounds, circle, list codes, polygons' address. */

import {
  type CriterionSet,
  isOfAdverts,
  isOfProperty,
  plainCriteria,
  type RowOf,
} from '../../domain/criterion-table.ts';
import type { Circle } from '../../domain/geo.ts';
import { bitOfCriterion } from '../../domain/unknown-criteria.ts';
import { MEASURES } from '../rows/quantiser.ts';

const OTHER_RANGES = plainCriteria('range').filter((row) => !MEASURES.some(({ name }) => name === row.name));

/** In the order of the bound bits: those with columns, then others of the property, then those of adverts. */
export const RANGES: readonly RowOf<'range'>[] = [
  ...MEASURES,
  ...OTHER_RANGES.filter(isOfProperty),
  ...OTHER_RANGES.filter(isOfAdverts),
];
export const RANGE_CRITERIA = RANGES.map(({ name }) => bitOfCriterion(name));

/** Whether the record and its rows have the bounds of that range, rather than its `conditions`. */
export function isRecorded(range: number, orMissing: CriterionSet): boolean {
  return range < MEASURES.length && (orMissing & (RANGE_CRITERIA[range] as number)) === 0;
}

/** Integers of the head. */
export const FLAGS = 0;
/** The accepted types and, from bit `NEEDS_SHIFT` on, the needs (see `needs`). */
export const KINDS = 1;
export const NEEDS_SHIFT = 8;
export const EXPRESSION = 2;
export const LIST_COUNTS = 3;
/** The address of its `conditions`; 0 for none. */
export const CONDITIONS = 5;
/** Eight bytes each, like everything after the head but the list codes. */
export const HEAD_WORDS = 3;

/** The lists in order: word and bits of `LIST_COUNTS` that hold their lengths, and the table of their texts. */
export const LISTS = [
  { name: 'inseeCodes', ...counted(0, 0, 16), table: 'insee' },
  { name: 'departments', ...counted(1, 0, 8), table: 'departments' },
  { name: 'zipcodes', ...counted(0, 16, 16), table: 'zipcodes' },
  { name: 'excludedInseeCodes', ...counted(1, 8, 16), table: 'insee' },
] as const;
export type ListName = (typeof LISTS)[number]['name'];
export const INSEE_CODES = 0;
export const DEPARTMENTS = 1;
export const ZIPCODES = 2;
export const EXCLUDED_INSEE_CODES = 3;

function counted(integer: number, shift: number, bits: number) {
  return { integer, shift, max: 2 ** bits - 1 };
}

/** `FLAGS`: a bit for each bound of the `MEASURES`, minimum first, then these. */
export const BOUND_BITS = 2 * MEASURES.length;
const BOUNDS_MASK = 2 ** BOUND_BITS - 1;
/** The search also accepts properties without a text. */
export const ACCEPTS_NO_TEXT = 1 << 26;
export const HAS_CIRCLE = 1 << 28;
export const HAS_SHAPES = 1 << 29;
/** Only the areas are recorded, or not even these: see `criteria-record`. */
export const IS_PARTIAL = 1 << 30;
if (BOUNDS_MASK >= ACCEPTS_NO_TEXT)
  throw new RangeError(`${MEASURES.length} measures do not fit the flags of a record`);

export const CIRCLE_WORDS = 3;

/** `start`: the first of its `CIRCLE_WORDS`. */
export function readCircle(numbers: Float64Array, start: number): Circle {
  return {
    lat: numbers[start] as number,
    lon: numbers[start + 1] as number,
    radiusKm: numbers[start + 2] as number,
  };
}

/** The number of entries in one of the lists. */
export function countOf(integers: Int32Array, head: number, list: number): number {
  const { integer, shift, max } = LISTS[list] as (typeof LISTS)[number];
  return ((integers[head + LIST_COUNTS + integer] as number) >>> shift) & max;
}

/** The word of the address of the polygons, of a record that `HAS_SHAPES`: the one after the codes of the lists. */
export function shapesWordOf(integers: Int32Array, head: number): number {
  let codes = 0;
  for (let list = 0; list < LISTS.length; list++) codes += countOf(integers, head, list);
  return listsOffset(integers[head + FLAGS] as number) + ((codes + 1) >> 1);
}

/** The address of the polygons of a record that `HAS_SHAPES`. */
export function shapesOf(integers: Int32Array, head: number): number {
  return integers[head + 2 * shapesWordOf(integers, head)] as number;
}

/** The length of a record, in words. */
export function wordsOf(integers: Int32Array, head: number): number {
  return shapesWordOf(integers, head) + (((integers[head + FLAGS] as number) & HAS_SHAPES) === 0 ? 0 : 1);
}

/** Words before the codes of the lists. */
export function listsOffset(flags: number): number {
  let words = HEAD_WORDS + ((flags & HAS_CIRCLE) === 0 ? 0 : CIRCLE_WORDS);
  for (let bounds = flags & BOUNDS_MASK; bounds !== 0; bounds &= bounds - 1) words += 1;
  return words;
}
