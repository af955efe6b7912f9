/**
 * The rows of a search: one for each area or place it names, so that a property finds it under any of its own. Rows
 * follow from the criteria alone: what is removed is worked out exactly as what was inserted.
 */

import type { Criteria, Range } from '../domain/criteria.ts';
import { type CircleRow, circleRow, polygonRow } from './area-geometry.ts';
import { CODE_MAX, CODE_MIN, codeOf, EDGES_OF_MEASURE, MEASURES } from './quantiser.ts';
import { rangesOf } from './record-layout.ts';
import {
  ANY_TYPE,
  NEEDS_COHERENT_PRICE,
  NEEDS_EXACT_CHECK,
  NEEDS_FURNISHED,
  NEEDS_INDIVIDUAL,
  NEEDS_PROFESSIONAL,
  NEEDS_RENT,
  NEEDS_SALE,
  NEEDS_TEXT_CHECK,
  NEEDS_TOUR,
  NEEDS_UNFURNISHED,
  REPEATS,
  REPEATS_BY_INSEE,
  type Row,
} from './row-groups.ts';

const INDIVIDUAL = 0;
const RENT_NEEDS = [NEEDS_SALE, NEEDS_RENT];

/** What of the criteria says where rows go: all that it takes to find them again. */
export type Placement = Pick<
  Criteria,
  | 'transactionType'
  | 'propertyTypes'
  | 'publisherTypes'
  | 'furnished'
  | 'withCoherentPrice'
  | 'withVirtualTour'
  | 'areas'
>;

/** Where a search's rows go. Keys are distinct within each list; with no place at all, it goes everywhere. */
export interface RowPlaces {
  readonly inseeCodes: readonly string[];
  readonly departmentCodes: readonly string[];
  readonly zipcodes: readonly string[];
  readonly circles: readonly CircleRow[];
  /** Codes of stems that stand in for places. */
  readonly stems: readonly number[];
}

const EVERYWHERE: RowPlaces = { inseeCodes: [], departmentCodes: [], zipcodes: [], circles: [], stems: [] };

/** `required`: codes of stems of which a matching text has at least one; null where that cannot be said. */
export function placesOf({ areas }: Placement, required: readonly number[] | null): RowPlaces {
  const circles: CircleRow[] = [];
  // An area that the R-tree cannot hold: the exact check of every property decides.
  if (areas.circle !== null && !addTo(circles, circleRow(areas.circle))) return EVERYWHERE;
  for (const polygon of areas.polygons) if (!addTo(circles, polygonRow(polygon))) return EVERYWHERE;
  const { inseeCodes, departmentCodes, zipcodes } = areas;
  if (circles.length + inseeCodes.length + departmentCodes.length + zipcodes.length === 0) {
    return required === null ? EVERYWHERE : { ...EVERYWHERE, stems: required };
  }
  return {
    inseeCodes: distinct(inseeCodes),
    departmentCodes: distinct(departmentCodes),
    zipcodes: distinct(zipcodes),
    circles,
    stems: [],
  };
}

/** Writes everything into `row` but the number, the expression and the area. */
export function writeRow(criteria: Criteria, places: RowPlaces, isUsual: boolean, row: Row): void {
  writeKinds(criteria, isUsual, row);
  row.attention = attentionOf(criteria, places, isUsual);
  const ranges = rangesOf(criteria);
  for (let measure = 0; measure < MEASURES.length; measure++) {
    const { min, max } = ranges[measure] as Range;
    const edges = EDGES_OF_MEASURE[measure] as Float64Array;
    row.bounds[2 * measure] = min === null || !isUsual ? CODE_MIN : codeOf(edges, min);
    row.bounds[2 * measure + 1] = max === null || !isUsual ? CODE_MAX : codeOf(edges, max);
  }
}

/** Writes the kinds of property that the row accepts: with the number and the area, what tells it from others. */
export function writeKinds(placement: Placement, isUsual: boolean, row: Row): void {
  row.types = isUsual ? typesOf(placement.propertyTypes) : ANY_TYPE;
  row.needs = isUsual ? needsOf(placement) : 0;
}

function typesOf(propertyTypes: readonly number[]): number {
  if (propertyTypes.length === 0) return ANY_TYPE;
  let types = 0;
  for (const type of propertyTypes) types |= 1 << type;
  return types;
}

function needsOf(placement: Placement): number {
  const { transactionType, furnished, publisherTypes } = placement;
  let needs = transactionType === null ? 0 : (RENT_NEEDS[transactionType] as number);
  if (placement.withCoherentPrice) needs |= NEEDS_COHERENT_PRICE;
  if (placement.withVirtualTour) needs |= NEEDS_TOUR;
  if (furnished !== null) needs |= furnished ? NEEDS_FURNISHED : NEEDS_UNFURNISHED;
  if (publisherTypes.length === 1) needs |= publisherTypes[0] === INDIVIDUAL ? NEEDS_INDIVIDUAL : NEEDS_PROFESSIONAL;
  return needs;
}

function attentionOf(criteria: Criteria, places: RowPlaces, isUsual: boolean): number {
  const { areas, advertPrice } = criteria;
  const isEverywhere = places.inseeCodes.length + places.departmentCodes.length + places.zipcodes.length === 0;
  const needsExactCheck =
    !isUsual ||
    criteria.publisherTypes.length > 1 ||
    advertPrice.min !== null ||
    advertPrice.max !== null ||
    criteria.excludedInseeCodes.length > 0 ||
    criteria.includedSiteCategories.length > 0 ||
    criteria.excludedSiteCategories.length > 0 ||
    (isEverywhere && places.circles.length === 0 && (areas.circle !== null || areas.polygons.length > 0));
  let attention = needsExactCheck ? NEEDS_EXACT_CHECK : 0;
  if (criteria.expressions.length > 0) attention |= NEEDS_TEXT_CHECK;
  // Several departments cannot hold one property; anything else named twice may.
  const namedKinds =
    Math.min(places.inseeCodes.length, 1) +
    Math.min(places.departmentCodes.length, 1) +
    Math.min(places.zipcodes.length, 1) +
    Math.min(places.circles.length, 1);
  if (namedKinds > 1 || places.zipcodes.length > 1 || places.circles.length > 1 || places.stems.length > 1) {
    attention |= REPEATS;
  }
  if (places.inseeCodes.length > 1) attention |= REPEATS_BY_INSEE;
  return attention;
}

function addTo(circles: CircleRow[], row: CircleRow | null): boolean {
  return row !== null && circles.push(row) > 0;
}

function distinct(codes: readonly string[]): readonly string[] {
  return codes.some((code, i) => codes.indexOf(code) < i) ? [...new Set(codes)] : codes;
}
