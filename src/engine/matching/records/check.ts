/** The exact test of one record against one property: `satisfies` of `domain/criteria`, read from the record's words. */

import { EXPRESSIONS } from '../../domain/expression-criterion.ts';
import { isInCircle } from '../../domain/geo.ts';
import { INCLUDED_SITE_CATEGORIES } from '../../domain/site-category-criteria.ts';
import { type PropertyView, readTexts, textsOf } from '../property-view.ts';
import { StatedFacts } from '../stated-facts.ts';
import type { RecordArena } from './arena.ts';
import type { RecordTables } from './criteria-record.ts';
import {
  ACCEPTS_NO_CATEGORY,
  ACCEPTS_NO_TEXT,
  BOUND_BITS,
  CIRCLE_WORDS,
  CONDITIONS,
  countOf,
  DEPARTMENTS,
  EXCLUDED_CATEGORIES,
  EXCLUDED_INSEE_CODES,
  EXPRESSION,
  FLAGS,
  HAS_CIRCLE,
  HAS_SHAPES,
  HEAD_WORDS,
  INCLUDED_CATEGORIES,
  INSEE_CODES,
  KINDS,
  listsOffset,
  NEEDS_SHIFT,
  placeCodesOf,
  readCircle,
  shapesOf,
  ZIPCODES,
} from './layout.ts';
import type { PolygonShapes } from './polygon-shapes.ts';

/** Of a search with a row that the property passes: its type, which only rows have, is accepted. */
export function holdsInRecord(
  address: number,
  arena: RecordArena,
  view: PropertyView,
  { expressions, shapes, conditions }: RecordTables,
): boolean {
  const integers = arena.integersAt(address);
  const numbers = arena.numbersAt(address);
  const head = arena.integerOffset(address);
  const flags = integers[head + FLAGS] as number;
  let bound = arena.numberOffset(address) + HEAD_WORDS;
  const lists = bound - HEAD_WORDS + listsOffset(flags);
  for (let bit = 0; bit < BOUND_BITS; bit++) {
    if (((flags >> bit) & 1) === 0) continue;
    const limit = numbers[bound++] as number;
    const value = view.values[bit >> 1] as number;
    if (!((bit & 1) === 0 ? value >= limit : value <= limit)) return false;
  }
  const stated = consideredBy(integers, head, lists, view);
  if (stated.adverts.length === 0) return false;
  if ((((integers[head + KINDS] as number) >> NEEDS_SHIFT) & stated.lacking) !== 0) return false;
  const own = integers[head + CONDITIONS] as number;
  const isWhole = stated === view.stated;
  if (own !== 0 && !(isWhole ? conditions.hold(own) : conditions.holdFor(own, stated))) return false;
  if (!isInAreas(integers, numbers, head, lists, view, shapes)) return false;
  if (!isOfCategories(integers, head, lists, stated)) return false;
  const expression = integers[head + EXPRESSION] as number;
  if (expression === 0) return true;
  if ((flags & ACCEPTS_NO_TEXT) !== 0 && EXPRESSIONS.isUnknown(stated)) return true;
  if (!isWhole) return expressions.holdsIn(expression, textsOf(view.facts, stated.adverts));
  readTexts(view, expressions);
  return expressions.holds(expression);
}

/** What it states without the adverts of excluded site categories. */
function consideredBy(integers: Int32Array, head: number, lists: number, view: PropertyView): StatedFacts {
  const { stated } = view;
  const count = countOf(integers, head, EXCLUDED_CATEGORIES);
  if (count === 0) return stated;
  const first = categoriesOf(integers, head, lists) + countOf(integers, head, INCLUDED_CATEGORIES);
  const { siteCategories } = stated;
  let excluded = 0;
  for (let i = 0; i < siteCategories.length; i++) {
    if (contains(integers, first, count, siteCategories[i])) excluded += 1;
  }
  if (excluded === 0) return stated;
  let kept = '';
  for (let i = 0; i < siteCategories.length; i++) {
    kept += contains(integers, first, count, siteCategories[i]) ? '-' : '+';
  }
  return partOf(view, kept);
}

/** `kept`: a plus for each advert that counts. */
function partOf({ facts, stated, parts }: PropertyView, kept: string): StatedFacts {
  const known = parts.get(kept);
  if (known !== undefined) return known;
  const isKept = (_: unknown, i: number): boolean => kept[i] === '+';
  const part = new StatedFacts(facts, stated.adverts.filter(isKept), stated.siteCategories.filter(isKept));
  parts.set(kept, part);
  return part;
}

/** The integer at which the codes of included site categories begin; those of excluded ones follow. */
function categoriesOf(integers: Int32Array, head: number, lists: number): number {
  return 2 * lists + placeCodesOf(integers, head) + countOf(integers, head, EXCLUDED_INSEE_CODES);
}

function isOfCategories(integers: Int32Array, head: number, lists: number, stated: StatedFacts): boolean {
  const count = countOf(integers, head, INCLUDED_CATEGORIES);
  if (count === 0) return true;
  if (containsAny(integers, categoriesOf(integers, head, lists), count, stated.siteCategories)) return true;
  const acceptsUnknown = ((integers[head + FLAGS] as number) & ACCEPTS_NO_CATEGORY) !== 0;
  return acceptsUnknown && INCLUDED_SITE_CATEGORIES.isUnknown(stated);
}

/** `lists`: the word at which the codes of the lists begin. */
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
  const excludedCount = countOf(integers, head, EXCLUDED_INSEE_CODES);
  const departments = 2 * lists + inseeCount;
  const zipcodes = departments + departmentCount;
  const excluded = zipcodes + zipcodeCount;
  if (excludedCount > 0 && containsAny(integers, excluded, excludedCount, view.inseeCodes)) return false;
  const areas = (integers[head + FLAGS] as number) & (HAS_CIRCLE | HAS_SHAPES);
  if (inseeCount + departmentCount + zipcodeCount + areas === 0) return true;
  if (containsAny(integers, 2 * lists, inseeCount, view.inseeCodes)) return true;
  if (contains(integers, departments, departmentCount, view.departmentCode)) return true;
  if (containsAny(integers, zipcodes, zipcodeCount, view.zipcodes)) return true;
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
