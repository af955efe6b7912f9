/** The exact test of one record against one property: `satisfies` of `domain/criteria`, read from the record's words. */

import { isInCircle, ON_EDGE, sideOfEdge, turnsToTry, WEST_OF_EDGE } from '../domain/geo.ts';
import type { AdvertFacts } from '../domain/property-facts.ts';
import {
  BOUND_BITS,
  countOf,
  EXPRESSION,
  FLAGS,
  FURNISHED_SHIFT,
  HAS_CIRCLE,
  HAS_TOUR,
  HEAD_WORDS,
  IS_COHERENT,
  listsOffset,
  POLYGON_COUNT,
  PROPERTY_TYPES,
  PUBLISHER_LISTS,
  PUBLISHERS_SHIFT,
  TRANSACTION_SHIFT,
} from './criteria-record.ts';
import type { ExpressionTable } from './expression-table.ts';
import { type PropertyView, readTexts, textsOf } from './property-view.ts';
import type { RecordArena } from './record-arena.ts';

/** Measures before the bounds on advert prices. */
const ADVERT_PRICE_MIN_BIT = BOUND_BITS - 2;
const CIRCLE_WORDS = 3;

export function holdsInRecord(
  address: number,
  arena: RecordArena,
  view: PropertyView,
  expressions: ExpressionTable,
): boolean {
  const integers = arena.integersAt(address);
  const numbers = arena.numbersAt(address);
  const head = arena.integerOffset(address);
  const { facts } = view;
  const flags = integers[head + FLAGS] as number;
  if (!holdsForProperty(flags, integers[head + PROPERTY_TYPES] as number, view)) return false;

  const firstBound = arena.numberOffset(address) + HEAD_WORDS;
  let bound = firstBound;
  for (let bit = 0; bit < ADVERT_PRICE_MIN_BIT; bit++) {
    if (((flags >> bit) & 1) === 0) continue;
    const limit = numbers[bound++] as number;
    const value = view.values[bit >> 1] as number;
    if (!((bit & 1) === 0 ? value >= limit : value <= limit)) return false;
  }
  const lists = firstBound - HEAD_WORDS + listsOffset(flags);
  if (!isInAreas(integers, numbers, head, lists, view)) return false;

  const excludedCount = countOf(integers, head, 5);
  const categories = 2 * lists + placeCodes(integers, head) + countOf(integers, head, 3);
  const firstExcluded = categories + countOf(integers, head, 4);
  const adverts =
    excludedCount === 0
      ? facts.adverts
      : facts.adverts.filter((_, i) => !contains(integers, firstExcluded, excludedCount, view.siteCategories[i]));
  if (!holdForAdverts(flags, numbers, bound, adverts)) return false;
  const includedCount = countOf(integers, head, 4);
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
): boolean {
  const inseeCount = countOf(integers, head, 0);
  const departmentCount = countOf(integers, head, 1);
  const zipcodeCount = countOf(integers, head, 2);
  const excludedCount = countOf(integers, head, 3);
  const departments = 2 * lists + inseeCount;
  const zipcodes = departments + departmentCount;
  const excluded = zipcodes + zipcodeCount;
  if (excludedCount > 0 && view.inseeCodes.some((code) => contains(integers, excluded, excludedCount, code))) {
    return false;
  }
  const hasCircle = ((integers[head + FLAGS] as number) & HAS_CIRCLE) !== 0;
  const polygonCount = integers[head + POLYGON_COUNT] as number;
  if (inseeCount + departmentCount + zipcodeCount + polygonCount === 0 && !hasCircle) return true;
  if (view.inseeCodes.some((code) => contains(integers, 2 * lists, inseeCount, code))) return true;
  if (contains(integers, departments, departmentCount, view.departmentCode)) return true;
  if (view.zipcodes.some((code) => contains(integers, zipcodes, zipcodeCount, code))) return true;
  const { lat, lon } = view.facts;
  if (lat === null || lon === null) return false;
  if (hasCircle) {
    const circle = lists - CIRCLE_WORDS;
    const centre = { lat: numbers[circle] as number, lon: numbers[circle + 1] as number };
    if (isInCircle({ ...centre, radiusKm: numbers[circle + 2] as number }, lat, lon)) return true;
  }
  if (polygonCount === 0) return false;
  return isInPolygons(numbers, (2 * lists + allCodes(integers, head) + 1) >> 1, polygonCount, lat, lon);
}

function placeCodes(integers: Int32Array, head: number): number {
  return countOf(integers, head, 0) + countOf(integers, head, 1) + countOf(integers, head, 2);
}

function allCodes(integers: Int32Array, head: number): number {
  return (
    placeCodes(integers, head) + countOf(integers, head, 3) + countOf(integers, head, 4) + countOf(integers, head, 5)
  );
}

function contains(integers: Int32Array, start: number, count: number, code: number | undefined): boolean {
  for (let i = start; i < start + count; i++) if (integers[i] === code) return true;
  return false;
}

/** `isInPolygon` of `domain/geo` for any of `count` polygons, as `criteria-record` writes them. */
function isInPolygons(numbers: Float64Array, start: number, count: number, lat: number, lon: number): boolean {
  let polygon = start;
  for (let left = count; left > 0; left--) {
    const ringCount = numbers[polygon] as number;
    let west = Infinity;
    let east = -Infinity;
    let end = polygon + 1;
    for (let ring = 0; ring < ringCount; ring++) {
      const next = end + 1 + 2 * (numbers[end] as number);
      for (let position = end + 1; position < next; position += 2) {
        const positionLon = numbers[position] as number;
        if (positionLon < west) west = positionLon;
        if (positionLon > east) east = positionLon;
      }
      end = next;
    }
    for (const turn of turnsToTry(west, east, lon)) if (isInRings(numbers, polygon, lat, lon + turn)) return true;
    polygon = end;
  }
  return false;
}

function isInRings(numbers: Float64Array, polygon: number, lat: number, lon: number): boolean {
  const ringCount = numbers[polygon] as number;
  let isInside = false;
  let ring = polygon + 1;
  for (let left = ringCount; left > 0; left--) {
    const end = ring + 1 + 2 * (numbers[ring] as number);
    for (let b = ring + 3; b < end; b += 2) {
      const side = sideOfEdge(
        numbers[b - 2] as number,
        numbers[b - 1] as number,
        numbers[b] as number,
        numbers[b + 1] as number,
        lat,
        lon,
      );
      if (side === ON_EDGE) return true;
      if (side === WEST_OF_EDGE) isInside = !isInside;
    }
    ring = end;
  }
  return isInside;
}
