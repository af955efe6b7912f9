/** By how much a property fails a criterion, and what a search would be without one. Pure. */

import { type Criteria, type Judgement, type Range, setCriteria, UNBOUNDED } from './criteria.ts';
import { type CriterionName, isRangeName } from './criterion-names.ts';
import { distanceKm } from './geo.ts';
import type { PropertyFacts } from './property-facts.ts';

/** What a client can leave out of a search. */
export type RemovableCriterion = Exclude<CriterionName, 'liveAdvert'> | 'excludedSiteCategories';

/** Those that are set, in the order in which they are judged. Never `liveAdvert`: nobody asks for it. */
export function removableCriteria(criteria: Criteria): readonly RemovableCriterion[] {
  const asked = setCriteria(criteria).filter((name) => name !== 'liveAdvert');
  return criteria.excludedSiteCategories.length === 0 ? asked : [...asked, 'excludedSiteCategories'];
}

export const NOWHERE: Criteria['areas'] = {
  circle: null,
  inseeCodes: [],
  departmentCodes: [],
  zipcodes: [],
  polygons: [],
};

/** The same search without one criterion; all geography is one. */
export function withoutCriterion(criteria: Criteria, name: RemovableCriterion): Criteria {
  if (isRangeName(name)) return { ...criteria, [name]: UNBOUNDED };
  switch (name) {
    case 'transactionType':
    case 'furnished':
      return { ...criteria, [name]: null };
    case 'withVirtualTour':
    case 'withCoherentPrice':
      return { ...criteria, [name]: false };
    case 'areas':
      return { ...criteria, areas: NOWHERE };
    case 'excludedCities':
      return { ...criteria, excludedInseeCodes: [] };
    case 'propertyTypes':
    case 'publisherTypes':
    case 'includedSiteCategories':
    case 'excludedSiteCategories':
    case 'expressions':
      return { ...criteria, [name]: [] };
  }
}

/**
 * Relative distance of what fails: 0.1 is ten per cent beyond the bound or the radius. Null when there is no measure: the
 * value is unknown, or is one of a list.
 */
export function relativeDistance(
  { criterion, expected, actual }: Judgement,
  criteria: Criteria,
  { lat, lon }: PropertyFacts,
): number | null {
  if (isRangeName(criterion)) return distanceToRange(expected as Range, actual as readonly (number | null)[]);
  const { circle } = criteria.areas;
  if (criterion !== 'areas' || circle === null || lat === null || lon === null) return null;
  return distanceKm(circle.lat, circle.lon, lat, lon) / circle.radiusKm - 1;
}

/** Of the nearest value. */
function distanceToRange({ min, max }: Range, values: readonly (number | null)[]): number | null {
  const distances = values.flatMap((value) => {
    if (value === null) return [];
    if (min !== null && value < min) return [(min - value) / min];
    return max !== null && max > 0 && value > max ? [(value - max) / max] : [];
  });
  return distances.length === 0 ? null : Math.min(...distances);
}
