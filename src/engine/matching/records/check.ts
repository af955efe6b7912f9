/**
 * Tests a property against a record's types, limits, needs and areas as exactly as `satisfies` in `domain/criteria`.
 */

import { isInCircle } from '../../domain/geo.ts';
import type { PropertyView } from '../property-view.ts';
import type { RecordArena } from './arena.ts';
import { excludedAt, shapesAt } from './criteria-record.ts';
import {
  BOUND_BITS,
  CIRCLE_WORDS,
  countOf,
  DEPARTMENTS,
  FLAGS,
  HAS_CIRCLE,
  HAS_EXCLUDED,
  HAS_SHAPES,
  HEAD_WORDS,
  INSEE_CODES,
  KINDS,
  listsOffset,
  NEEDS_SHIFT,
  readCircle,
  shapesOf,
  ZIPCODES,
} from './layout.ts';
import type { PolygonShapes } from './polygon-shapes.ts';

export function holdsInRecord(address: number, arena: RecordArena, view: PropertyView, shapes: PolygonShapes): boolean {
  const integers = arena.integersAt(address);
  const numbers = arena.numbersAt(address);
  const head = arena.integerOffset(address);
  const flags = integers[head + FLAGS] as number;
  const kinds = integers[head + KINDS] as number;
  if ((kinds & view.typeBit) === 0 || ((kinds >> NEEDS_SHIFT) & view.stated.lacking) !== 0) return false;
  let bound = arena.numberOffset(address) + HEAD_WORDS;
  const lists = bound - HEAD_WORDS + listsOffset(flags);
  for (let bit = 0; bit < BOUND_BITS; bit++) {
    if (((flags >> bit) & 1) === 0) continue;
    const limit = numbers[bound++] as number;
    const value = view.values[bit >> 1] as number;
    if (!((bit & 1) === 0 ? value >= limit : value <= limit)) return false;
  }
  return (
    isInAreas(integers, numbers, head, lists, view, shapes) &&
    ((flags & HAS_EXCLUDED) === 0 || !isInExcludedShape(excludedAt(address, arena), arena, view, shapes))
  );
}

/** `excluded` is the record of the excluded areas. Its communes, departments and zip codes are tested by rows. */
function isInExcludedShape(excluded: number, arena: RecordArena, view: PropertyView, shapes: PolygonShapes): boolean {
  const address = shapesAt(excluded, arena);
  const { lat, lon } = view.facts;
  return address !== 0 && lat !== null && lon !== null && shapes.hold(address, lat, lon);
}

/** `lists` is the word at which the codes of the lists begin. */
function isInAreas(
  integers: Int32Array,
  numbers: Float64Array,
  head: number,
  lists: number,
  view: PropertyView,
  shapes: PolygonShapes,
): boolean {
  const inseeCount = countOf(integers, head, INSEE_CODES);
  const departmentCount = countOf(integers, head, DEPARTMENTS);
  const zipcodeCount = countOf(integers, head, ZIPCODES);
  const departments = 2 * lists + inseeCount;
  const areas = (integers[head + FLAGS] as number) & (HAS_CIRCLE | HAS_SHAPES);
  if (inseeCount + departmentCount + zipcodeCount + areas === 0) return true;
  if (containsAny(integers, 2 * lists, inseeCount, view.inseeCodes)) return true;
  if (contains(integers, departments, departmentCount, view.departmentCode)) return true;
  if (containsAny(integers, departments + departmentCount, zipcodeCount, view.zipcodes)) return true;
  const { lat, lon } = view.facts;
  if (lat === null || lon === null) return false;
  if ((areas & HAS_CIRCLE) !== 0) {
    const circle = readCircle(numbers, lists - CIRCLE_WORDS);
    if (isInCircle(circle, lat, lon)) return true;
  }
  return (areas & HAS_SHAPES) !== 0 && shapes.hold(shapesOf(integers, head), lat, lon);
}

function containsAny(integers: Int32Array, start: number, count: number, codes: readonly number[]): boolean {
  if (count === 0) return false;
  for (const code of codes) if (contains(integers, start, count, code)) return true;
  return false;
}

function contains(integers: Int32Array, start: number, count: number, code: number | undefined): boolean {
  for (let i = start; i < start + count; i++) if (integers[i] === code) return true;
  return false;
}
