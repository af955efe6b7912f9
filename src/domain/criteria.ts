/**
 * The criteria of a search and the exact test of one property against them (decisions, section 3). This is the
 * definition that the index must agree with: `explain` names every criterion, `satisfies` is its conjunction.
 */

import { type Expressions, expressionsHold } from './expressions.ts';
import { type Circle, isInCircle, isInPolygon, type Polygon } from './geo.ts';
import type { AdvertFacts, PropertyFacts } from './property-facts.ts';
import { foldTexts } from './text.ts';

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

/** One criterion that is set, the values compared, and whether it holds. */
export interface CriterionVerdict {
  readonly criterion: string;
  readonly holds: boolean;
  readonly expected: string;
  readonly actual: string;
}

/** True when every criterion that is set holds. */
export function satisfies(criteria: Criteria, facts: PropertyFacts): boolean {
  return explain(criteria, facts).every((verdict) => verdict.holds);
}

/** The verdict of every criterion that is set, `liveAdvert` first. */
export function explain(criteria: Criteria, facts: PropertyFacts): readonly CriterionVerdict[] {
  const adverts = consideredAdverts(criteria, facts);
  const verdicts: CriterionVerdict[] = [];
  const judge = (criterion: string, holds: boolean, expected: unknown, actual: unknown): void => {
    verdicts.push({ criterion, holds, expected: show(expected), actual: show(actual) });
  };
  const judgeRange = (criterion: string, range: Range, values: readonly (number | null)[]): void => {
    if (range.min === null && range.max === null) return;
    judge(
      criterion,
      values.some((value) => isInRange(range, value)),
      range,
      values,
    );
  };

  judge('liveAdvert', adverts.length > 0, 'at least one outside the excluded site categories', adverts.length);
  if (criteria.transactionType !== null) {
    judge(
      'transactionType',
      facts.transactionType === criteria.transactionType,
      criteria.transactionType,
      facts.transactionType,
    );
  }
  if (criteria.propertyTypes.length > 0) {
    judge(
      'propertyTypes',
      includes(criteria.propertyTypes, facts.propertyType),
      criteria.propertyTypes,
      facts.propertyType,
    );
  }
  judgeRange('budget', criteria.budget, [facts.price]);
  judgeRange('pricePerMeter', criteria.pricePerMeter, [facts.pricePerMeter]);
  judgeRange('surface', criteria.surface, [facts.surface]);
  judgeRange('landSurface', criteria.landSurface, [facts.landSurface]);
  judgeRange('room', criteria.room, [facts.room]);
  judgeRange('bedroom', criteria.bedroom, [facts.bedroom]);
  judgeRange(
    'advertPrice',
    criteria.advertPrice,
    adverts.map((advert) => advert.price),
  );
  if (criteria.furnished !== null) {
    judge('furnished', facts.furnished === criteria.furnished, criteria.furnished, facts.furnished);
  }
  if (criteria.publisherTypes.length > 0) {
    const types = adverts.map((advert) => advert.publisherType);
    judge(
      'publisherTypes',
      types.some((type) => includes(criteria.publisherTypes, type)),
      criteria.publisherTypes,
      types,
    );
  }
  if (criteria.includedSiteCategories.length > 0) {
    const categories = adverts.map((advert) => advert.siteCategory);
    const holds = categories.some((category) => includes(criteria.includedSiteCategories, category));
    judge('includedSiteCategories', holds, criteria.includedSiteCategories, categories);
  }
  if (criteria.withVirtualTour) {
    judge(
      'withVirtualTour',
      adverts.some((advert) => advert.hasVirtualTour),
      true,
      adverts.map((advert) => advert.hasVirtualTour),
    );
  }
  if (criteria.withCoherentPrice) judge('withCoherentPrice', facts.isPriceCoherent, true, facts.isPriceCoherent);
  if (hasAreas(criteria.areas)) {
    const place = { lat: facts.lat, lon: facts.lon, inseeCodes: facts.inseeCodes, zipcodes: facts.zipcodes };
    judge('areas', isInAreas(criteria.areas, facts), criteria.areas, {
      ...place,
      departmentCode: facts.departmentCode,
    });
  }
  if (criteria.excludedInseeCodes.length > 0) {
    const holds = !facts.inseeCodes.some((code) => criteria.excludedInseeCodes.includes(code));
    judge('excludedCities', holds, criteria.excludedInseeCodes, facts.inseeCodes);
  }
  if (criteria.expressions.length > 0) {
    const texts = [...facts.texts, ...adverts.flatMap((advert) => advert.texts)];
    judge('expressions', expressionsHold(criteria.expressions, foldTexts(texts)), criteria.expressions, texts);
  }
  return verdicts;
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
  if (facts.inseeCodes.some((code) => areas.inseeCodes.includes(code))) return true;
  if (includes(areas.departmentCodes, facts.departmentCode)) return true;
  if (facts.zipcodes.some((zipcode) => areas.zipcodes.includes(zipcode))) return true;
  if (lat === null || lon === null) return false;
  if (areas.circle !== null && isInCircle(areas.circle, lat, lon)) return true;
  return areas.polygons.some((polygon) => isInPolygon(polygon, lat, lon));
}

/** Inclusive; an unknown value is in no range that has a bound. */
export function isInRange(range: Range, value: number | null): boolean {
  if (value === null) return range.min === null && range.max === null;
  return (range.min === null || value >= range.min) && (range.max === null || value <= range.max);
}

function includes<T>(list: readonly T[], value: T | null): boolean {
  return value !== null && list.includes(value);
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
