/**
 * Approximate needs, derived from criteria that few properties meet. With them, the kernel excludes most rows that
 * `conditions` would reject. As with the criteria themselves, any advert can meet a need. A criterion that accepts an
 * unknown value has no rough need.
 */

import type { Criteria, CriterionSet } from '../domain/criterion-table.ts';
import { presenceOf } from '../domain/feature-criteria.ts';
import { featureSetOf } from '../domain/features.ts';
import type { AdvertFacts, PropertyFacts } from '../domain/property-facts.ts';
import { bitOfCriterion } from '../domain/unknown-criteria.ts';

interface RoughNeed {
  readonly criterion: CriterionSet;
  asks(criteria: Criteria): boolean;
  meets(facts: PropertyFacts, adverts: readonly AdvertFacts[]): boolean;
}

/** Most searches with this criterion accept only this energy class and better classes. */
const WORST_CLASS = 'D';

/** Rough needs, in the order in which they get the spare bits. A new flag among the criteria displaces the last two. */
export const ROUGH_NEEDS: readonly RoughNeed[] = [
  {
    criterion: bitOfCriterion('floor'),
    asks: ({ floor }) => floor.min !== null && floor.min >= 1,
    meets: ({ floor }) => floor !== null && floor >= 1,
  },
  {
    criterion: bitOfCriterion('energy'),
    asks: ({ energy }) => energy.length > 0 && energy.every((letter) => letter <= WORST_CLASS),
    meets: (_, adverts) => adverts.some(({ energy }) => energy !== null && energy <= WORST_CLASS),
  },
  featuresOf('balcony', 'terrace', 'garden', 'pool'),
  featuresOf('parking', 'garage', 'cellar'),
  {
    criterion: bitOfCriterion('constructionYear'),
    asks: ({ constructionYear: { min, max } }) => min !== null || max !== null,
    meets: (_, adverts) => adverts.some(({ constructionYear }) => constructionYear !== null),
  },
];

/** The need of searches that include any of these features. A property with any of them meets the need. */
function featuresOf(...names: readonly string[]): RoughNeed {
  const features = featureSetOf(names);
  return {
    criterion: bitOfCriterion('includedFeatures'),
    asks: ({ includedFeatures }) => (includedFeatures & features) !== 0,
    meets: (_, adverts) => (presenceOf(adverts).present & features) !== 0,
  };
}
