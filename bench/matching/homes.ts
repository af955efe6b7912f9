/**
 * Facts about homes in adverts, and criteria on them. An advert states each fact as often as French adverts do. A given
 * share of the searches has one to three of these criteria. Half of these searches accept an unknown value, as new
 * searches of the console do.
 */

import type { Criteria } from '../../src/engine/domain/criteria.ts';
import { type FeatureName, featureSetOf } from '../../src/engine/domain/features.ts';
import type { AdvertFacts, PropertyFacts } from '../../src/engine/domain/property-facts.ts';
import { criterionSetOf } from '../../src/engine/domain/unknown-criteria.ts';
import { type Random, randomOf } from './random.ts';

const HOME_SEARCHES = 31;
const HOMES = 32;
const CLASSES = ['A', 'B', 'C', 'D', 'E', 'F', 'G'];
const CLASS_WEIGHTS = [3, 6, 25, 33, 19, 8, 6];
const APARTMENT = 0;
const HOUSE = 1;
const RENT = 1;

/** Features, with the share of adverts that state them, and their weight in searches by feature. */
const FEATURES: readonly (readonly [FeatureName, stated: number, asked: number])[] = [
  ['parking', 0.3, 20],
  ['garage', 0.2, 15],
  ['balcony', 0.25, 20],
  ['terrace', 0.25, 15],
  ['garden', 0.2, 20],
  ['cellar', 0.25, 10],
  ['pool', 0.05, 8],
  ['airConditioning', 0.08, 5],
  ['toRenovate', 0.04, 3],
  ['furnishedKitchen', 0.2, 4],
];

/** A criterion, with its weight. */
const ASKED: readonly (readonly [weight: number, ask: (random: Random, isRent: boolean) => Partial<Criteria>])[] = [
  [18, floorOf],
  [5, () => ({ lastFloor: true })],
  [15, (random) => ({ elevator: random.chance(0.95) })],
  [10, yearOf],
  [8, (random, isRent) => chargesOf(random, isRent)],
  [18, (random) => ({ energy: lettersOf(random) })],
  [4, (random) => ({ greenHouseGas: lettersOf(random) })],
  [18, (random) => ({ includedFeatures: featuresAsked(random) })],
  [4, (random) => ({ excludedFeatures: featuresAsked(random) })],
];
const WEIGHTS = ASKED.map(([weight]) => weight);

/** Returns `criteria`, with criteria of the home added for the given share of the searches. */
export function withHomeAsked(criteria: Criteria, seed: number, position: number, share: number): Criteria {
  const random = randomOf(seed, HOME_SEARCHES, position);
  if (!random.chance(share)) return criteria;
  const asked: Partial<Criteria>[] = [];
  for (let left = random.integer(1, 3); left > 0; left--) {
    const [, ask] = random.pick(ASKED, WEIGHTS);
    asked.push(ask(random, criteria.transactionType === RENT));
  }
  const home: Partial<Criteria> = Object.assign({}, ...asked);
  const orMissing = random.chance(0.5) ? criterionSetOf(Object.keys(home)) : 0;
  return { ...criteria, ...home, orMissing };
}

function floorOf(random: Random): Partial<Criteria> {
  const isLow = random.chance(0.15);
  const floor = isLow
    ? { min: null, max: random.pick([0, 1, 2], [2, 2, 1]) }
    : { min: random.pick([1, 2, 3], [7, 2, 1]), max: null };
  return { floor };
}

function yearOf(random: Random): Partial<Criteria> {
  const constructionYear = random.chance(0.8)
    ? { min: random.pick([1950, 1970, 1980, 1990, 2000, 2010, 2015], [1, 1, 2, 2, 4, 3, 1]), max: null }
    : { min: null, max: random.pick([1914, 1948, 1970], [1, 3, 1]) };
  return { constructionYear };
}

function chargesOf(random: Random, isRent: boolean): Partial<Criteria> {
  return isRent
    ? { rentalCharges: { min: null, max: 50 * random.integer(1, 6) } }
    : { condominiumFees: { min: null, max: 500 * random.integer(1, 8) } };
}

function lettersOf(random: Random): string[] {
  return CLASSES.slice(0, random.pick([1, 2, 3, 4, 5], [1, 2, 8, 10, 4]));
}

function featuresAsked(random: Random): number {
  const draw = (): FeatureName =>
    random.pick(
      FEATURES.map(([name]) => name),
      FEATURES.map(([, , asked]) => asked),
    );
  return featureSetOf(random.chance(0.75) ? [draw()] : [draw(), draw()]);
}

/** Returns `facts` with facts about the home added. */
export function withHomeStated(facts: PropertyFacts, seed: number, position: number): PropertyFacts {
  const random = randomOf(seed, HOMES, position);
  const isApartment = facts.propertyType === APARTMENT;
  const floors = random.integer(1, 8);
  const floor = isApartment && random.chance(0.6) ? random.integer(0, floors) : null;
  const isTopKnown = floor !== null && random.chance(0.5);
  return {
    ...facts,
    floor,
    isOnLastFloor: isTopKnown ? floor >= floors - 1 : null,
    elevator: isApartment && random.chance(0.5) ? random.chance(floors > 3 ? 0.8 : 0.3) : null,
    adverts: facts.adverts.map((advert) => homeOf(advert, facts, random)),
  };
}

function homeOf(advert: AdvertFacts, { propertyType, transactionType }: PropertyFacts, random: Random): AdvertFacts {
  const isBuilding = propertyType === APARTMENT || propertyType === HOUSE;
  const isRent = transactionType === RENT;
  const stated = <Value>(share: number, value: Value): Value | null =>
    random.chance(isBuilding ? share : share / 10) ? value : null;
  const features = FEATURES.filter(([, share]) => random.chance(0.6) && random.chance(share / 0.6));
  return {
    ...advert,
    constructionYear: stated(0.35, Math.round(2020 - 100 * random.next() ** 1.5)),
    condominiumFees: isRent || propertyType !== APARTMENT ? null : stated(0.4, random.integer(300, 4000)),
    rentalCharges: isRent ? stated(0.6, random.integer(10, 300)) : null,
    energy: stated(0.8, random.pick(CLASSES, CLASS_WEIGHTS)),
    greenHouseGas: stated(0.75, random.pick(CLASSES, CLASS_WEIGHTS)),
    features: featureSetOf(features.map(([name]) => name)),
  };
}
