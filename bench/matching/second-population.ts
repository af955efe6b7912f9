/**
 * A second population, as different from the first (`population`) as the criteria allow. Texts of 1,500 characters have
 * place names of the whole country, and a property has up to three adverts. A third of the searches have polygons of 5
 * to 300 corners, a third have words. Four towns in ten are drawn with equal probability. Searches also use criteria
 * that the first population omits: zip codes, excluded communes, site categories, land, furniture, virtual tours.
 */

import { NOWHERE } from '../../src/engine/domain/areas.ts';
import type { Criteria } from '../../src/engine/domain/criteria.ts';
import { type Range, UNBOUNDED } from '../../src/engine/domain/criterion-kinds.ts';
import { ANYTHING } from '../../src/engine/domain/criterion-table.ts';
import type { ExpressionEntry, Expressions } from '../../src/engine/domain/expressions.ts';
import type { Polygon, Position } from '../../src/engine/domain/geo.ts';
import {
  type AdvertFacts,
  NOTHING_KNOWN,
  NOTHING_KNOWN_OF_ADVERT,
  type PropertyFacts,
} from '../../src/engine/domain/property-facts.ts';
import { type Random, randomOf } from './random.ts';
import { describe, WORDS } from './texts.ts';
import { scatter, type Town, type Towns } from './towns.ts';

const SEARCHES = 12;
const ADVERTS = 13;
const TEXT_LENGTH = 1500;
const KM_PER_DEGREE = 111.2;
const CATEGORIES = ['portail', 'réseau', 'agence', 'notaires', 'mairies'];
const RANGES = ['budget', 'surface', 'landSurface', 'room', 'bedroom', 'pricePerMeter'] as const;

export function secondSearchOf(towns: Towns, seed: number, position: number): Criteria {
  const random = randomOf(seed, SEARCHES, position);
  const town = townOf(towns, random);
  const transactionType = random.pick([0, 1, null], [50, 40, 10]);
  const price = priceOf(random, transactionType === 1);
  const surface = surfaceOf(random);
  const rarely = (value: number): number | null => (random.chance(0.15) ? value : null);
  return {
    ...ANYTHING,
    transactionType,
    propertyTypes: Array.from({ length: random.pick([0, 1, 2, 4], [30, 40, 20, 10]) }, () => random.integer(0, 6)),
    publisherTypes: random.pick<number[]>([[], [0], [1], [0, 1]], [75, 10, 10, 5]),
    budget: { min: random.chance(0.5) ? Math.round(price * 0.7) : null, max: Math.round(price * 1.3) },
    pricePerMeter: { min: null, max: rarely(transactionType === 1 ? 25 : 5500) },
    surface: rangeOf(random, surface),
    landSurface: random.chance(0.08) ? { min: random.integer(50, 1500), max: null } : UNBOUNDED,
    room: { min: rarely(random.integer(1, 6)), max: rarely(random.integer(2, 8)) },
    bedroom: { min: rarely(random.integer(1, 4)), max: null },
    furnished: random.pick([null, true, false], [90, 6, 4]),
    withCoherentPrice: random.chance(0.6),
    withVirtualTour: random.chance(0.03),
    areas: areasOf(towns, town, random),
    excludedAreas: random.chance(0.05)
      ? { ...NOWHERE, inseeCodes: [towns.neighbours(town)[1]?.insee ?? town.insee] }
      : NOWHERE,
    includedSiteCategories: random.chance(0.03) ? [random.one(CATEGORIES)] : [],
    excludedSiteCategories: random.chance(0.03) ? [random.one(CATEGORIES)] : [],
    expressions: expressionsOf(towns, random),
  };
}

export function secondPropertyOf(towns: Towns, seed: number, position: number): PropertyFacts {
  const random = randomOf(seed, ADVERTS, position);
  const town = townOf(towns, random);
  const transactionType = random.chance(0.4) ? 1 : 0;
  const surface = surfaceOf(random);
  const price = Math.round(priceOf(random, transactionType === 1));
  const room = Math.max(1, Math.round(surface / 22));
  const { lat, lon } = scatter(town, 3, random);
  const isPlaced = random.chance(0.97);
  const values: Record<(typeof RANGES)[number], number | null> = {
    ...{ budget: price, pricePerMeter: Number((price / surface).toFixed(2)), surface, room },
    ...{ bedroom: Math.max(1, room - 1), landSurface: random.chance(0.4) ? random.integer(80, 3000) : null },
  };
  for (const range of RANGES) if (random.chance(0.05)) values[range] = null;
  const { budget, ...others } = values;
  return {
    ...NOTHING_KNOWN,
    transactionType,
    propertyType: random.pick([0, 1, 2, 3, 4, 5, 6, null], [40, 30, 5, 5, 5, 10, 3, 2]),
    price: budget,
    ...others,
    furnished: random.pick([null, true, false], [60, 20, 20]),
    lat: isPlaced ? lat : null,
    lon: isPlaced ? lon : null,
    inseeCodes: town.inseeCodes,
    departmentCode: town.departmentCode,
    zipcodes: town.zipcodes,
    adverts: Array.from({ length: random.pick([1, 2, 3], [80, 15, 5]) }, () => advertOf(towns, town, price, random)),
    isPriceCoherent: random.chance(0.95),
  };
}

const AGENCIES = 60;

function advertOf(towns: Towns, town: Town, price: number, random: Random): AdvertFacts {
  return {
    ...NOTHING_KNOWN_OF_ADVERT,
    siteCategory: random.chance(0.9) ? random.one(CATEGORIES) : null,
    publisherType: random.pick([0, 1, null], [30, 65, 5]),
    // Not drawn from the generator, so that the other values do not depend on it.
    publisherName: `Agence ${Math.round(price) % AGENCIES}`,
    price: random.chance(0.9) ? price : null,
    hasVirtualTour: random.chance(0.2),
    texts: longText(towns, town, random),
  };
}

/** A title, and 1,500 characters of sentences with names and figures between them. */
function longText(towns: Towns, town: Town, random: Random): string[] {
  const [title, first] = describe(random) as [string, string];
  let text = first;
  while (text.length < TEXT_LENGTH) {
    const [, sentences] = describe(random) as [string, string];
    const near = random.one(towns.neighbours(town)).name;
    text += ` À ${random.integer(2, 40)} km de ${near}, ${random.one(towns.all).name}. ${sentences}`;
  }
  return [`${title}, ${town.name}`, text.slice(0, TEXT_LENGTH)];
}

/** A town drawn by population, or any town with equal probability. */
function townOf(towns: Towns, random: Random): Town {
  return random.chance(0.6) ? towns.draw(random) : random.one(towns.all);
}

function priceOf(random: Random, isRent: boolean): number {
  return (isRent ? 900 : 240_000) * Math.exp(0.5 * random.normal());
}

function surfaceOf(random: Random): number {
  return Math.max(9, Math.round(75 * Math.exp(0.5 * random.normal())));
}

function rangeOf(random: Random, value: number): Range {
  return {
    min: random.chance(0.4) ? Math.round(value * 0.6) : null,
    max: random.chance(0.3) ? Math.round(value * 1.5) : null,
  };
}

function areasOf(towns: Towns, town: Town, random: Random): Criteria['areas'] {
  const nowhere = { circle: null, inseeCodes: [], departmentCodes: [], zipcodes: [], polygons: [] };
  const circle = { ...scatter(town, 5, random), radiusKm: Math.round(100 * Math.exp(2.2 + random.normal())) / 100 };
  switch (random.pick(['polygon', 'circle', 'zipcodes', 'cities', 'department', 'both'], [32, 28, 15, 15, 6, 4])) {
    case 'polygon':
      return { ...nowhere, polygons: [polygonRound(scatter(town, 4, random), random)] };
    case 'circle':
      return { ...nowhere, circle };
    case 'zipcodes':
      return { ...nowhere, zipcodes: towns.neighbours(town).slice(0, random.integer(1, 5)).flatMap(zipcodesOf) };
    case 'cities':
      return { ...nowhere, inseeCodes: towns.neighbours(town).slice(0, random.integer(1, 8)).map(inseeOf) };
    case 'department':
      return { ...nowhere, departmentCodes: [town.departmentCode] };
    default:
      return { ...nowhere, circle, inseeCodes: [town.insee], polygons: [polygonRound(town, random)] };
  }
}

const zipcodesOf = ({ zipcodes }: Town): readonly string[] => zipcodes;
const inseeOf = ({ insee }: Town): string => insee;

/** A polygon of 5 to 300 corners with a radius of at most 0.5 to 40 km; one in ten has a hole. */
function polygonRound({ lat, lon }: { lat: number; lon: number }, random: Random): Polygon {
  const corners = Math.round(5 * Math.exp(random.next() ** 2 * 4.1));
  const km = 0.5 * Math.exp(random.next() * 4.4);
  const outer = ringRound(lat, lon, km, corners, random);
  return random.chance(0.1) ? [outer, ringRound(lat, lon, km / 3, 6, random)] : [outer];
}

/** A ring of `corners` corners, at most `km` from its centre. */
export function ringRound(lat: number, lon: number, km: number, corners: number, random: Random): Position[] {
  const ring: Position[] = [];
  for (let i = 0; i < corners; i++) {
    const angle = (2 * Math.PI * i) / corners;
    const reach = (km * (0.7 + 0.3 * random.next())) / KM_PER_DEGREE;
    const east = (reach * Math.cos(angle)) / Math.cos((lat * Math.PI) / 180);
    ring.push([Number((lon + east).toFixed(6)), Number((lat + reach * Math.sin(angle)).toFixed(6))]);
  }
  return [...ring, ring[0] as Position];
}

function expressionsOf(towns: Towns, random: Random): Expressions {
  if (!random.chance(0.35)) return [];
  const word = (): string => (random.chance(0.3) ? random.one(towns.all).name : WORDS.draw(random));
  const entry = (includes: boolean): ExpressionEntry => ({ word: word(), includes, strict: random.chance(0.3) });
  const groupCount = random.pick([1, 2, 4], [70, 20, 10]);
  return Array.from({ length: groupCount }, () => {
    const included = Array.from({ length: random.pick([0, 1, 2], [25, 60, 15]) }, () => entry(true));
    const excluded = Array.from({ length: random.pick([0, 1, 3], [60, 30, 10]) }, () => entry(false));
    return included.length + excluded.length === 0 ? [entry(true)] : [...included, ...excluded];
  });
}
