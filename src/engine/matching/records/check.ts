/** The exact test of one record against one property: `satisfies` of `domain/criteria`, read from the record's words. */

import type { CriterionSet } from '../../domain/criterion-table.ts';
import { isInCircle } from '../../domain/geo.ts';
import type { AdvertFacts, PropertyFacts } from '../../domain/property-facts.ts';
import { bitOfCriterion } from '../../domain/unknown-criteria.ts';
import { doAdvertsProvide, needsWithout } from '../needs.ts';
import { type PropertyView, readTexts, statedIn, textsOf } from '../property-view.ts';
import type { ExpressionTable } from '../text/expression-table.ts';
import type { RecordArena } from './arena.ts';
import { holdsHome, orMissingOf } from './home-criteria.ts';
import {
  ADVERT_RANGES,
  CIRCLE_WORDS,
  CODE_LISTS,
  type CodeList,
  codeIn,
  countIn,
  countOf,
  DEPARTMENTS,
  EXCLUDED_CATEGORIES,
  EXCLUDED_INSEE_CODES,
  EXPRESSION,
  FLAGS,
  HAS_CIRCLE,
  HAS_HOME,
  HAS_SHAPES,
  HEAD_WORDS,
  homeOffset,
  INCLUDED_CATEGORIES,
  INSEE_CODES,
  listsOffset,
  NEEDS,
  PROPERTY_BOUND_BITS,
  PROPERTY_RANGES,
  packedAt,
  placeCodesOf,
  RANGE_CRITERIA,
  readCircle,
  shapesOf,
  ZIPCODES,
} from './layout.ts';
import type { PolygonShapes } from './polygon-shapes.ts';

const CATEGORIES_CRITERION = bitOfCriterion('includedSiteCategories');
const EXPRESSIONS_CRITERION = bitOfCriterion('expressions');

export function holdsInRecord(
  address: number,
  arena: RecordArena,
  view: PropertyView,
  expressions: ExpressionTable,
  shapes: PolygonShapes,
): boolean {
  const integers = arena.integersAt(address);
  const numbers = arena.numbersAt(address);
  const head = arena.integerOffset(address);
  const { facts } = view;
  const flags = integers[head + FLAGS] as number;
  const orMissing = orMissingOf(integers, head);
  const skipped = orMissing === 0 ? 0 : skippedOf(orMissing, integers, head, arena.numberOffset(address), view);
  const needs = needsWithout(integers[head + NEEDS] as number, skipped);
  if ((needs & view.lacking) !== 0) return false;

  const firstBound = arena.numberOffset(address) + HEAD_WORDS;
  let bound = firstBound;
  for (let bit = 0; bit < PROPERTY_BOUND_BITS; bit++) {
    if (((flags >> bit) & 1) === 0) continue;
    const limit = numbers[bound++] as number;
    const value = view.values[bit >> 1] as number;
    if ((bit & 1) === 0 ? value >= limit : value <= limit) continue;
    if ((skipped & (RANGE_CRITERIA[bit >> 1] as number)) === 0) return false;
  }
  const lists = firstBound - HEAD_WORDS + listsOffset(flags);
  if (!isInAreas(integers, numbers, head, lists, view, shapes)) return false;

  const excludedCount = countOf(integers, head, EXCLUDED_CATEGORIES);
  const firstExcluded = excludedOf(integers, head, lists);
  const adverts =
    excludedCount === 0
      ? facts.adverts
      : facts.adverts.filter((_, i) => !contains(integers, firstExcluded, excludedCount, view.siteCategories[i]));
  if (adverts.length === 0) return false;
  if (adverts.length < facts.adverts.length && !doAdvertsProvide(needs, adverts)) return false;
  if (!areCodesListed(integers, head, facts, adverts, skipped)) return false;
  if (!areAdvertsInRanges(flags, numbers, bound, adverts, skipped)) return false;
  if ((flags & HAS_HOME) !== 0 && !holdsHome(integers, homeOffset(flags, lists), adverts, skipped)) return false;
  const includedCount = countOf(integers, head, INCLUDED_CATEGORIES);
  if (includedCount > 0 && (skipped & CATEGORIES_CRITERION) === 0) {
    let isIncluded = false;
    for (let i = 0; i < facts.adverts.length && !isIncluded; i++) {
      isIncluded =
        contains(integers, firstExcluded - includedCount, includedCount, view.siteCategories[i]) &&
        adverts.includes(facts.adverts[i] as AdvertFacts);
    }
    if (!isIncluded) return false;
  }
  const expression = integers[head + EXPRESSION] as number;
  if (expression === 0 || (skipped & EXPRESSIONS_CRITERION) !== 0) return true;
  if (adverts.length < facts.adverts.length) return expressions.holdsIn(expression, textsOf(facts, adverts));
  readTexts(view, expressions);
  return expressions.holds(expression);
}

/** Those of `orMissing` whose value is unknown. `first`: the first word of the record. */
function skippedOf(
  orMissing: CriterionSet,
  integers: Int32Array,
  head: number,
  first: number,
  view: PropertyView,
): CriterionSet {
  const { own, byAdvert } = statedIn(view);
  const count = countOf(integers, head, EXCLUDED_CATEGORIES);
  const excluded = count === 0 ? 0 : excludedOf(integers, head, first + listsOffset(integers[head + FLAGS] as number));
  let stated = own;
  for (let i = 0; i < byAdvert.length; i++) {
    if (!contains(integers, excluded, count, view.siteCategories[i])) stated |= byAdvert[i] as number;
  }
  return orMissing & ~stated;
}

/** The integer at which the codes of excluded site categories begin, behind those of included ones. */
function excludedOf(integers: Int32Array, head: number, lists: number): number {
  const others = countOf(integers, head, EXCLUDED_INSEE_CODES) + countOf(integers, head, INCLUDED_CATEGORIES);
  return 2 * lists + placeCodesOf(integers, head) + others;
}

/** Compares the lists for which there is no need bit. */
function areCodesListed(
  integers: Int32Array,
  head: number,
  facts: PropertyFacts,
  adverts: readonly AdvertFacts[],
  skipped: CriterionSet,
): boolean {
  for (const list of CODE_LISTS) {
    const packed = packedAt(integers, head, list);
    const count = countIn(packed, list);
    if (count === 0 || (count === 1 && list.hasNeeds) || (skipped & list.criterion) !== 0) continue;
    const { source } = list.row;
    let isListed = source.of === 'property' && hasCode(packed, count, list, source.read(facts));
    if (source.of !== 'property') {
      for (const advert of adverts) isListed ||= hasCode(packed, count, list, source.read(advert));
    }
    if (!isListed) return false;
  }
  return true;
}

function hasCode(packed: number, count: number, list: CodeList, code: number | null): boolean {
  for (let i = 0; i < count; i++) if (codeIn(packed, i, list) === code) return true;
  return false;
}

/** `bound`: where the bounds on what adverts have begin. */
function areAdvertsInRanges(
  flags: number,
  numbers: Float64Array,
  bound: number,
  adverts: readonly AdvertFacts[],
  skipped: CriterionSet,
): boolean {
  let next = bound;
  for (let i = 0; i < ADVERT_RANGES.length; i++) {
    const bits = (flags >> (PROPERTY_BOUND_BITS + 2 * i)) & 3;
    if (bits === 0) continue;
    const min = (bits & 1) === 0 ? -Infinity : (numbers[next++] as number);
    const max = (bits & 2) === 0 ? Infinity : (numbers[next++] as number);
    const { source } = ADVERT_RANGES[i] as (typeof ADVERT_RANGES)[number];
    let isWithin = (skipped & (RANGE_CRITERIA[PROPERTY_RANGES.length + i] as number)) !== 0;
    for (const advert of adverts) {
      const value = source.read(advert);
      isWithin ||= value !== null && value >= min && value <= max;
    }
    if (!isWithin) return false;
  }
  return true;
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
