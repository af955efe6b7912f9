/**
 * The criteria of a search and the exact test of one property against them (decisions, section 3). This is the
 * definition that the index must agree with: `explain` names every criterion, `satisfies` is its conjunction.
 */

import type { CriterionName, RangeName } from './criterion-names.ts';
import { type Expressions, expressionsHold } from './expressions.ts';
import { type FoldedText, foldTexts } from './folded-text.ts';
import { type Circle, isInCircle, isInPolygon, type Polygon } from './geo.ts';
import type { AdvertFacts, PropertyFacts } from './property-facts.ts';

/** Inclusive; null is no bound. A bound of 0 has become null already (decisions, section 2). */
export interface Range {
  readonly min: number | null;
  readonly max: number | null;
}

export const UNBOUNDED: Range = { min: null, max: null };

/** Inside any of them; all empty means everywhere. */
export interface Areas {
  readonly circle: Circle | null;
  /** INSEE codes, from `includedCities` and `includedInseeCodes` alike. */
  readonly inseeCodes: readonly string[];
  readonly departmentCodes: readonly string[];
  readonly zipcodes: readonly string[];
  readonly polygons: readonly Polygon[];
}

/** An empty list or a null is no condition. */
export interface Criteria {
  readonly transactionType: number | null;
  readonly propertyTypes: readonly number[];
  readonly publisherTypes: readonly number[];
  readonly budget: Range;
  readonly advertPrice: Range;
  readonly pricePerMeter: Range;
  readonly surface: Range;
  readonly landSurface: Range;
  readonly room: Range;
  readonly bedroom: Range;
  readonly furnished: boolean | null;
  readonly withCoherentPrice: boolean;
  readonly withVirtualTour: boolean;
  readonly areas: Areas;
  readonly excludedInseeCodes: readonly string[];
  /** Site categories by name, as `publisher.category` states them. */
  readonly includedSiteCategories: readonly string[];
  readonly excludedSiteCategories: readonly string[];
  readonly expressions: Expressions;
}

/** One criterion that is set, whether it holds, and the values compared, as they are. */
export interface Judgement {
  readonly criterion: CriterionName;
  readonly holds: boolean;
  readonly expected: unknown;
  readonly actual: unknown;
}

/** The same with the values as text. */
export interface CriterionVerdict extends Judgement {
  readonly expected: string;
  readonly actual: string;
}

/** What a criterion looks at. */
interface Considered {
  readonly criteria: Criteria;
  readonly facts: PropertyFacts;
  /** Those of `consideredAdverts`. */
  readonly adverts: readonly AdvertFacts[];
}

/** One criterion: absent from a search unless `isSet`. */
interface Criterion {
  readonly name: CriterionName;
  isSet(criteria: Criteria): boolean;
  holds(considered: Considered): boolean;
  expected(criteria: Criteria): unknown;
  actual(considered: Considered): unknown;
}

const CRITERIA: readonly Criterion[] = [
  {
    name: 'liveAdvert',
    isSet: () => true,
    holds: ({ adverts }) => adverts.length > 0,
    expected: () => 'at least one outside the excluded site categories',
    actual: ({ adverts }) => adverts.length,
  },
  {
    name: 'transactionType',
    isSet: (criteria) => criteria.transactionType !== null,
    holds: ({ criteria, facts }) => facts.transactionType === criteria.transactionType,
    expected: (criteria) => criteria.transactionType,
    actual: ({ facts }) => facts.transactionType,
  },
  {
    name: 'propertyTypes',
    isSet: (criteria) => criteria.propertyTypes.length > 0,
    holds: ({ criteria, facts }) => includes(criteria.propertyTypes, facts.propertyType),
    expected: (criteria) => criteria.propertyTypes,
    actual: ({ facts }) => facts.propertyType,
  },
  rangeCriterion('budget', ({ facts }) => [facts.price]),
  rangeCriterion('pricePerMeter', ({ facts }) => [facts.pricePerMeter]),
  rangeCriterion('surface', ({ facts }) => [facts.surface]),
  rangeCriterion('landSurface', ({ facts }) => [facts.landSurface]),
  rangeCriterion('room', ({ facts }) => [facts.room]),
  rangeCriterion('bedroom', ({ facts }) => [facts.bedroom]),
  rangeCriterion('advertPrice', ({ adverts }) => adverts.map((advert) => advert.price)),
  {
    name: 'furnished',
    isSet: (criteria) => criteria.furnished !== null,
    holds: ({ criteria, facts }) => facts.furnished === criteria.furnished,
    expected: (criteria) => criteria.furnished,
    actual: ({ facts }) => facts.furnished,
  },
  listCriterion('publisherTypes', (advert) => advert.publisherType),
  listCriterion('includedSiteCategories', (advert) => advert.siteCategory),
  {
    name: 'withVirtualTour',
    isSet: (criteria) => criteria.withVirtualTour,
    holds: ({ adverts }) => adverts.some((advert) => advert.hasVirtualTour),
    expected: () => true,
    actual: ({ adverts }) => adverts.map((advert) => advert.hasVirtualTour),
  },
  {
    name: 'withCoherentPrice',
    isSet: (criteria) => criteria.withCoherentPrice,
    holds: ({ facts }) => facts.isPriceCoherent,
    expected: () => true,
    actual: ({ facts }) => facts.isPriceCoherent,
  },
  {
    name: 'areas',
    isSet: (criteria) => hasAreas(criteria.areas),
    holds: ({ criteria, facts }) => isInAreas(criteria.areas, facts),
    expected: (criteria) => criteria.areas,
    actual: ({ facts: { lat, lon, inseeCodes, zipcodes, departmentCode } }) => {
      return { lat, lon, inseeCodes, zipcodes, departmentCode };
    },
  },
  {
    name: 'excludedCities',
    isSet: (criteria) => criteria.excludedInseeCodes.length > 0,
    holds: ({ criteria, facts }) => !facts.inseeCodes.some((code) => isListed(criteria.excludedInseeCodes, code)),
    expected: (criteria) => criteria.excludedInseeCodes,
    actual: ({ facts }) => facts.inseeCodes,
  },
  {
    name: 'expressions',
    isSet: (criteria) => criteria.expressions.length > 0,
    holds: (considered) => expressionsHold(considered.criteria.expressions, foldedTextsOf(considered)),
    expected: (criteria) => criteria.expressions,
    actual: textsOf,
  },
];

/** True when every criterion that is set holds. */
export function satisfies(criteria: Criteria, facts: PropertyFacts): boolean {
  return failuresOf(criteria, facts, 1).length === 0;
}

/** The first criteria that fail, `max` of them at most. */
export function failuresOf(criteria: Criteria, facts: PropertyFacts, max: number): readonly CriterionName[] {
  const considered = { criteria, facts, adverts: consideredAdverts(criteria, facts) };
  const failures: CriterionName[] = [];
  for (const criterion of CRITERIA) {
    if (!criterion.isSet(criteria) || criterion.holds(considered)) continue;
    failures.push(criterion.name);
    if (failures.length === max) break;
  }
  return failures;
}

/** The names of those that are set, `liveAdvert` first. */
export function setCriteria(criteria: Criteria): readonly CriterionName[] {
  return CRITERIA.filter((criterion) => criterion.isSet(criteria)).map(({ name }) => name);
}

/** The judgements of all that are set. */
export function judge(criteria: Criteria, facts: PropertyFacts): readonly Judgement[] {
  const considered = { criteria, facts, adverts: consideredAdverts(criteria, facts) };
  return CRITERIA.filter((criterion) => criterion.isSet(criteria)).map((criterion) => ({
    criterion: criterion.name,
    holds: criterion.holds(considered),
    expected: criterion.expected(criteria),
    actual: criterion.actual(considered),
  }));
}

export function explain(criteria: Criteria, facts: PropertyFacts): readonly CriterionVerdict[] {
  return judge(criteria, facts).map((one) => ({ ...one, expected: show(one.expected), actual: show(one.actual) }));
}

/** Live adverts outside the excluded site categories: the only ones that count for this search. */
export function consideredAdverts(criteria: Criteria, facts: PropertyFacts): readonly AdvertFacts[] {
  if (criteria.excludedSiteCategories.length === 0) return facts.adverts;
  return facts.adverts.filter((advert) => !includes(criteria.excludedSiteCategories, advert.siteCategory));
}

export function hasAreas(areas: Areas): boolean {
  return (
    areas.circle !== null ||
    areas.inseeCodes.length > 0 ||
    areas.departmentCodes.length > 0 ||
    areas.zipcodes.length > 0 ||
    areas.polygons.length > 0
  );
}

export function isInAreas(areas: Areas, facts: PropertyFacts): boolean {
  const { lat, lon } = facts;
  if (facts.inseeCodes.some((code) => isListed(areas.inseeCodes, code))) return true;
  if (includes(areas.departmentCodes, facts.departmentCode)) return true;
  if (facts.zipcodes.some((zipcode) => isListed(areas.zipcodes, zipcode))) return true;
  if (lat === null || lon === null) return false;
  if (areas.circle !== null && isInCircle(areas.circle, lat, lon)) return true;
  return areas.polygons.some((polygon) => isInPolygon(polygon, lat, lon));
}

/** Lists longer than this are looked up: a search may name every commune, and be held against thousands of properties. */
const SHORT_LIST_MAX = 32;
const lookedUp = new WeakMap<readonly string[], ReadonlySet<string>>();

function isListed(list: readonly string[], value: string): boolean {
  if (list.length <= SHORT_LIST_MAX) return list.includes(value);
  const known = lookedUp.get(list) ?? new Set(list);
  lookedUp.set(list, known);
  return known.has(value);
}

/** Inclusive; an unknown value is in no range that has a bound. */
export function isInRange(range: Range, value: number | null): boolean {
  if (value === null) return range.min === null && range.max === null;
  return (range.min === null || value >= range.min) && (range.max === null || value <= range.max);
}

/** Holds when any of the values is in the range. */
function rangeCriterion(name: RangeName, valuesOf: (considered: Considered) => readonly (number | null)[]): Criterion {
  return {
    name,
    isSet: (criteria) => criteria[name].min !== null || criteria[name].max !== null,
    holds: (considered) => valuesOf(considered).some((value) => isInRange(considered.criteria[name], value)),
    expected: (criteria) => criteria[name],
    actual: valuesOf,
  };
}

/** Holds when any considered advert has one of the listed values. */
function listCriterion<Name extends 'publisherTypes' | 'includedSiteCategories'>(
  name: Name,
  valueOf: (advert: AdvertFacts) => Criteria[Name][number] | null,
): Criterion {
  return {
    name,
    isSet: (criteria) => criteria[name].length > 0,
    holds: ({ criteria, adverts }) => adverts.some((advert) => includes<unknown>(criteria[name], valueOf(advert))),
    expected: (criteria) => criteria[name],
    actual: ({ adverts }) => adverts.map(valueOf),
  };
}

function textsOf({ facts, adverts }: Considered): readonly string[] {
  return [...facts.texts, ...adverts.flatMap((advert) => advert.texts)];
}

/** One property is judged by many searches, and folding takes longer than all the rest. */
const folded = new WeakMap<readonly AdvertFacts[], { readonly facts: PropertyFacts; readonly text: FoldedText }>();

function foldedTextsOf(considered: Considered): FoldedText {
  const { adverts, facts } = considered;
  const known = folded.get(adverts);
  if (known?.facts === facts) return known.text;
  const text = foldTexts(textsOf(considered));
  folded.set(adverts, { facts, text });
  return text;
}

function includes<T>(list: readonly T[], value: T | null): boolean {
  return value !== null && list.includes(value);
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
