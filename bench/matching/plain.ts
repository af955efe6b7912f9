/**
 * Baseline (b), the plain way: one rbush item for each circle and polygon, maps from city, department and zip code to
 * lists of searches, object checks on every candidate. Written with care: expressions compiled once, texts folded once
 * an advert and only when asked for, cheap criteria first.
 */

import RBush from 'rbush';
import type { Criteria, Range } from '../../src/domain/criteria.ts';
import { isInCircle, isInPolygon, type Polygon } from '../../src/domain/geo.ts';
import type { PropertyFacts } from '../../src/domain/property-facts.ts';
import { type FoldedText, foldTexts, foldWords, stem } from '../../src/domain/text.ts';

interface CompiledEntry {
  readonly includes: boolean;
  /** ` word word ` of a strict entry. */
  readonly phrase: string | null;
  readonly stems: readonly string[];
}

export interface CompiledSearch {
  readonly number: number;
  readonly criteria: Criteria;
  readonly expressions: readonly (readonly CompiledEntry[])[];
  readonly items: readonly Item[];
}

interface Item {
  readonly minX: number;
  readonly minY: number;
  readonly maxX: number;
  readonly maxY: number;
  readonly search: CompiledSearch;
  /** Null: the circle. */
  readonly polygon: Polygon | null;
}

const KM_PER_DEGREE = 111.19;

export interface PlainIndex {
  upsert(number: number, criteria: Criteria): void;
  delete(number: number): void;
  match(facts: PropertyFacts): number[];
  /** Candidates of the last match. */
  readonly candidates: number;
}

export function createPlainIndex(): PlainIndex {
  const tree = new RBush<Item>();
  const cities = new Map<string, Set<CompiledSearch>>();
  const departments = new Map<string, Set<CompiledSearch>>();
  const zipcodes = new Map<string, Set<CompiledSearch>>();
  const nowhere = new Set<CompiledSearch>();
  const searches = new Map<number, CompiledSearch>();
  let candidates = 0;

  function eachList(
    { criteria: { areas }, items }: CompiledSearch,
    act: (table: Map<string, Set<CompiledSearch>>, key: string) => void,
  ): boolean {
    for (const code of areas.inseeCodes) act(cities, code);
    for (const code of areas.departmentCodes) act(departments, code);
    for (const code of areas.zipcodes) act(zipcodes, code);
    return items.length + areas.inseeCodes.length + areas.departmentCodes.length + areas.zipcodes.length > 0;
  }

  function remove(number: number): void {
    const search = searches.get(number);
    if (search === undefined) return;
    searches.delete(number);
    for (const item of search.items) tree.remove(item);
    if (!eachList(search, (table, key) => table.get(key)?.delete(search))) nowhere.delete(search);
  }

  return {
    get candidates() {
      return candidates;
    },
    upsert(number, criteria) {
      remove(number);
      const search = compile(number, criteria);
      searches.set(number, search);
      for (const item of search.items) tree.insert(item);
      const hasArea = eachList(search, (table, key) => {
        const list = table.get(key);
        if (list === undefined) table.set(key, new Set([search]));
        else list.add(search);
      });
      if (!hasArea) nowhere.add(search);
    },
    delete: remove,
    match(facts) {
      const found = new Set<number>();
      candidates = 0;
      if (facts.adverts.length === 0) return [];
      let folded: FoldedText | null = null;
      const text = (): FoldedText => {
        folded ??= foldTexts([...facts.texts, ...facts.adverts.flatMap((advert) => advert.texts)]);
        return folded;
      };
      const consider = (list: ReadonlySet<CompiledSearch> | undefined): void => {
        if (list === undefined) return;
        candidates += list.size;
        for (const search of list) if (passes(search, facts, text)) found.add(search.number);
      };
      for (const code of facts.inseeCodes) consider(cities.get(code));
      if (facts.departmentCode !== null) consider(departments.get(facts.departmentCode));
      for (const zipcode of facts.zipcodes) consider(zipcodes.get(zipcode));
      consider(nowhere);
      const { lat, lon } = facts;
      if (lat !== null && lon !== null) {
        const near = tree.search({ minX: lon, minY: lat, maxX: lon, maxY: lat });
        candidates += near.length;
        for (const { search, polygon } of near) {
          if (!passes(search, facts, text)) continue;
          const circle = search.criteria.areas.circle;
          const isInside =
            polygon !== null ? isInPolygon(polygon, lat, lon) : circle !== null && isInCircle(circle, lat, lon);
          if (isInside) found.add(search.number);
        }
      }
      return [...found];
    },
  };
}

function compile(number: number, criteria: Criteria): CompiledSearch {
  const items: Item[] = [];
  const expressions = criteria.expressions.map((group) =>
    group.map(({ word, includes, strict }): CompiledEntry => {
      const words = foldWords(word);
      return { includes, phrase: strict ? ` ${words.join(' ')} ` : null, stems: strict ? [] : words.map(stem) };
    }),
  );
  const search = { number, criteria, expressions, items };
  const { circle, polygons } = criteria.areas;
  if (circle !== null) {
    const north = circle.radiusKm / KM_PER_DEGREE;
    const east = north / Math.cos(((Math.abs(circle.lat) + north) * Math.PI) / 180);
    items.push({
      minX: circle.lon - east,
      minY: circle.lat - north,
      maxX: circle.lon + east,
      maxY: circle.lat + north,
      search,
      polygon: null,
    });
  }
  for (const polygon of polygons) {
    const positions = polygon.flat();
    const lons = positions.map(([lon]) => lon);
    const lats = positions.map(([, lat]) => lat);
    items.push({
      minX: Math.min(...lons),
      minY: Math.min(...lats),
      maxX: Math.max(...lons),
      maxY: Math.max(...lats),
      search,
      polygon,
    });
  }
  return search;
}

/** Everything but the areas. */
function passes({ criteria, expressions }: CompiledSearch, facts: PropertyFacts, text: () => FoldedText): boolean {
  if (criteria.transactionType !== null && criteria.transactionType !== facts.transactionType) return false;
  const { propertyTypes, publisherTypes } = criteria;
  if (propertyTypes.length > 0 && (facts.propertyType === null || !propertyTypes.includes(facts.propertyType)))
    return false;
  if (!isWithin(criteria.budget, facts.price)) return false;
  if (!isWithin(criteria.surface, facts.surface)) return false;
  if (!isWithin(criteria.room, facts.room)) return false;
  if (!isWithin(criteria.bedroom, facts.bedroom)) return false;
  if (!isWithin(criteria.pricePerMeter, facts.pricePerMeter)) return false;
  if (!isWithin(criteria.landSurface, facts.landSurface)) return false;
  if (criteria.withCoherentPrice && !facts.isPriceCoherent) return false;
  if (criteria.furnished !== null && criteria.furnished !== facts.furnished) return false;
  if (criteria.withVirtualTour && !facts.adverts.some((advert) => advert.hasVirtualTour)) return false;
  if (
    publisherTypes.length > 0 &&
    !facts.adverts.some(({ publisherType }) => publisherType !== null && publisherTypes.includes(publisherType))
  )
    return false;
  if (expressions.length === 0) return true;
  const { phrases, stems } = text();
  return expressions.some((group) =>
    group.every((entry) => {
      const { phrase } = entry;
      const occurs =
        phrase !== null
          ? phrases.some((candidate) => candidate.includes(phrase))
          : entry.stems.every((word) => stems.has(word));
      return occurs === entry.includes;
    }),
  );
}

function isWithin({ min, max }: Range, value: number | null): boolean {
  if (min === null && max === null) return true;
  return value !== null && (min === null || value >= min) && (max === null || value <= max);
}
