/**
 * The scan: tests every search for each advert, but in typed arrays and with cheap, selective columns first. Each
 * distinct expression is evaluated once per advert. Supports only the criteria of the first population.
 */

import type { Criteria } from '../../src/engine/domain/criteria.ts';
import { expressionsHold } from '../../src/engine/domain/expressions.ts';
import { distanceKm, isInPolygon, type Polygon } from '../../src/engine/domain/geo.ts';
import type { PropertyFacts } from '../../src/engine/domain/property-facts.ts';
import { type FoldedText, foldTexts } from '../../src/engine/domain/word-phrases.ts';

const MEASURES = ['budget', 'surface', 'room', 'bedroom', 'pricePerMeter', 'landSurface'] as const;
const ANY = 0xff;
const UNKNOWN = 0x80;
const CIRCLE = 1;
const CITIES = 2;
const DEPARTMENTS = 3;
const POLYGON = 4;
const KM_PER_DEGREE_MIN = 111;

export class Scan {
  readonly #count: number;
  /** Bits of accepted codes; `ANY` if there is no condition. */
  readonly #transactions: Uint8Array;
  readonly #types: Uint8Array;
  readonly #publishers: Uint8Array;
  readonly #coherent: Uint8Array;
  readonly #mins: readonly Float64Array[];
  readonly #maxs: readonly Float64Array[];
  readonly #kinds: Uint8Array;
  /** Three numbers per row: centre and radius, or the ends of a list of codes, or the position of a polygon. */
  readonly #places: Float64Array;
  readonly #codes: number[] = [];
  readonly #codeIds = new Map<string, number>();
  readonly #polygons: Polygon[] = [];
  readonly #expressionIds: Int32Array;
  readonly #expressions: Criteria['expressions'][] = [[]];
  readonly #knownExpressions = new Map<string, number>();

  /** The search at position 0 has number 1. */
  constructor(count: number, searchAt: (position: number) => Criteria) {
    this.#count = count;
    this.#transactions = new Uint8Array(count);
    this.#types = new Uint8Array(count);
    this.#publishers = new Uint8Array(count);
    this.#coherent = new Uint8Array(count);
    this.#mins = MEASURES.map(() => new Float64Array(count));
    this.#maxs = MEASURES.map(() => new Float64Array(count));
    this.#kinds = new Uint8Array(count);
    this.#places = new Float64Array(3 * count);
    this.#expressionIds = new Int32Array(count);
    for (let row = 0; row < count; row++) this.#write(row, searchAt(row));
  }

  match(facts: PropertyFacts): number[] {
    const found: number[] = [];
    const transaction = facts.transactionType === null ? UNKNOWN : 1 << facts.transactionType;
    const type = facts.propertyType === null ? UNKNOWN : 1 << facts.propertyType;
    const publisher = setOf(facts.adverts.flatMap(({ publisherType }) => publisherType ?? []));
    const values = MEASURES.map((measure) => facts[measure === 'budget' ? 'price' : measure]);
    const lows = values.map((value) => value ?? -Infinity);
    const highs = values.map((value) => value ?? Infinity);
    const place = this.#placeOf(facts);
    const reads = this.#reader(facts);
    rows: for (let row = 0; row < this.#count; row++) {
      if (((this.#transactions[row] as number) & transaction) === 0) continue;
      if (((this.#types[row] as number) & type) === 0) continue;
      for (let m = 0; m < MEASURES.length; m++) {
        if (((this.#mins[m] as Float64Array)[row] as number) > (lows[m] as number)) continue rows;
        if (((this.#maxs[m] as Float64Array)[row] as number) < (highs[m] as number)) continue rows;
      }
      const publishers = this.#publishers[row] as number;
      if (publishers !== ANY && (publishers & publisher) === 0) continue;
      if (this.#coherent[row] === 1 && !facts.isPriceCoherent) continue;
      if (!this.#isInside(row, place)) continue;
      const expression = this.#expressionIds[row] as number;
      if (expression === 0 || reads(expression)) found.push(row + 1);
    }
    return found;
  }

  #write(row: number, criteria: Criteria): void {
    this.#transactions[row] = criteria.transactionType === null ? ANY : 1 << criteria.transactionType;
    this.#types[row] = setOf(criteria.propertyTypes) || ANY;
    this.#publishers[row] = setOf(criteria.publisherTypes) || ANY;
    this.#coherent[row] = criteria.withCoherentPrice ? 1 : 0;
    for (const [m, measure] of MEASURES.entries()) {
      (this.#mins[m] as Float64Array)[row] = criteria[measure].min ?? -Infinity;
      (this.#maxs[m] as Float64Array)[row] = criteria[measure].max ?? Infinity;
    }
    const { circle, inseeCodes, departmentCodes, polygons } = criteria.areas;
    if (circle !== null) {
      this.#kinds[row] = CIRCLE;
      this.#places.set([circle.lat, circle.lon, circle.radiusKm], 3 * row);
    } else if (inseeCodes.length > 0) {
      this.#writeCodes(row, CITIES, inseeCodes);
    } else if (departmentCodes.length > 0) {
      this.#writeCodes(row, DEPARTMENTS, departmentCodes.map(departmentKey));
    } else if (polygons[0] !== undefined) {
      this.#kinds[row] = POLYGON;
      this.#places[3 * row] = this.#polygons.push(polygons[0]) - 1;
    }
    if (criteria.expressions.length === 0) return;
    const key = JSON.stringify(criteria.expressions);
    const known = this.#knownExpressions.get(key) ?? this.#expressions.push(criteria.expressions) - 1;
    this.#knownExpressions.set(key, known);
    this.#expressionIds[row] = known;
  }

  #writeCodes(row: number, kind: number, keys: readonly string[]): void {
    this.#kinds[row] = kind;
    this.#places[3 * row] = this.#codes.length;
    for (const key of keys) {
      const id = this.#codeIds.get(key) ?? this.#codeIds.size + 1;
      this.#codeIds.set(key, id);
      this.#codes.push(id);
    }
    this.#places[3 * row + 1] = this.#codes.length;
  }

  #placeOf({ lat, lon, inseeCodes, departmentCode }: PropertyFacts): Place {
    const idOf = (key: string) => this.#codeIds.get(key) ?? 0;
    const ids = [...inseeCodes.map(idOf), ...(departmentCode === null ? [] : [idOf(departmentKey(departmentCode))])];
    return { lat: lat ?? Number.NaN, lon: lon ?? Number.NaN, ids };
  }

  /** Evaluates expressions by id on the texts of the property, which are folded before the first one. */
  #reader(facts: PropertyFacts): (expression: number) => boolean {
    const verdicts = new Map<number, boolean>();
    let text: FoldedText | null = null;
    return (expression) => {
      text ??= foldTexts([...facts.texts, ...facts.adverts.flatMap((advert) => advert.texts)]);
      const verdict = verdicts.get(expression) ?? expressionsHold(this.#expressions[expression] ?? [], text);
      verdicts.set(expression, verdict);
      return verdict;
    };
  }

  #isInside(row: number, { lat, lon, ids }: Place): boolean {
    const first = this.#places[3 * row] as number;
    switch (this.#kinds[row] as number) {
      case CIRCLE: {
        const radiusKm = this.#places[3 * row + 2] as number;
        if (Math.abs(first - lat) * KM_PER_DEGREE_MIN > radiusKm) return false;
        return distanceKm(first, this.#places[3 * row + 1] as number, lat, lon) <= radiusKm;
      }
      case CITIES:
      case DEPARTMENTS: {
        const end = this.#places[3 * row + 1] as number;
        for (let i = first; i < end; i++) if (ids.includes(this.#codes[i] as number)) return true;
        return false;
      }
      case POLYGON:
        return isInPolygon(this.#polygons[first] as Polygon, lat, lon);
      default:
        return true;
    }
  }
}

interface Place {
  readonly lat: number;
  readonly lon: number;
  readonly ids: readonly number[];
}

function setOf(codes: readonly number[]): number {
  return codes.reduce((set, code) => set | (1 << code), 0);
}

/** Departments and cities share one table. The prefix distinguishes a department such as `2A` from a city. */
function departmentKey(code: string): string {
  return `department ${code}`;
}
