/**
 * Baseline (b), the plain way: one rbush item for each circle and polygon, maps from city, department and zip code to
 * lists of searches, object checks on every candidate. Written with care: expressions compiled once, texts folded once
 * an advert and only when asked for, cheap criteria first.
 */

import RBush from 'rbush';
import type { Criteria, Range } from '../../src/domain/criteria.ts';
import { type FoldedText, foldTexts } from '../../src/domain/folded-text.ts';
import { isInCircle, isInPolygon, type Polygon } from '../../src/domain/geo.ts';
import { lemmasOf } from '../../src/domain/inflection/lemmas.ts';
import type { PropertyFacts } from '../../src/domain/property-facts.ts';
import { foldWords } from '../../src/domain/text.ts';

interface CompiledEntry {
  readonly includes: boolean;
  /** ` word word ` of a strict entry. */
  readonly phrase: string | null;
  /** Of each word. */
  readonly lemmas: readonly (readonly string[])[];
}

interface CompiledSearch {
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

type SearchTable = Map<string, Set<CompiledSearch>>;

export class PlainIndex {
  readonly #tree = new RBush<Item>();
  readonly #cities: SearchTable = new Map();
  readonly #departments: SearchTable = new Map();
  readonly #zipcodes: SearchTable = new Map();
  readonly #nowhere = new Set<CompiledSearch>();
  #candidates = 0;

  /** Of the last match. */
  get candidates(): number {
    return this.#candidates;
  }

  insert(number: number, criteria: Criteria): void {
    const search = compile(number, criteria);
    const { inseeCodes, departmentCodes, zipcodes } = criteria.areas;
    for (const item of search.items) this.#tree.insert(item);
    addTo(this.#cities, inseeCodes, search);
    addTo(this.#departments, departmentCodes, search);
    addTo(this.#zipcodes, zipcodes, search);
    const areaCount = search.items.length + inseeCodes.length + departmentCodes.length + zipcodes.length;
    if (areaCount === 0) this.#nowhere.add(search);
  }

  match(facts: PropertyFacts): number[] {
    this.#candidates = 0;
    if (facts.adverts.length === 0) return [];
    const found = new Set<number>();
    let folded: FoldedText | null = null;
    const text = (): FoldedText => {
      folded ??= foldTexts([...facts.texts, ...facts.adverts.flatMap((advert) => advert.texts)]);
      return folded;
    };
    const consider = (searches: ReadonlySet<CompiledSearch> | undefined): void => {
      if (searches === undefined) return;
      this.#candidates += searches.size;
      for (const search of searches) if (passes(search, facts, text)) found.add(search.number);
    };
    for (const code of facts.inseeCodes) consider(this.#cities.get(code));
    if (facts.departmentCode !== null) consider(this.#departments.get(facts.departmentCode));
    for (const zipcode of facts.zipcodes) consider(this.#zipcodes.get(zipcode));
    consider(this.#nowhere);
    const { lat, lon } = facts;
    if (lat === null || lon === null) return [...found];
    const near = this.#tree.search({ minX: lon, minY: lat, maxX: lon, maxY: lat });
    this.#candidates += near.length;
    for (const { search, polygon } of near) {
      if (passes(search, facts, text) && isInArea(search, polygon, lat, lon)) found.add(search.number);
    }
    return [...found];
  }
}

function addTo(table: SearchTable, keys: readonly string[], search: CompiledSearch): void {
  for (const key of keys) {
    const searches = table.get(key);
    if (searches === undefined) table.set(key, new Set([search]));
    else searches.add(search);
  }
}

function isInArea({ criteria }: CompiledSearch, polygon: Polygon | null, lat: number, lon: number): boolean {
  const { circle } = criteria.areas;
  return polygon === null ? circle !== null && isInCircle(circle, lat, lon) : isInPolygon(polygon, lat, lon);
}

function compile(number: number, criteria: Criteria): CompiledSearch {
  const items: Item[] = [];
  const expressions = criteria.expressions.map((group) =>
    group.map(({ word, includes, strict }): CompiledEntry => {
      const words = foldWords(word);
      return { includes, phrase: strict ? ` ${words.join(' ')} ` : null, lemmas: strict ? [] : words.map(lemmasOf) };
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
  const { phrases, lemmas } = text();
  return expressions.some((group) =>
    group.every((entry) => {
      const { phrase } = entry;
      const occurs =
        phrase !== null
          ? phrases.some((candidate) => candidate.includes(phrase))
          : entry.lemmas.every((ofWord) => ofWord.some((lemma) => lemmas.has(lemma)));
      return occurs === entry.includes;
    }),
  );
}

function isWithin({ min, max }: Range, value: number | null): boolean {
  if (min === null && max === null) return true;
  return value !== null && (min === null || value >= min) && (max === null || value <= max);
}
