/**
 * Criteria and properties from small pools: values often equal limits, locations often equal centres, and texts often
 * contain the words. So every criterion is often met and often not. The pools contain the edge cases: round prices,
 * gaps between them, 0, unknown.
 */

import fc from 'fast-check';
import { ALTERNATIVE_CRITERIA } from '../../src/engine/domain/alternatives.ts';
import type { Criteria } from '../../src/engine/domain/criteria.ts';
import type { Range } from '../../src/engine/domain/criterion-kinds.ts';
import { ANYTHING, CRITERION_NAMES, PLAIN_CRITERIA, type PlainRow } from '../../src/engine/domain/criterion-table.ts';
import type { Unit } from '../../src/engine/domain/criterion-words.ts';
import type { ExpressionEntry } from '../../src/engine/domain/expressions.ts';
import { featureSetOf } from '../../src/engine/domain/features.ts';
import type { Polygon } from '../../src/engine/domain/geo.ts';
import { type MarketPrice, type MarketPrices, NO_MARKETS } from '../../src/engine/domain/market-prices.ts';
import { combinationKey, type PointDistances, type PointTerm } from '../../src/engine/domain/point-distances.ts';
import type { AdvertFacts, PropertyFacts } from '../../src/engine/domain/property-facts.ts';
import { criterionSetOf } from '../../src/engine/domain/unknown-criteria.ts';

/** `arbitrary` in one of `oneIn` cases, because a search that sets every criterion matches hardly any property. */
function rarely<T, N>(arbitrary: fc.Arbitrary<T>, otherwise: N, oneIn = 5): fc.Arbitrary<T | N> {
  return fc.oneof({ weight: 1, arbitrary }, { weight: oneIn - 1, arbitrary: fc.constant(otherwise) });
}

const PRICES = [0, 1, 749.5, 750, 751, 199_999, 200_000, 200_001, 234_567, 234_568, 1e6, 3e7] as const;
const SURFACES = [0, 9, 25, 25.5, 26, 60, 61, 62.25, 63, 1000, 5000] as const;
const ROOMS = [0, 1, 2, 3, 4, 150] as const;

const FLOORS = [-2, -1, 0, 1, 2, 30] as const;
const YEARS = [0, 1850, 1948, 1949, 1975, 2030] as const;
const PERCENTS = [-90, -20, 0, 20, 500] as const;

const price = fc.constantFrom(...PRICES);
const AMOUNTS: Readonly<Record<Unit, fc.Arbitrary<number>>> = {
  euros: price,
  eurosPerMeter: price,
  meters: fc.constantFrom(...SURFACES),
  none: fc.constantFrom(...ROOMS),
  floor: fc.constantFrom(...FLOORS),
  year: fc.constantFrom(...YEARS),
  percent: fc.constantFrom(...PERCENTS),
};

function range(value: fc.Arbitrary<number>, oneIn: number): fc.Arbitrary<Range> {
  return fc.record({ min: rarely(value, null, oneIn), max: rarely(value, null, oneIn) });
}

/** Ajaccio, Paris, Saint-Denis of Réunion, both sides of the date line, and a location near the North Pole. */
const CENTRES = [
  { lat: 41.92, lon: 8.74 },
  { lat: 48.8566, lon: 2.3522 },
  { lat: -20.88, lon: 55.45 },
  { lat: -16.5, lon: 179.99 },
  { lat: -16.5, lon: -179.99 },
  { lat: 89.9, lon: 10 },
] as const;
const RADII = [0.1, 0.9, 1, 2, 10, 50, 100, 500] as const;
const RADIANS = Math.PI / 180;

const centre = fc.constantFrom(...CENTRES);
const circle = fc
  .record({ centre, radiusKm: fc.constantFrom(...RADII) })
  .map(({ centre: { lat, lon }, radiusKm }) => ({ lat, lon, radiusKm }));

/** The centres, locations on and next to the circles around them, and a grid with points on the polygons’ edges. */
const place: fc.Arbitrary<{ lat: number; lon: number }> = fc.oneof(
  centre,
  fc
    .record({
      centre,
      radiusKm: fc.constantFrom(...RADII),
      bearing: fc.oneof(fc.constantFrom(0, 90, 180, 270), fc.integer({ min: 0, max: 359 })),
      nudge: fc.constantFrom(0, 0, 1e-12, -1e-12, 1e-6, -1e-6, 0.004, -0.004, 0.012, -0.012),
    })
    .map(({ centre: { lat, lon }, radiusKm, bearing, nudge }) => {
      const arc = (radiusKm * (1 + nudge)) / 6371;
      const sinLat =
        Math.sin(lat * RADIANS) * Math.cos(arc) + Math.cos(lat * RADIANS) * Math.sin(arc) * Math.cos(bearing * RADIANS);
      const turn = Math.atan2(
        Math.sin(bearing * RADIANS) * Math.sin(arc) * Math.cos(lat * RADIANS),
        Math.cos(arc) - Math.sin(lat * RADIANS) * sinLat,
      );
      const east = lon + turn / RADIANS;
      return { lat: Math.asin(sinLat) / RADIANS, lon: east > 180 ? east - 360 : east < -180 ? east + 360 : east };
    }),
  fc
    .record({ centre, north: fc.constantFrom(-0.2, -0.1, -0.05, 0, 0.1, 0.2), east: fc.integer({ min: -4, max: 4 }) })
    .map(({ centre: { lat, lon }, north, east }) => ({
      lat: Math.min(90, lat + north),
      lon: Math.max(-180, Math.min(180, lon + east / 20)),
    })),
);

/** At a centre: a square with or without a square hole, a triangle, or a square of 30 degrees. */
const polygon: fc.Arbitrary<Polygon> = fc
  .record({ centre, shape: fc.constantFrom('square', 'holed', 'triangle', 'continent') })
  .map(({ centre: { lat, lon }, shape }) => {
    const square = (half: number) =>
      [
        [lon - half, lat - half],
        [lon + half, lat - half],
        [lon + half, lat + half],
        [lon - half, lat + half],
        [lon - half, lat - half],
      ] as const;
    if (shape === 'square') return [square(0.2)];
    if (shape === 'holed') return [square(0.2), square(0.1)];
    if (shape === 'continent') return [square(15)];
    return [
      [
        [lon, lat],
        [lon + 0.2, lat + 0.1],
        [lon + 0.1, lat + 0.2],
        [lon, lat],
      ],
    ] as const;
  });

const INSEE_CODES = ['75056', '75101', '75102', '2A004', '97411', '98820'] as const;
const ZIPCODES = ['75001', '75002', '20000', '97400'] as const;
const DEPARTMENTS = ['75', '2A', '974'] as const;
const CATEGORIES = ['portail', 'réseau', 'notaires'] as const;

const COMBINATIONS = [
  { facility: 'school' },
  { facility: 'school', attributes: { schoolType: 'lycée', operatorType: 'public' } },
  { facility: 'parking' },
] as const;
const KILOMETRES = [0.05, 0.42, 1.005, 50] as const;
/** Distances, often equal to a limit of `KILOMETRES`; 50,001 means beyond 50 km. */
const METERS = [0, 419, 420, 421, 1_005, 50_000, 50_001, null] as const;

const pointTerm: fc.Arbitrary<PointTerm> = fc
  .record({ combination: fc.constantFrom(...COMBINATIONS), km: fc.constantFrom(...KILOMETRES), isNear: fc.boolean() })
  .map(({ combination, km, isNear }) => ({ ...combination, ...(isNear ? { within: km } : { beyond: km }) }));

const distances = fc.record(
  Object.fromEntries(COMBINATIONS.map((one) => [combinationKey(one), fc.constantFrom(...METERS)])),
  { requiredKeys: [] },
) as fc.Arbitrary<PointDistances>;

/** Several spellings of four publishers. */
const PUBLISHERS = ['Étude Martin', 'SARL etude martin', 'Foncia', 'FONCIA S.A.', 'Œil & Co', 'SA'] as const;

const WORDS = [
  'balcon',
  'balcons',
  "vue d'exception",
  'vue mer',
  'Cœur',
  'coeur de ville',
  'rénové',
  'rénovée',
  'cour',
  'courir',
  'chaude',
  'sans vis-à-vis',
  'vis à vis',
  'm²',
  'T 3',
  'sdb',
  'vue vue mer',
  'mer mer ασδφ',
  'étage 3ème',
  'rénover',
  'ασδφ',
  '…',
] as const;
const TEXTS = [
  'Bel appartement, vue mer, balcon et cave',
  'Au cœur de ville : maison RÉNOVÉE 🏡 sans vis-à-vis',
  'vue d’exception sur la mer, grands balcons, 80 m²',
  'Studio renove, coeur historique. ασδφ',
  'mer vue de loin; vue, mer',
  'Au fond de la cour, chaudière neuve',
  'cours commune, sols chauds',
  'T3 au troisième étage, salle de bains à rénover',
  't 3, vue, très vue sur la mer, m2, s.d.b.',
  'vue sur toute la mer; mer, vue: sur la mer ασδφ',
  `vue ${'sur la '.repeat(3)}mer`,
  '',
] as const;

const entry: fc.Arbitrary<ExpressionEntry> = fc.record({
  word: fc.constantFrom(...WORDS),
  includes: fc.boolean(),
  strict: fc.boolean(),
});
const groups = fc.array(fc.array(entry, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 3 });

const featureSet = fc
  .uniqueArray(fc.constantFrom('balcony', 'garage', 'alarm'), { minLength: 1, maxLength: 2 })
  .map(featureSetOf);

/** One criterion, several, or all. */
const orMissing = fc
  .oneof(fc.uniqueArray(fc.constantFrom(...CRITERION_NAMES), { minLength: 1 }), fc.constantFrom([...CRITERION_NAMES]))
  .map(criterionSetOf);

function some<T>(...values: readonly T[]): fc.Arbitrary<T[]> {
  return fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });
}

/**
 * A criterion, or each bound of a range, is set in one of this many searches, by default in one of eight. If criteria
 * were set more often, most searches would not match.
 */
const ONE_IN: Partial<Record<PlainRow['name'], number>> = {
  ...{ transactionType: 3, propertyTypes: 2, publisherTypes: 5, withCoherentPrice: 2 },
  ...{ budget: 4, surface: 4, room: 6, furnished: 6, withVirtualTour: 6 },
};

/** A list of codes may also repeat a code, or contain an unknown code. */
function askedOf(row: PlainRow): fc.Arbitrary<unknown> {
  const oneIn = ONE_IN[row.name] ?? 8;
  switch (row.kind) {
    case 'range':
      return range(AMOUNTS[row.words.unit], oneIn);
    case 'code':
      return rarely(fc.nat({ max: row.names.length - 1 }), null, oneIn);
    case 'codes': {
      const codes = fc.uniqueArray(fc.nat({ max: row.names.length - 1 }), { minLength: 1, maxLength: 3 });
      return rarely(fc.oneof({ weight: 5, arbitrary: codes }, fc.constantFrom([1, 0], [0, 0], [9])), [], oneIn);
    }
    case 'letters':
      return rarely(
        fc.uniqueArray(fc.constantFrom(...row.names), { minLength: 1, maxLength: row.names.length }),
        [],
        oneIn,
      );
    case 'flag':
      return rarely(fc.boolean(), null, oneIn);
    case 'requirement':
      return rarely(fc.constant(true), false, oneIn);
  }
}

/** Arbitraries of the facts that plain criteria read from the property, or from its adverts. */
function factsOf(of: 'property' | 'adverts'): Readonly<Record<string, fc.Arbitrary<unknown>>> {
  return Object.fromEntries(
    PLAIN_CRITERIA.filter(({ source }) => source.of === of).map((row) => [row.source.fact, factOf(row)]),
  );
}

function factOf(row: PlainRow): fc.Arbitrary<unknown> {
  switch (row.kind) {
    case 'range':
      return fc.option(AMOUNTS[row.words.unit]);
    case 'code':
    case 'codes':
      return fc.option(fc.oneof(fc.constant(0), fc.nat({ max: row.names.length - 1 })));
    case 'letters':
      return fc.option(fc.constantFrom(...row.names));
    case 'flag':
      return fc.constantFrom(true, false, null);
    case 'requirement':
      return fc.boolean();
  }
}

type PlainFact<Of> = Exclude<Extract<PlainRow['source'], { readonly of: Of }>['fact'], 'markets'>;
type PlainPart<Whole, Name extends PropertyKey> = fc.Arbitrary<Pick<Whole, Name & keyof Whole>>;

const plainCriteria = fc.record(Object.fromEntries(PLAIN_CRITERIA.map((row) => [row.name, askedOf(row)]))) as PlainPart<
  Criteria,
  PlainRow['name']
>;
const plainFacts = fc.record(factsOf('property')) as PlainPart<PropertyFacts, PlainFact<'property'>>;
const plainAdvertFacts = fc.record(factsOf('adverts')) as PlainPart<AdvertFacts, PlainFact<'adverts'>>;

/** Records with the members of both. */
function merged<One extends object, Other extends object>(
  one: fc.Arbitrary<One>,
  other: fc.Arbitrary<Other>,
): fc.Arbitrary<One & Other> {
  return fc.tuple(one, other).map(([a, b]) => ({ ...a, ...b }));
}

const PLACES = {
  inseeCodes: rarely(some(...INSEE_CODES), [], 3),
  departmentCodes: rarely(some(...DEPARTMENTS), [], 5),
  zipcodes: rarely(some(...ZIPCODES), []),
  polygons: rarely(fc.array(polygon, { minLength: 1, maxLength: 3 }), []),
};

const ordinaryCriteria: fc.Arbitrary<Criteria> = merged(
  plainCriteria,
  fc.record({
    areas: fc.record({ ...PLACES, circle: rarely(circle, null, 3) }),
    excludedAreas: rarely(fc.record({ ...PLACES, circle: fc.constant(null) }), ANYTHING.areas, 3),
    includedFeatures: rarely(featureSet, 0, 8),
    excludedFeatures: rarely(featureSet, 0, 8),
    includedSiteCategories: rarely(some(...CATEGORIES), [], 8),
    excludedSiteCategories: rarely(some(...CATEGORIES), []),
    includedPublishers: rarely(some(...PUBLISHERS), [], 8),
    excludedPublishers: rarely(some(...PUBLISHERS), []),
    pointsOfInterest: rarely(fc.array(pointTerm, { minLength: 1, maxLength: 2 }), [], 6),
    expressions: rarely(groups, [], 3),
    orMissing: rarely(orMissing, 0, 2),
    alternatives: fc.constant([]),
  }),
);

/** An alternative sets criteria that the search leaves unset, except those that are allowed on the search only. */
function alternativeTo(search: Criteria, wanted: Criteria): Criteria {
  const own: Record<string, unknown> = { ...ANYTHING, orMissing: wanted.orMissing };
  for (const { unset, isSet } of ALTERNATIVE_CRITERIA) {
    const [key] = Object.keys(unset as object) as [keyof Criteria];
    if (!isSet(search)) own[key] = wanted[key];
  }
  return own as unknown as Criteria;
}

/** One search in five has alternatives. */
export const criteria: fc.Arbitrary<Criteria> = fc
  .tuple(ordinaryCriteria, rarely(fc.array(ordinaryCriteria, { minLength: 1, maxLength: 4 }), []))
  .map(([search, wanted]) => ({ ...search, alternatives: wanted.map((one) => alternativeTo(search, one)) }));

const advert: fc.Arbitrary<AdvertFacts> = merged(
  plainAdvertFacts,
  fc.record({
    siteCategory: fc.constantFrom(null, ...CATEGORIES),
    publisherName: fc.constantFrom(null, '?', ...PUBLISHERS),
    agency: rarely(fc.constantFrom(...PUBLISHERS), null, 2),
    features: rarely(featureSet, 0, 2),
    deniedFeatures: rarely(featureSet, 0, 3),
    texts: fc.array(fc.constantFrom(...TEXTS), { maxLength: 2 }),
  }),
);

/**
 * Two sets of markets of every code, transaction and type. One market in five of the first set, and three in four of
 * the second, have too few prices for a median.
 */
const MARKETS: readonly MarketPrices[] = [
  [1, 5, 3_333, null, 250],
  [null, null, null, 4_000],
].map((medians) => {
  const codes = [...INSEE_CODES, '75101', '75056', '97411', '98820', ...DEPARTMENTS];
  const rows = [...new Set(codes)].flatMap((code, at) =>
    [0, 1].flatMap((transactionType) =>
      Array.from({ length: 7 }, (_, propertyType): readonly [string, MarketPrice] => {
        const median = medians[(at + transactionType + propertyType) % medians.length] ?? null;
        const count = median === null ? null : 50 + at;
        const market = { code, name: code, transactionType, propertyType, median, count, changedAt: new Date(0) };
        return [`${code}/${transactionType}/${propertyType}`, market];
      }),
    ),
  );
  return new Map(rows);
});

export const facts: fc.Arbitrary<PropertyFacts> = merged(
  plainFacts,
  fc
    .record({
      isNowhere: rarely(fc.constant(true), false, 8),
      place: fc.option(place),
      inseeCodes: fc.constantFrom([], ['75101', '75056'], ['75056'], ['2A004'], ['97411'], ['98820']),
      departmentCode: fc.constantFrom(null, ...DEPARTMENTS),
      zipcodes: fc.constantFrom([], ['75001'], ['75001', '75002'], ['20000'], ['97400']),
      texts: fc.array(fc.constantFrom(...TEXTS), { maxLength: 2 }),
      adverts: fc.array(advert, { maxLength: 3 }),
      markets: fc.constantFrom(NO_MARKETS, ...MARKETS),
      distances: fc.option(distances),
    })
    .map(({ isNowhere, place, ...facts }) => ({
      ...facts,
      lat: place?.lat ?? null,
      lon: place?.lon ?? null,
      ...(isNowhere ? NOWHERE : {}),
    })),
);

const NOWHERE = { lat: null, lon: null, inseeCodes: [], departmentCode: null, zipcodes: [] };
