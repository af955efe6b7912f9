/**
 * The worst that one client can do within its limits, for example with as many polygon corners and excluded words as
 * the default configuration allows. The shapes and lists give an index the least selectivity.
 */

import { type Criteria, satisfies } from '../../src/engine/domain/criteria.ts';
import { ANYTHING, type CriterionSet } from '../../src/engine/domain/criterion-table.ts';
import type { Expressions } from '../../src/engine/domain/expressions.ts';
import { ALL_FEATURES } from '../../src/engine/domain/features.ts';
import type { Polygon, Position } from '../../src/engine/domain/geo.ts';
import { searchNumberOf } from '../../src/engine/domain/ids.ts';
import type { PropertyFacts } from '../../src/engine/domain/property-facts.ts';
import { ALL_CRITERIA } from '../../src/engine/domain/unknown-criteria.ts';
import { SearchIndex } from '../../src/engine/matching/search-index.ts';
import { sized } from '../smoke.ts';
import { type Latencies, measureMatches } from './latency.ts';
import { randomOf } from './random.ts';

const HOSTILE = 21;
/** Centre of the country, in degrees, and half of its extent. */
const CENTRE = { lat: 46.6, lon: 2.4 };
const HALF_WIDTH = 7;
const HALF_HEIGHT = 5;
const ENTRIES = 200;
/** Words that most texts contain. */
const COMMON = ['de', 'la', 'une', 'et', 'avec', 'des', 'du', 'sur', 'en', 'chambres', 'cuisine', 'ce', 'bien', 'par'];
const CHECKED_ADVERTS = 5;

export interface HostileFinding {
  readonly name: string;
  readonly searches: number;
  readonly latencies: Latencies;
  readonly mismatches: number;
}

/** `adverts` have the texts of the second population, which are the longest. */
export function measureHostile(adverts: readonly PropertyFacts[]): HostileFinding[] {
  return Object.entries(KINDS).map(([name, { searches: asked, criteriaOf }]) => {
    const searches = sized(asked, asked / 50);
    const all = Array.from({ length: searches }, (_, i) => criteriaOf(i));
    const index = new SearchIndex();
    for (const [i, criteria] of all.entries()) index.upsert(searchNumberOf(i + 1), criteria);
    const latencies = measureMatches(
      adverts,
      (facts) => index.match(facts),
      () => index.stats().testedRows,
    );
    const isWrong = (facts: PropertyFacts): boolean => {
      const expected = all.flatMap((criteria, i) => (satisfies(criteria, facts) ? [i + 1] : []));
      return (
        index
          .match(facts)
          .sort((a, b) => a - b)
          .join() !== expected.join()
      );
    };
    return { name, searches, latencies, mismatches: adverts.slice(0, CHECKED_ADVERTS).filter(isWrong).length };
  });
}

const KINDS: Record<string, { readonly searches: number; criteriaOf(position: number): Criteria }> = {
  '500 coasts of 1,000 corners': { searches: 500, criteriaOf: (i) => shaped([coast(1000, i)]) },
  '500 excluded coasts of 1,000': { searches: 500, criteriaOf: (i) => excluding([coast(1000, i)]) },
  '100 coasts of 5,000 corners': { searches: 100, criteriaOf: (i) => shaped([coast(5000, i)]) },
  '100 slanted combs of 5,000': { searches: 100, criteriaOf: (i) => shaped([comb(5000, i)]) },
  '100 stars of 5,000': { searches: 100, criteriaOf: (i) => shaped([star(4999, i)]) },
  '100 of 1,250 triangles each': {
    searches: 100,
    criteriaOf: (i) => shaped(Array.from({ length: 1250 }, (_, k) => [triangle(1250 * i + k)])),
  },
  '500 lists of 200 excluded words': { searches: 500, criteriaOf: (i) => worded([list(i, false, 1)]) },
  '500 lists of 200 excluded phrases': { searches: 500, criteriaOf: (i) => worded([list(i, false, 3, true)]) },
  '500 lists of 200 excluded lenient ones': { searches: 500, criteriaOf: (i) => worded([list(i, false, 3)]) },
  '1,000 wide circles with 50 phrases': { searches: 1000, criteriaOf: (i) => wide(phrases(i, true)) },
  '1,000 with 50 lenient phrases': { searches: 1000, criteriaOf: (i) => wide(phrases(i, false)) },
  '20,000 that ask for all of a home': { searches: 20_000, criteriaOf: (i) => homely(i, 0) },
  '20,000 that accept its unknowns': { searches: 20_000, criteriaOf: (i) => homely(i, ALL_CRITERIA) },
  '20,000 with 50 rare publishers': {
    searches: 20_000,
    criteriaOf: (i) => ({ ...ANYTHING, includedPublishers: agencies(i, 1e6) }),
  },
  '20,000 without 50 of 60 publishers': {
    searches: 20_000,
    criteriaOf: (i) => ({
      ...ANYTHING,
      excludedPublishers: agencies(i, 60),
      includedPublishers: [`rare ${i}`, 'Agence 7'],
    }),
  },
  '2,000 of 10 alternatives': { searches: 2_000, criteriaOf: alternately },
};

const DEPARTMENTS = ['06', '13', '31', '33', '44', '59', '69', '75', '83', '92'];

/** Alternatives in the same ten departments, each by one of 50 publishers that hardly any advert has. */
function alternately(position: number): Criteria {
  const own = {
    areas: { ...ANYTHING.areas, departmentCodes: DEPARTMENTS },
    includedPublishers: agencies(position, 1e6),
  };
  const alternatives = Array.from({ length: 10 }, (_, i) => ({
    ...ANYTHING,
    ...own,
    room: { min: null, max: 90 + i },
  }));
  return { ...ANYTHING, alternatives };
}

/** All criteria of a home at once, different for each search, and nearly all true for most homes. */
function homely(position: number, orMissing: CriterionSet): Criteria {
  const low = { min: 1 + position / 1e6, max: null };
  const high = { min: null, max: 1e7 + position };
  return {
    ...ANYTHING,
    propertyTypes: [0, 1, 2, 3, 4, 5, 6],
    publisherTypes: [0, 1],
    excludedSiteCategories: ['mairies'],
    excludedAreas: { ...ANYTHING.areas, inseeCodes: [`${10_000 + position}`, '01001'] },
    budget: { ...low, max: high.max },
    pricePerMeter: { ...low, max: high.max },
    surface: { ...low, max: high.max },
    room: low,
    bedroom: low,
    advertPrice: { ...low, max: high.max },
    floor: { min: -1, max: 1e3 + position },
    constructionYear: { min: 1000 + position / 100, max: 3000 },
    condominiumFees: high,
    rentalCharges: high,
    energy: ['A', 'B', 'C', 'D', 'E', 'F', 'G'],
    greenHouseGas: ['A', 'B', 'C', 'D', 'E', 'F', 'G'],
    excludedFeatures: ALL_FEATURES & ~(1 << (position % 4)),
    orMissing,
  };
}

/** Fifty of `known` names of agencies, chosen by position. */
function agencies(position: number, known: number): string[] {
  return Array.from({ length: 50 }, (_, i) => `SARL Agence ${(position * 7_919 + i) % known}`);
}

function shaped(polygons: readonly Polygon[]): Criteria {
  return { ...ANYTHING, areas: { ...ANYTHING.areas, polygons } };
}

function excluding(polygons: readonly Polygon[]): Criteria {
  return { ...ANYTHING, excludedAreas: { ...ANYTHING.areas, polygons } };
}

function worded(expressions: Expressions): Criteria {
  return { ...ANYTHING, expressions };
}

/** A circle around the whole country, so that the index cannot use the words of the search as its key. */
function wide(expressions: Expressions): Criteria {
  return { ...ANYTHING, expressions, areas: { ...ANYTHING.areas, circle: { ...CENTRE, radiusKm: 500 } } };
}

/** The outline of the country, with an inlet at every corner. */
export function coast(corners: number, position: number): Polygon {
  const random = randomOf(position, HOSTILE, corners);
  return closed(corners - 1, (part) => {
    const reach = 0.6 + 0.4 * random.next();
    return [reach * Math.cos(2 * Math.PI * part), reach * Math.sin(2 * Math.PI * part)];
  });
}

/** Teeth across the whole country, slanted so that the box of each tooth covers nearly all of it. */
export function comb(corners: number, position: number): Polygon {
  return closed(corners - 1, (part, i) => {
    const across = i % 2 === 0 ? -1 : 1;
    const along = (2 * part - 1) * 0.5;
    const slant = 0.5 + position / 1e4;
    return [across * slant + along, across * slant - along];
  });
}

/** A star: every edge passes near the centre, and crosses nearly every other edge. */
export function star(corners: number, position: number): Polygon {
  const step = (corners >> 1) - position;
  return closed(corners, (_, i) => {
    const angle = (2 * Math.PI * ((i * step) % corners)) / corners;
    return [Math.cos(angle), Math.sin(angle)];
  });
}

function triangle(position: number): Position[] {
  const random = randomOf(position, HOSTILE, 3);
  const [ring] = closed(3, () => [2 * random.next() - 1, 2 * random.next() - 1]) as [Position[]];
  return ring;
}

/** `at` returns east and north, each from -1 to 1. */
function closed(corners: number, at: (part: number, i: number) => readonly [number, number]): Polygon {
  const ring = Array.from({ length: corners }, (_, i): Position => {
    const [east, north] = at(i / corners, i);
    return [CENTRE.lon + HALF_WIDTH * east, CENTRE.lat + HALF_HEIGHT * north];
  });
  return [[...ring, ring[0] as Position]];
}

function list(position: number, includes: boolean, words: number, strict = false): Expressions[number] {
  const random = randomOf(position, HOSTILE, words);
  return Array.from({ length: ENTRIES }, (_, i) => ({
    word: [...Array.from({ length: words - 1 }, () => random.one(COMMON)), `absent${(position * 7 + i) % 5000}`].join(
      ' ',
    ),
    includes,
    strict,
  }));
}

/** Phrases of four `COMMON` words. */
function phrases(position: number, strict: boolean): Expressions {
  const random = randomOf(position, HOSTILE, 50);
  return Array.from({ length: 50 }, () => [
    { word: Array.from({ length: 4 }, () => random.one(COMMON)).join(' '), includes: true, strict },
  ]);
}
