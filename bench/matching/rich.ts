/**
 * Searches with excluded areas, publishers, market differences, alternatives and points of interest, and the facts that
 * these compare. A given share of the searches has one to three of these criteria.
 */

import { type Areas, NOWHERE } from '../../src/engine/domain/areas.ts';
import { LAND, RENT } from '../../src/engine/domain/codes.ts';
import type { Criteria } from '../../src/engine/domain/criteria.ts';
import { UNBOUNDED } from '../../src/engine/domain/criterion-kinds.ts';
import { ANYTHING } from '../../src/engine/domain/criterion-table.ts';
import { featureSetOf } from '../../src/engine/domain/features.ts';
import type { Polygon } from '../../src/engine/domain/geo.ts';
import { type MarketPrice, type MarketPrices, marketKey } from '../../src/engine/domain/market-prices.ts';
import type { PropertyFacts } from '../../src/engine/domain/property-facts.ts';
import { type Random, randomOf } from './random.ts';
import { ringRound } from './second-population.ts';
import { scatter, type Town, type Towns } from './towns.ts';

const RICH_SEARCHES = 41;
const PUBLISHERS = 42;
const AGENCIES = 2_000;
const APARTMENT = 0;
const HOUSE = 1;

/** The input from which a criterion is drawn. `places`: a town of the search, then the nearest towns. */
interface Draw {
  readonly random: Random;
  readonly places: readonly Town[];
}

/** Functions that draw criteria, with their weights. */
const ASKED: readonly (readonly [weight: number, ask: (draw: Draw) => Partial<Criteria>])[] = [
  [12, (draw) => excluding({ polygons: some(draw.random, () => quarterOf(draw)) })],
  [8, (draw) => excluding({ inseeCodes: some(draw.random, () => neighbourOf(draw).insee) })],
  [
    6,
    (draw) => excluding({ zipcodes: some(draw.random, () => neighbourOf(draw)).flatMap(({ zipcodes }) => zipcodes) }),
  ],
  [4, (draw) => excluding({ departmentCodes: [neighbourOf(draw).departmentCode] })],
  [20, ({ random }) => ({ excludedPublishers: some(random, () => agencyOf(random)) })],
  [5, ({ random }) => ({ includedPublishers: some(random, () => agencyOf(random)) })],
  [
    20,
    ({ random }) => ({ marketDifference: { min: random.pick([null, -40], [3, 1]), max: -5 * random.integer(0, 4) } }),
  ],
  [15, alternativeTypes],
  [10, alternativePlaces],
  [8, ({ random }) => ({ pointsOfInterest: [{ facility: 'school', within: random.one([0.3, 0.5, 1]) }] })],
];
const WEIGHTS = ASKED.map(([weight]) => weight);

/** Returns `criteria`, with further criteria for the given share of the searches. */
export function withRichAsked(
  criteria: Criteria,
  towns: Towns,
  seed: number,
  position: number,
  share: number,
): Criteria {
  const random = randomOf(seed, RICH_SEARCHES, position);
  if (!random.chance(share)) return criteria;
  const places = towns.neighbours(townIn(criteria.areas, towns, random));
  const asked = Array.from({ length: random.integer(1, 3) }, () => random.pick(ASKED, WEIGHTS)[1]({ random, places }));
  return Object.assign({}, criteria, ...asked);
}

/** A town of the areas or near them; any town if they name none. */
function townIn({ circle, inseeCodes, departmentCodes, zipcodes, polygons }: Areas, towns: Towns, random: Random) {
  const [lon, lat] = polygons[0]?.[0]?.[0] ?? [circle?.lon, circle?.lat];
  if (lon !== undefined && lat !== undefined) return towns.nearest(lat, lon);
  return towns.named(inseeCodes[0] ?? zipcodes[0] ?? departmentCodes[0] ?? '') ?? towns.draw(random);
}

function excluding(areas: Partial<Areas>): Partial<Criteria> {
  return { excludedAreas: { ...NOWHERE, ...areas } };
}

function some<Value>(random: Random, draw: () => Value): Value[] {
  return Array.from({ length: random.pick([1, 2, 3], [60, 25, 15]) }, draw);
}

function neighbourOf({ random, places }: Draw): Town {
  return random.one(places.slice(1));
}

function quarterOf({ random, places: [town] }: Draw): Polygon {
  const { lat, lon } = scatter(town as Town, 2, random);
  return [ringRound(lat, lon, 0.3 + 2 * random.next() ** 2, random.integer(5, 20), random)];
}

/** An eighth of the agencies publishes half of the adverts. */
function agencyOf(random: Random): string {
  return `Agence ${Math.floor(AGENCIES * random.next() ** 3)}`;
}

/** A flat with a terrace or balcony, or a house with land. */
function alternativeTypes({ random }: Draw): Partial<Criteria> {
  const outside = random.one(['terrace', 'balcony'] as const);
  const flat = { ...ANYTHING, propertyTypes: [APARTMENT], includedFeatures: featureSetOf([outside]) };
  const house = { ...ANYTHING, propertyTypes: [HOUSE], landSurface: { min: 100 * random.integer(1, 8), max: null } };
  return { propertyTypes: [], includedFeatures: 0, landSurface: UNBOUNDED, alternatives: [flat, house] };
}

/** Two or three places, each with a lowest number of rooms. */
function alternativePlaces({ random, places }: Draw): Partial<Criteria> {
  const alternatives = places.slice(0, random.integer(2, 3)).map(({ insee }, i) => ({
    ...ANYTHING,
    areas: { ...NOWHERE, inseeCodes: [insee] },
    room: { min: 2 + i, max: null },
  }));
  return { areas: NOWHERE, room: UNBOUNDED, alternatives };
}

/** A market for each department, transaction and type. */
export function marketsOf(towns: Towns): MarketPrices {
  const departments = new Set(towns.all.map(({ departmentCode }) => departmentCode));
  const rows = [...departments].flatMap((code) =>
    [0, RENT].flatMap((transactionType) =>
      Array.from({ length: 7 }, (_, propertyType): MarketPrice => {
        const median = transactionType === RENT ? 14 : propertyType === LAND ? 150 : 3_200;
        return { code, name: code, transactionType, propertyType, median, count: 500, changedAt: new Date(0) };
      }),
    ),
  );
  return new Map(rows.map((row) => [marketKey(row.code, row.transactionType, row.propertyType), row]));
}

/** Returns `facts` with the markets, the distance to a school, and a publisher for most adverts that have none. */
export function withRichStated(facts: PropertyFacts, markets: MarketPrices, seed: number, position: number) {
  const random = randomOf(seed, PUBLISHERS, position);
  const adverts = facts.adverts.map((advert) => {
    const publisherName = advert.publisherName ?? (random.chance(0.8) ? agencyOf(random) : null);
    return { ...advert, publisherName };
  });
  return { ...facts, markets, adverts, distances: { 'school//': random.integer(50, 5_000) } };
}
