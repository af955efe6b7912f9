/** The words of a criteria record, see `criteria-record`: a head of integers, bounds, circle, list codes, polygons' address. */

import type { Criteria, Range } from '../../domain/criteria.ts';
import type { Circle } from '../../domain/geo.ts';

/** In the order of the bound bits; the first six are the `MEASURES` of rows, the last is `advertPrice`. */
export function rangesOf(criteria: Criteria): readonly Range[] {
  const { budget, pricePerMeter, surface, landSurface, room, bedroom, advertPrice } = criteria;
  return [budget, pricePerMeter, surface, landSurface, room, bedroom, advertPrice];
}

/** Integers of the head. */
export const FLAGS = 0;
/** See `packTypes`. */
export const TYPES = 1;
export const EXPRESSION = 2;
export const LIST_COUNTS = 3;
/** The length of the record, in words. */
export const WORDS = 5;
/** Eight bytes each, like everything after the head but the list codes. */
export const HEAD_WORDS = 3;

/** The lists in order: word and bits of `LIST_COUNTS` that hold their lengths. */
export const INSEE_CODES = 0;
export const DEPARTMENTS = 1;
export const ZIPCODES = 2;
export const EXCLUDED_INSEE_CODES = 3;
export const INCLUDED_CATEGORIES = 4;
export const EXCLUDED_CATEGORIES = 5;
export const COUNT_BITS = [
  { integer: 0, shift: 0, max: 0xffff },
  { integer: 1, shift: 0, max: 0xff },
  { integer: 0, shift: 16, max: 0xffff },
  { integer: 1, shift: 8, max: 0xff },
  { integer: 1, shift: 16, max: 0xff },
  { integer: 1, shift: 24, max: 0xff },
] as const;

/** `FLAGS`: a bit for each bound, minimum first, then these. */
export const BOUND_BITS = 14;
/** Those of `advertPrice`. */
export const ADVERT_PRICE_BITS = 3 << (BOUND_BITS - 2);
const BOUNDS_MASK = (1 << BOUND_BITS) - 1;
/** One more than the code, or 0. */
export const TRANSACTION_SHIFT = 14;
/** 1 unfurnished, 2 furnished, or 0. */
export const FURNISHED_SHIFT = 16;
export const IS_COHERENT = 1 << 18;
export const HAS_TOUR = 1 << 19;
export const HAS_CIRCLE = 1 << 20;
/** Only the areas are recorded, or not even these: see `criteria-record`. */
export const IS_PARTIAL = 1 << 21;
export const HAS_SHAPES = 1 << 22;
/** Position in `PUBLISHER_LISTS`. */
export const PUBLISHERS_SHIFT = 23;
export const PUBLISHER_LISTS: readonly (readonly number[])[] = [[], [0], [1], [0, 1], [1, 0]];

export const CIRCLE_WORDS = 3;
/** Types fit in three bits each. */
export const TYPES_MAX = 7;
const TYPE_BITS = 3;

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
  const { integer, shift, max } = COUNT_BITS[list] as (typeof COUNT_BITS)[number];
  return ((integers[head + LIST_COUNTS + integer] as number) >>> shift) & max;
}

/** Codes of the three lists of places, which come first. */
export function placeCodesOf(integers: Int32Array, head: number): number {
  return (
    countOf(integers, head, INSEE_CODES) + countOf(integers, head, DEPARTMENTS) + countOf(integers, head, ZIPCODES)
  );
}

export function allCodesOf(integers: Int32Array, head: number): number {
  return (
    placeCodesOf(integers, head) +
    countOf(integers, head, EXCLUDED_INSEE_CODES) +
    countOf(integers, head, INCLUDED_CATEGORIES) +
    countOf(integers, head, EXCLUDED_CATEGORIES)
  );
}

/** The address of the polygons of a record that `HAS_SHAPES`. */
export function shapesOf(integers: Int32Array, head: number): number {
  const words = listsOffset(integers[head + FLAGS] as number) + ((allCodesOf(integers, head) + 1) >> 1);
  return integers[head + 2 * words] as number;
}

/** Words before the codes of the lists. */
export function listsOffset(flags: number): number {
  let words = HEAD_WORDS + ((flags & HAS_CIRCLE) === 0 ? 0 : CIRCLE_WORDS);
  for (let bounds = flags & BOUNDS_MASK; bounds !== 0; bounds &= bounds - 1) words += 1;
  return words;
}

/** The number of types in the low three bits, then three bits a type, in order. */
export function packTypes(types: readonly number[]): number {
  let packed = types.length;
  for (let i = 0; i < types.length; i++) packed |= (types[i] as number) << (TYPE_BITS * (i + 1));
  return packed;
}

export function unpackTypes(packed: number): number[] {
  const types: number[] = [];
  for (let i = 1; i <= (packed & TYPES_MAX); i++) types.push((packed >> (TYPE_BITS * i)) & TYPES_MAX);
  return types;
}
