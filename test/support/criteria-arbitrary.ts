/**
 * Criteria and properties from small pools, so that bounds meet values, centres meet places and words meet texts, and
 * every criterion both holds and fails often. Pools contain the borders: round prices, gaps between them, 0, unknown.
 */

import fc from 'fast-check';
import type { Criteria, Range } from '../../src/domain/criteria.ts';
import type { ExpressionEntry } from '../../src/domain/expressions.ts';
import type { Polygon } from '../../src/domain/geo.ts';
import type { AdvertFacts, PropertyFacts } from '../../src/domain/property-facts.ts';

/** Mostly absent: a search with everything set matches nothing. */
function rarely<T, N>(arbitrary: fc.Arbitrary<T>, otherwise: N, oneIn = 5): fc.Arbitrary<T | N> {
  return fc.oneof({ weight: 1, arbitrary }, { weight: oneIn - 1, arbitrary: fc.constant(otherwise) });
}

const PRICES = [0, 1, 749.5, 750, 751, 199_999, 200_000, 200_001, 234_567, 234_568, 1e6, 3e7] as const;
const SURFACES = [0, 9, 25, 25.5, 26, 60, 61, 62.25, 63, 1000, 5000] as const;
const ROOMS = [0, 1, 2, 3, 4, 150] as const;

const price = fc.constantFrom(...PRICES);
const surface = fc.constantFrom(...SURFACES);
const rooms = fc.constantFrom(...ROOMS);

function range(value: fc.Arbitrary<number>, oneIn: number): fc.Arbitrary<Range> {
  return fc.record({ min: rarely(value, null, oneIn), max: rarely(value, null, oneIn) });
}

/** Ajaccio, Paris, Saint-Denis of Réunion, both sides of the date line, the pole. */
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

/** The centres, places on and next to the circles round them, places on the edges of the polygons. */
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

/** Round a centre: a square with a square hole, a triangle, one that covers a continent. */
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
  '',
] as const;

const entry: fc.Arbitrary<ExpressionEntry> = fc.record({
  word: fc.constantFrom(...WORDS),
  includes: fc.boolean(),
  strict: fc.boolean(),
});
const groups = fc.array(fc.array(entry, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 3 });

function some<T>(...values: readonly T[]): fc.Arbitrary<T[]> {
  return fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });
}

export const criteria: fc.Arbitrary<Criteria> = fc.record({
  transactionType: rarely(fc.constantFrom(0, 1), null, 3),
  propertyTypes: rarely(fc.oneof(some(0, 1, 2, 5), fc.constantFrom([1, 0], [0, 0], [9])), [], 2),
  publisherTypes: rarely(fc.constantFrom([0], [1], [0, 1], [1, 0]), []),
  budget: range(price, 4),
  advertPrice: range(price, 8),
  pricePerMeter: range(price, 8),
  surface: range(surface, 4),
  landSurface: range(surface, 8),
  room: range(rooms, 6),
  bedroom: range(rooms, 8),
  furnished: rarely(fc.boolean(), null, 6),
  withCoherentPrice: fc.boolean(),
  withVirtualTour: rarely(fc.constant(true), false, 6),
  areas: fc.record({
    circle: rarely(circle, null, 3),
    inseeCodes: rarely(some(...INSEE_CODES), [], 3),
    departmentCodes: rarely(some(...DEPARTMENTS), [], 5),
    zipcodes: rarely(some(...ZIPCODES), []),
    polygons: rarely(fc.array(polygon, { minLength: 1, maxLength: 3 }), []),
  }),
  excludedInseeCodes: rarely(some(...INSEE_CODES), []),
  includedSiteCategories: rarely(some(...CATEGORIES), [], 8),
  excludedSiteCategories: rarely(some(...CATEGORIES), []),
  expressions: rarely(groups, [], 3),
});

const advert: fc.Arbitrary<AdvertFacts> = fc.record({
  siteCategory: fc.constantFrom(null, ...CATEGORIES),
  publisherType: fc.constantFrom(null, 0, 1),
  price: fc.option(price),
  hasVirtualTour: fc.boolean(),
  texts: fc.array(fc.constantFrom(...TEXTS), { maxLength: 2 }),
});

export const facts: fc.Arbitrary<PropertyFacts> = fc
  .record({
    transactionType: fc.constantFrom(0, 0, 1, 1, null),
    propertyType: fc.constantFrom(0, 0, 1, 2, 5, null),
    price: fc.option(price),
    pricePerMeter: fc.option(price),
    surface: fc.option(surface),
    landSurface: fc.option(surface),
    room: fc.option(rooms),
    bedroom: fc.option(rooms),
    furnished: fc.constantFrom(true, false, null),
    place: fc.option(place),
    inseeCodes: fc.constantFrom([], ['75101', '75056'], ['75056'], ['2A004'], ['97411'], ['98820']),
    departmentCode: fc.constantFrom(null, ...DEPARTMENTS),
    zipcodes: fc.constantFrom([], ['75001'], ['75001', '75002'], ['20000'], ['97400']),
    texts: fc.array(fc.constantFrom(...TEXTS), { maxLength: 2 }),
    adverts: fc.array(advert, { maxLength: 3 }),
    isPriceCoherent: fc.boolean(),
  })
  .map(({ place, ...facts }) => ({ ...facts, lat: place?.lat ?? null, lon: place?.lon ?? null }));
