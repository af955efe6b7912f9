/**
 * A property as matching sees it: exactly the values that criteria compare. Null is unknown. A criterion on an unknown
 * value fails, unless the search accepts unknown values (decisions, section 3).
 */

import type { FeatureSet } from './features.ts';
import { type MarketPrices, marketPercent, NO_MARKETS } from './market-prices.ts';
import { areSameDistances, type PointDistances } from './point-distances.ts';
import { eachFlag, type StatedFlags } from './property-flags.ts';

/** A live advert. A property without one matches no search. */
export interface AdvertFacts {
  readonly siteCategory: string | null;
  readonly publisherType: number | null;
  /** `publisher.name` and, if it is another one, `contact.agency`, as written. */
  readonly publisherName: string | null;
  readonly agency: string | null;
  readonly price: number | null;
  readonly hasVirtualTour: boolean;
  readonly constructionYear: number | null;
  /** Euros a year. */
  readonly condominiumFees: number | null;
  /** Euros a month. */
  readonly rentalCharges: number | null;
  /** Classes, A to G. */
  readonly energy: string | null;
  readonly greenHouseGas: string | null;
  /** Features that the advert names; `deniedFeatures`: those that it denies. */
  readonly features: FeatureSet;
  readonly deniedFeatures: FeatureSet;
  /** Title and description as written. */
  readonly texts: readonly string[];
}

export interface PropertyFacts extends StatedFlags {
  readonly transactionType: number | null;
  readonly propertyType: number | null;
  readonly price: number | null;
  readonly pricePerMeter: number | null;
  readonly surface: number | null;
  readonly landSurface: number | null;
  readonly room: number | null;
  readonly bedroom: number | null;
  /** 0 is the ground floor. */
  readonly floor: number | null;
  readonly isOnLastFloor: boolean | null;
  /** Degrees, WGS 84. `lat` and `lon` are either both known or both null. */
  readonly lat: number | null;
  readonly lon: number | null;
  /** INSEE codes by which a search can include this location. For an arrondissement, also the code of its commune. */
  readonly inseeCodes: readonly string[];
  readonly departmentCode: string | null;
  readonly zipcodes: readonly string[];
  /** Title and description of the property itself, as written. */
  readonly texts: readonly string[];
  readonly adverts: readonly AdvertFacts[];
  /** False if the price is known to be incoherent (decisions, section 3). */
  readonly isPriceCoherent: boolean;
  /** The stored markets with which searches compare the property's price. */
  readonly markets: MarketPrices;
  /** Distances to the combinations that searches name; null if there are none, or the coordinates are unknown. */
  readonly distances: PointDistances | null;
}

/** A property without known facts. `sameFacts` compares the members in this order. */
export const NOTHING_KNOWN: PropertyFacts = {
  price: null,
  pricePerMeter: null,
  surface: null,
  lat: null,
  lon: null,
  transactionType: null,
  propertyType: null,
  landSurface: null,
  room: null,
  bedroom: null,
  floor: null,
  isOnLastFloor: null,
  ...eachFlag(() => null),
  departmentCode: null,
  isPriceCoherent: true,
  markets: NO_MARKETS,
  distances: null,
  inseeCodes: [],
  zipcodes: [],
  texts: [],
  adverts: [],
};
export const NOTHING_KNOWN_OF_ADVERT: AdvertFacts = {
  price: null,
  hasVirtualTour: false,
  constructionYear: null,
  condominiumFees: null,
  rentalCharges: null,
  energy: null,
  greenHouseGas: null,
  features: 0,
  deniedFeatures: 0,
  publisherType: null,
  publisherName: null,
  agency: null,
  siteCategory: null,
  texts: [],
};

const { adverts: _, markets: __, distances: ___, ...OWN } = NOTHING_KNOWN;
const OWN_FACTS = namesOf(OWN);
const ADVERT_FACTS = namesOf(NOTHING_KNOWN_OF_ADVERT);

/** True if matching cannot distinguish the two. Most changes of an advert affect no compared value. */
export function sameFacts(a: PropertyFacts, b: PropertyFacts): boolean {
  if (!sameValues(a, b, OWN_FACTS) || a.adverts.length !== b.adverts.length) return false;
  if (a.markets !== b.markets && marketPercent(a) !== marketPercent(b)) return false;
  if (!areSameDistances(a.distances, b.distances)) return false;
  return a.adverts.every((advert, i) => sameValues(advert, b.adverts[i] as AdvertFacts, ADVERT_FACTS));
}

/** Every fact except `adverts`, `markets` and `distances` is a single value or a list of strings. */
function sameValues<Fact extends string>(
  a: Readonly<Record<Fact, unknown>>,
  b: Readonly<Record<Fact, unknown>>,
  facts: readonly Fact[],
): boolean {
  for (const fact of facts) {
    const [one, other] = [a[fact], b[fact]];
    if (one === other) continue;
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  }
  return true;
}

function namesOf<Facts extends object>(facts: Facts): readonly (keyof Facts & string)[] {
  return Object.keys(facts) as (keyof Facts & string)[];
}
