/**
 * A property as matching sees it: exactly the values that criteria compare. Null is unknown. A criterion that requires
 * an unknown value fails, unless the search accepts unknown values (decisions, section 3).
 */

import type { FeatureSet } from './features.ts';
import { marketPercent, NO_MARKETS } from './market-prices.ts';
import { areSameDistances, type PointDistances } from './point-distances.ts';
import { eachFlag } from './property-flags.ts';

const unknownNumber = null as number | null;
const unknownText = null as string | null;
const unknownFlag = null as boolean | null;

/** A live advert of which nothing is known. `sameFacts` compares the members in this order. */
export const NOTHING_KNOWN_OF_ADVERT = {
  price: unknownNumber,
  hasVirtualTour: false,
  constructionYear: unknownNumber,
  /** Euros a year. */
  condominiumFees: unknownNumber,
  /** Euros a month. */
  rentalCharges: unknownNumber,
  /** Classes, A to G. */
  energy: unknownText,
  greenHouseGas: unknownText,
  /** Features that the advert names; `deniedFeatures`: those that it denies. */
  features: 0 as FeatureSet,
  deniedFeatures: 0 as FeatureSet,
  publisherType: unknownNumber,
  /** `publisher.name` and, if it is another name, `contact.agency`, as written. */
  publisherName: unknownText,
  agency: unknownText,
  siteCategory: unknownText,
  /** Title and description as written. */
  texts: [] as readonly string[],
};

/** A live advert. A property without one matches no search. */
export type AdvertFacts = Readonly<typeof NOTHING_KNOWN_OF_ADVERT>;

/** A property without known facts. `sameFacts` compares the members in this order. */
export const NOTHING_KNOWN = {
  price: unknownNumber,
  pricePerMeter: unknownNumber,
  surface: unknownNumber,
  /** Degrees, WGS 84. `lat` and `lon` are either both known or both null. */
  lat: unknownNumber,
  lon: unknownNumber,
  transactionType: unknownNumber,
  propertyType: unknownNumber,
  landSurface: unknownNumber,
  room: unknownNumber,
  bedroom: unknownNumber,
  /** 0 is the ground floor. */
  floor: unknownNumber,
  isOnLastFloor: unknownFlag,
  ...eachFlag(() => unknownFlag),
  departmentCode: unknownText,
  /** False if the price is known to be incoherent (decisions, section 3). */
  isPriceCoherent: true,
  /** The stored markets with which searches compare the property's price. */
  markets: NO_MARKETS,
  /** Distances to the combinations that searches name; null if there are none, or the coordinates are unknown. */
  distances: null as PointDistances | null,
  /** INSEE codes and zip codes by which a search can include this location (see `ResolvedPlace`). */
  inseeCodes: [] as readonly string[],
  zipcodes: [] as readonly string[],
  /** Title and description of the property itself, as written. */
  texts: [] as readonly string[],
  adverts: [] as readonly AdvertFacts[],
};

export type PropertyFacts = Readonly<typeof NOTHING_KNOWN>;

const { adverts: _, markets: __, distances: ___, ...OWN } = NOTHING_KNOWN;
const OWN_FACTS = namesOf(OWN);
const ADVERT_FACTS = namesOf(NOTHING_KNOWN_OF_ADVERT);

/** True if every search treats both alike. Most changes of an advert affect no compared value. */
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
