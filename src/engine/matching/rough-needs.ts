/**
 * Needs that follow from what few properties state as searches ask for it, so that the kernel leaves out most of those
 * that `conditions` would. They are met by any advert, as the criteria are; a criterion that accepts an unknown value
 * has none.
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

/** Most searches by class end with it. */
const WORST_CLASS = 'D';

/** In order of use: flags to come take the place of the last ones. */
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

/** Some of these, where any is asked for. */
function featuresOf(...names: readonly string[]): RoughNeed {
  const features = featureSetOf(names);
  return {
    criterion: bitOfCriterion('includedFeatures'),
    asks: ({ includedFeatures }) => (includedFeatures & features) !== 0,
    meets: (_, adverts) => (presenceOf(adverts).present & features) !== 0,
  };
}
