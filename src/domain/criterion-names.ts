/** What the criteria of a search are called, in the order in which they are judged. */

export const RANGE_NAMES = [
  'budget',
  'pricePerMeter',
  'surface',
  'landSurface',
  'room',
  'bedroom',
  'advertPrice',
] as const;
export type RangeName = (typeof RANGE_NAMES)[number];

export const CRITERION_NAMES = [
  'liveAdvert',
  'transactionType',
  'propertyTypes',
  ...RANGE_NAMES,
  'furnished',
  'publisherTypes',
  'includedSiteCategories',
  'withVirtualTour',
  'withCoherentPrice',
  'areas',
  'excludedCities',
  'expressions',
] as const;
export type CriterionName = (typeof CRITERION_NAMES)[number];

export function isRangeName(name: string): name is RangeName {
  return (RANGE_NAMES as readonly string[]).includes(name);
}
