/**
 * The words of a criteria record, see `criteria-record`: a head of integers, bounds, what `home-criteria` keeps, circle,
 * list codes, polygons' address.
 */

import {
  type CriterionSet,
  isOfAdverts,
  isOfProperty,
  plainCriteria,
  type RowOf,
} from '../../domain/criterion-table.ts';
import type { Circle } from '../../domain/geo.ts';
import { bitOfCriterion } from '../../domain/unknown-criteria.ts';
import { hasNeeds } from '../needs.ts';
import { MEASURES } from '../rows/quantiser.ts';

const OTHER_RANGES = plainCriteria('range').filter((row) => !MEASURES.some(({ name }) => name === row.name));

/** In the order of the bound bits: those with columns, then others of the property, then those of adverts. */
export const RANGES: readonly RowOf<'range'>[] = [
  ...MEASURES,
  ...OTHER_RANGES.filter(isOfProperty),
  ...OTHER_RANGES.filter(isOfAdverts),
];
export const RANGE_CRITERIA = RANGES.map(({ name }) => bitOfCriterion(name));
export const PROPERTY_RANGES = RANGES.filter(isOfProperty);
export const ADVERT_RANGES = RANGES.filter(isOfAdverts);

/** Integers of the head. */
export const FLAGS = 0;
/** See `needs`. */
export const NEEDS = 1;
export const EXPRESSION = 2;
export const LIST_COUNTS = 3;
const CODES = 5;

/** The lists in order: word and bits of `LIST_COUNTS` that hold their lengths, and the table of their texts. */
export const LISTS = [
  { name: 'inseeCodes', ...counted(0, 0, 16), table: 'insee' },
  { name: 'departments', ...counted(1, 0, 8), table: 'departments' },
  { name: 'zipcodes', ...counted(0, 16, 16), table: 'zipcodes' },
  { name: 'excludedInseeCodes', ...counted(1, 8, 8), table: 'insee' },
  { name: 'includedCategories', ...counted(1, 16, 8), table: 'siteCategories' },
  { name: 'excludedCategories', ...counted(1, 24, 8), table: 'siteCategories' },
] as const;
export type ListName = (typeof LISTS)[number]['name'];
export const INSEE_CODES = 0;
export const DEPARTMENTS = 1;
export const ZIPCODES = 2;
export const EXCLUDED_INSEE_CODES = 3;
export const INCLUDED_CATEGORIES = 4;
export const EXCLUDED_CATEGORIES = 5;

function counted(integer: number, shift: number, bits: number) {
  return { integer, shift, max: 2 ** bits - 1 };
}

/** `FLAGS`: a bit for each bound, minimum first, then these. */
export const BOUND_BITS = 2 * RANGES.length;
/** The first bounds are those that the property itself must keep. */
export const PROPERTY_BOUND_BITS = 2 * PROPERTY_RANGES.length;
const BOUNDS_MASK = 2 ** BOUND_BITS - 1;
/** It has the words of `home-criteria`. */
export const HAS_HOME = 1 << 27;
export const HAS_CIRCLE = 1 << 28;
export const HAS_SHAPES = 1 << 29;
/** Only the areas are recorded, or not even these: see `criteria-record`. */
export const IS_PARTIAL = 1 << 30;
if (BOUNDS_MASK >= HAS_HOME) throw new RangeError(`${RANGES.length} ranges do not fit the flags of a record`);
/** Those that no column has. */
export const UNCOLUMNED_BOUNDS = BOUNDS_MASK & ~(2 ** (2 * MEASURES.length) - 1);

/** A list of codes within one integer of the head: how many, then the codes in their order. */
export interface CodeList {
  readonly row: RowOf<'codes'>;
  readonly criterion: CriterionSet;
  readonly integer: number;
  readonly shift: number;
  readonly countBits: number;
  readonly codeBits: number;
  /** Longer lists are unusual. */
  readonly lengthMax: number;
  /** A single code is one of the needs as well. */
  readonly hasNeeds: boolean;
}

const INTEGER_BITS = 32;

export const CODE_LISTS = layOutCodes(plainCriteria('codes'));
const HEAD_INTEGERS = Math.max(...CODE_LISTS.map(({ integer }) => integer)) + 1;
/** Eight bytes each, like everything after the head but the list codes. */
export const HEAD_WORDS = Math.ceil(HEAD_INTEGERS / 2);

function layOutCodes(rows: readonly RowOf<'codes'>[]): readonly CodeList[] {
  let integer = CODES;
  let end = 0;
  return rows.map((row) => {
    const countBits = bitsFor(row.names.length);
    const codeBits = bitsFor(row.names.length - 1);
    const lengthMax = Math.min(row.names.length, Math.floor((INTEGER_BITS - countBits) / codeBits));
    const bits = countBits + lengthMax * codeBits;
    if (end + bits > INTEGER_BITS) {
      integer += 1;
      end = 0;
    }
    const shift = end;
    end += bits;
    const criterion = bitOfCriterion(row.name);
    return { row, criterion, integer, shift, countBits, codeBits, lengthMax, hasNeeds: hasNeeds(row) };
  });
}

function bitsFor(max: number): number {
  return INTEGER_BITS - Math.clz32(max);
}

export const TYPES_LIST = CODE_LISTS.find(({ row }) => row.name === 'propertyTypes') as CodeList;

/** Null with an unknown code, and for a list that is too long. */
export function packCodes(codes: readonly number[], { row, countBits, codeBits, lengthMax }: CodeList): number | null {
  if (codes.length > lengthMax) return null;
  let packed = codes.length;
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] as number;
    if (!Number.isInteger(code) || code < 0 || code >= row.names.length) return null;
    packed |= code << (countBits + i * codeBits);
  }
  return packed;
}

/** For `countIn` and `codeIn`. */
export function packedAt(integers: Int32Array, head: number, { integer, shift }: CodeList): number {
  return (integers[head + integer] as number) >>> shift;
}

export function countIn(packed: number, { countBits }: CodeList): number {
  return packed & ((1 << countBits) - 1);
}

export function codeIn(packed: number, position: number, { countBits, codeBits }: CodeList): number {
  return (packed >>> (countBits + position * codeBits)) & ((1 << codeBits) - 1);
}

/** Behind the bounds: few searches have them. */
export const HOME_WORDS = 2;
export const CIRCLE_WORDS = 3;

/** `start`: the first of its `CIRCLE_WORDS`. */
export function readCircle(numbers: Float64Array, start: number): Circle {
  return {
    lat: numbers[start] as number,
    lon: numbers[start + 1] as number,
    radiusKm: numbers[start + 2] as number,
  };
}

/** Entries of one of the lists. */
export function countOf(integers: Int32Array, head: number, list: number): number {
  const { integer, shift, max } = LISTS[list] as (typeof LISTS)[number];
  return ((integers[head + LIST_COUNTS + integer] as number) >>> shift) & max;
}

/** Codes of the three lists of places, which come first. */
export function placeCodesOf(integers: Int32Array, head: number): number {
  return (
    countOf(integers, head, INSEE_CODES) + countOf(integers, head, DEPARTMENTS) + countOf(integers, head, ZIPCODES)
  );
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

/** The first integer of the words of a record that `HAS_HOME`; `lists` as `listsOffset` counts it. */
export function homeOffset(flags: number, lists: number): number {
  return 2 * (lists - HOME_WORDS - ((flags & HAS_CIRCLE) === 0 ? 0 : CIRCLE_WORDS));
}

/** Words before the codes of the lists. */
export function listsOffset(flags: number): number {
  let words =
    HEAD_WORDS + ((flags & HAS_HOME) === 0 ? 0 : HOME_WORDS) + ((flags & HAS_CIRCLE) === 0 ? 0 : CIRCLE_WORDS);
  for (let bounds = flags & BOUNDS_MASK; bounds !== 0; bounds &= bounds - 1) words += 1;
  return words;
}
