/** The layout of a record (`criteria-record`): a head of integers, then any limits, circle, list codes, addresses. */

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

/** Ranges in the order of their bits: those with columns, then others of the property, then those of adverts. */
export const RANGES: readonly RowOf<'range'>[] = [
  ...MEASURES,
  ...OTHER_RANGES.filter(isOfProperty),
  ...OTHER_RANGES.filter(isOfAdverts),
];
export const RANGE_CRITERIA = RANGES.map(({ name }) => bitOfCriterion(name));

/** Whether the limits of a range are in the record and its rows instead of in its `conditions`. */
export function isRecorded(range: number, orMissing: CriterionSet): boolean {
  return range < MEASURES.length && (orMissing & (RANGE_CRITERIA[range] as number)) === 0;
}

/** Positions of the integers in the head. */
export const FLAGS = 0;
/** The accepted types and, from bit `NEEDS_SHIFT` on, the needs (`needs.ts`). */
export const KINDS = 1;
export const NEEDS_SHIFT = 8;
export const EXPRESSION = 2;
export const LIST_COUNTS = 3;
/** The address of the `conditions`; 0 for none. */
export const CONDITIONS = 5;
/** In words of eight bytes. After the head, a limit is one word, a circle three, and a code or address half a word. */
export const HEAD_WORDS = 3;

/** The lists in order. Each has the integer and bits of `LIST_COUNTS` with its length, and the table of its codes. */
export const LISTS = [
  { name: 'inseeCodes', ...counterField(0, 0, 16), table: 'insee' },
  { name: 'departments', ...counterField(1, 0, 8), table: 'departments' },
  { name: 'zipcodes', ...counterField(0, 16, 16), table: 'zipcodes' },
] as const;
export type ListName = (typeof LISTS)[number]['name'];
export const INSEE_CODES = 0;
export const DEPARTMENTS = 1;
export const ZIPCODES = 2;

function counterField(integer: number, shift: number, bits: number) {
  return { integer, shift, max: 2 ** bits - 1 };
}

/** `FLAGS` has a bit for each limit of the `MEASURES`, each minimum before its maximum, and then the following bits. */
export const BOUND_BITS = 2 * MEASURES.length;
const BOUNDS_MASK = 2 ** BOUND_BITS - 1;
/** Set if the search also accepts properties without a text. */
export const ACCEPTS_NO_TEXT = 1 << 26;
/** Set if the search excludes areas, which have a separate record. */
export const HAS_EXCLUDED = 1 << 27;
export const HAS_CIRCLE = 1 << 28;
export const HAS_SHAPES = 1 << 29;
/** Set if the record is partial and has at most the areas (see `criteria-record`). */
export const IS_PARTIAL = 1 << 30;
if (BOUNDS_MASK >= ACCEPTS_NO_TEXT)
  throw new RangeError(`${MEASURES.length} measures overlap ACCEPTS_NO_TEXT. Move the flags.`);

export const CIRCLE_WORDS = 3;

/** `start` is the first of the `CIRCLE_WORDS` words. */
export function readCircle(numbers: Float64Array, start: number): Circle {
  return {
    lat: numbers[start] as number,
    lon: numbers[start + 1] as number,
    radiusKm: numbers[start + 2] as number,
  };
}

/** The number of entries in a list. */
export function countOf(integers: Int32Array, head: number, list: number): number {
  const { integer, shift, max } = LISTS[list] as (typeof LISTS)[number];
  return ((integers[head + LIST_COUNTS + integer] as number) >>> shift) & max;
}

const HAS_ADDRESSES = HAS_SHAPES | HAS_EXCLUDED;

/** The word after the codes of the lists. If there are polygons or excluded areas, it has their addresses. */
function addressesWordOf(integers: Int32Array, head: number): number {
  let codes = 0;
  for (let list = 0; list < LISTS.length; list++) codes += countOf(integers, head, list);
  return listsOffset(integers[head + FLAGS] as number) + ((codes + 1) >> 1);
}

/** The address of the polygons. Call it only for records with `HAS_SHAPES`. */
export function shapesOf(integers: Int32Array, head: number): number {
  return integers[head + 2 * addressesWordOf(integers, head)] as number;
}

/** The address of the record with the excluded areas. Call it only for records with `HAS_EXCLUDED`. */
export function excludedOf(integers: Int32Array, head: number): number {
  return integers[head + 2 * addressesWordOf(integers, head) + 1] as number;
}

/** The length of a record, in words. */
export function wordsOf(integers: Int32Array, head: number): number {
  return addressesWordOf(integers, head) + (((integers[head + FLAGS] as number) & HAS_ADDRESSES) === 0 ? 0 : 1);
}

/** Number of words before the codes of the lists. */
export function listsOffset(flags: number): number {
  let words = HEAD_WORDS + ((flags & HAS_CIRCLE) === 0 ? 0 : CIRCLE_WORDS);
  for (let bounds = flags & BOUNDS_MASK; bounds !== 0; bounds &= bounds - 1) words += 1;
  return words;
}
