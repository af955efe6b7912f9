/** The exact test of one record against one property: `satisfies` of `domain/criteria`, read from the record's words. */

import { isInCircle } from '../../domain/geo.ts';
import type { AdvertFacts } from '../../domain/property-facts.ts';
import { type PropertyView, readTexts, textsOf } from '../property-view.ts';
import type { ExpressionTable } from '../text/expression-table.ts';
import type { RecordArena } from './arena.ts';
import {
  BOUND_BITS,
  CIRCLE_WORDS,
  countOf,
  DEPARTMENTS,
  EXCLUDED_CATEGORIES,
  EXCLUDED_INSEE_CODES,
  EXPRESSION,
  FLAGS,
  FURNISHED_SHIFT,
  HAS_CIRCLE,
  HAS_SHAPES,
  HAS_TOUR,
  HEAD_WORDS,
  INCLUDED_CATEGORIES,
  INSEE_CODES,
  IS_COHERENT,
  listsOffset,
  PUBLISHER_LISTS,
  PUBLISHERS_SHIFT,
  placeCodesOf,
  readCircle,
  shapesOf,
  TRANSACTION_SHIFT,
  TYPES,
  ZIPCODES,
} from './layout.ts';
import type { PolygonShapes } from './polygon-shapes.ts';

/** Measures before the bounds on advert prices. */
const ADVERT_PRICE_MIN_BIT = BOUND_BITS - 2;

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
  if (!holdsForProperty(flags, integers[head + TYPES] as number, view)) return false;

  const firstBound = arena.numberOffset(address) + HEAD_WORDS;
  let bound = firstBound;
  for (let bit = 0; bit < ADVERT_PRICE_MIN_BIT; bit++) {
    if (((flags >> bit) & 1) === 0) continue;
    const limit = numbers[bound++] as number;
    const value = view.values[bit >> 1] as number;
    if (!((bit & 1) === 0 ? value >= limit : value <= limit)) return false;
  }
  const lists = firstBound - HEAD_WORDS + listsOffset(flags);
  if (!isInAreas(integers, numbers, head, lists, view, shapes)) return false;

  const excludedCount = countOf(integers, head, EXCLUDED_CATEGORIES);
  const categories = 2 * lists + placeCodesOf(integers, head) + countOf(integers, head, EXCLUDED_INSEE_CODES);
  const firstExcluded = categories + countOf(integers, head, INCLUDED_CATEGORIES);
  const adverts =
    excludedCount === 0
      ? facts.adverts
      : facts.adverts.filter((_, i) => !contains(integers, firstExcluded, excludedCount, view.siteCategories[i]));
  if (!holdForAdverts(flags, numbers, bound, adverts)) return false;
  const includedCount = countOf(integers, head, INCLUDED_CATEGORIES);
  if (includedCount > 0) {
    const isIncluded = (advert: AdvertFacts, i: number): boolean =>
      contains(integers, categories, includedCount, view.siteCategories[i]) && adverts.includes(advert);
    if (!facts.adverts.some(isIncluded)) return false;
  }
  const expression = integers[head + EXPRESSION] as number;
  if (expression === 0) return true;
  if (adverts.length < facts.adverts.length) return expressions.holdsIn(expression, textsOf(facts, adverts));
  readTexts(view, expressions);
  return expressions.holds(expression);
}

function holdsForProperty(flags: number, packedTypes: number, { facts }: PropertyView): boolean {
  const transaction = (flags >> TRANSACTION_SHIFT) & 3;
  if (transaction !== 0 && facts.transactionType !== transaction - 1) return false;
  const furnished = (flags >> FURNISHED_SHIFT) & 3;
  if (furnished !== 0 && facts.furnished !== (furnished === 2)) return false;
  if ((flags & IS_COHERENT) !== 0 && !facts.isPriceCoherent) return false;
  const typeCount = packedTypes & 7;
  if (typeCount === 0) return true;
  for (let i = 1; i <= typeCount; i++) if (((packedTypes >> (3 * i)) & 7) === facts.propertyType) return true;
  return false;
}

/** `bound`: where the bounds on advert prices are. */
function holdForAdverts(flags: number, numbers: Float64Array, bound: number, adverts: readonly AdvertFacts[]): boolean {
  if (adverts.length === 0) return false;
  if ((flags & HAS_TOUR) !== 0 && !adverts.some((advert) => advert.hasVirtualTour)) return false;
  const publishers = PUBLISHER_LISTS[flags >> PUBLISHERS_SHIFT] as readonly number[];
  if (
    publishers.length > 0 &&
    !adverts.some(({ publisherType }) => publisherType !== null && publishers.includes(publisherType))
  ) {
    return false;
  }
  const hasMin = ((flags >> ADVERT_PRICE_MIN_BIT) & 1) !== 0;
  const hasMax = ((flags >> (ADVERT_PRICE_MIN_BIT + 1)) & 1) !== 0;
  if (!hasMin && !hasMax) return true;
  const min = hasMin ? (numbers[bound] as number) : -Infinity;
  const max = hasMax ? (numbers[bound + (hasMin ? 1 : 0)] as number) : Infinity;
  return adverts.some(({ price }) => price !== null && price >= min && price <= max);
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
  if (excludedCount > 0 && view.inseeCodes.some((code) => contains(integers, excluded, excludedCount, code))) {
    return false;
  }
  const areas = (integers[head + FLAGS] as number) & (HAS_CIRCLE | HAS_SHAPES);
  if (inseeCount + departmentCount + zipcodeCount + areas === 0) return true;
  if (view.inseeCodes.some((code) => contains(integers, 2 * lists, inseeCount, code))) return true;
  if (contains(integers, departments, departmentCount, view.departmentCode)) return true;
  if (view.zipcodes.some((code) => contains(integers, zipcodes, zipcodeCount, code))) return true;
  const { lat, lon } = view.facts;
  if (lat === null || lon === null) return false;
  if ((areas & HAS_CIRCLE) !== 0) {
    const circle = readCircle(numbers, lists - CIRCLE_WORDS);
    if (isInCircle(circle, lat, lon)) return true;
  }
  return (areas & HAS_SHAPES) !== 0 && shapes.hold(shapesOf(integers, head), lat, lon);
}

function contains(integers: Int32Array, start: number, count: number, code: number | undefined): boolean {
  for (let i = start; i < start + count; i++) if (integers[i] === code) return true;
  return false;
}
