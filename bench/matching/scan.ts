/**
 * Baseline (c): every search, every time, but in typed arrays and with the most selective columns first. Expressions
 * are compiled and each distinct one is judged once an advert.
 */

import type { Criteria } from '../../src/domain/criteria.ts';
import { expressionsHold } from '../../src/domain/expressions.ts';
import { distanceKm, isInPolygon, type Polygon } from '../../src/domain/geo.ts';
import type { PropertyFacts } from '../../src/domain/property-facts.ts';
import { type FoldedText, foldTexts } from '../../src/domain/text.ts';

const MEASURES = ['budget', 'surface', 'room', 'bedroom', 'pricePerMeter', 'landSurface'] as const;
const ANY = 0xff;
const UNKNOWN = 0x80;
const CIRCLE = 1;
const CITIES = 2;
const DEPARTMENTS = 3;
const POLYGON = 4;
const KM_PER_DEGREE_MIN = 111;

export interface Scan {
  match(facts: PropertyFacts): number[];
}

/** Numbers are positions from 1. Handles the criteria of the benchmark's mix. */
export function createScan(count: number, searchAt: (position: number) => Criteria): Scan {
  const transactions = new Uint8Array(count);
  const types = new Uint8Array(count);
  const publishers = new Uint8Array(count);
  const coherent = new Uint8Array(count);
  const mins = MEASURES.map(() => new Float64Array(count).fill(-Infinity));
  const maxs = MEASURES.map(() => new Float64Array(count).fill(Infinity));
  const kinds = new Uint8Array(count);
  const places = new Float64Array(3 * count);
  const codes: number[] = [];
  const codeIds = new Map<string, number>();
  const polygons: Polygon[] = [];
  const expressionIds = new Int32Array(count);
  const expressions: Criteria['expressions'][] = [[]];
  const knownExpressions = new Map<string, number>();
  const idOf = (code: string): number => {
    const known = codeIds.get(code) ?? codeIds.size + 1;
    codeIds.set(code, known);
    return known;
  };
  const setList = (row: number, kind: number, list: readonly string[]): void => {
    kinds[row] = kind;
    places[3 * row] = codes.length;
    for (const code of list) codes.push(idOf(kind === CITIES ? code : `d${code}`));
    places[3 * row + 1] = codes.length;
  };
  for (let row = 0; row < count; row++) {
    const criteria = searchAt(row);
    transactions[row] = criteria.transactionType === null ? ANY : 1 << criteria.transactionType;
    types[row] = criteria.propertyTypes.reduce((set, type) => set | (1 << type), 0) || ANY;
    publishers[row] = criteria.publisherTypes.reduce((set, type) => set | (1 << type), 0) || ANY;
    coherent[row] = criteria.withCoherentPrice ? 1 : 0;
    for (const [m, measure] of MEASURES.entries()) {
      (mins[m] as Float64Array)[row] = criteria[measure].min ?? -Infinity;
      (maxs[m] as Float64Array)[row] = criteria[measure].max ?? Infinity;
    }
    const { circle, inseeCodes, departmentCodes, polygons: shapes } = criteria.areas;
    if (circle !== null) {
      kinds[row] = CIRCLE;
      places.set([circle.lat, circle.lon, circle.radiusKm], 3 * row);
    } else if (inseeCodes.length > 0) setList(row, CITIES, inseeCodes);
    else if (departmentCodes.length > 0) setList(row, DEPARTMENTS, departmentCodes);
    else if (shapes[0] !== undefined) {
      kinds[row] = POLYGON;
      places[3 * row] = polygons.push(shapes[0]) - 1;
    }
    if (criteria.expressions.length > 0) {
      const key = JSON.stringify(criteria.expressions);
      const known = knownExpressions.get(key) ?? expressions.push(criteria.expressions) - 1;
      knownExpressions.set(key, known);
      expressionIds[row] = known;
    }
  }
  const codeList = Int32Array.from(codes);

  function isInside(row: number, facts: PropertyFacts, cityIds: readonly number[], departmentId: number): boolean {
    const lat = facts.lat as number;
    const lon = facts.lon as number;
    const first = places[3 * row] as number;
    switch (kinds[row] as number) {
      case CIRCLE: {
        const radiusKm = places[3 * row + 2] as number;
        if (Math.abs(first - lat) * KM_PER_DEGREE_MIN > radiusKm) return false;
        return distanceKm(first, places[3 * row + 1] as number, lat, lon) <= radiusKm;
      }
      case CITIES:
      case DEPARTMENTS: {
        const end = places[3 * row + 1] as number;
        for (let i = first; i < end; i++) {
          const code = codeList[i] as number;
          if (code === departmentId || cityIds.includes(code)) return true;
        }
        return false;
      }
      case POLYGON:
        return isInPolygon(polygons[first] as Polygon, lat, lon);
      default:
        return true;
    }
  }

  return {
    match(facts) {
      const found: number[] = [];
      const transaction = facts.transactionType === null ? UNKNOWN : 1 << facts.transactionType;
      const type = facts.propertyType === null ? UNKNOWN : 1 << facts.propertyType;
      const publisher = facts.adverts.reduce(
        (set, { publisherType }) => set | (publisherType === null ? 0 : 1 << publisherType),
        0,
      );
      const values = MEASURES.map((measure) => facts[measure === 'budget' ? 'price' : measure]);
      const lows = values.map((value) => value ?? -Infinity);
      const highs = values.map((value) => value ?? Infinity);
      const cityIds = facts.inseeCodes.map((code) => codeIds.get(code) ?? 0);
      const departmentId = codeIds.get(`d${facts.departmentCode}`) ?? 0;
      const verdicts = new Map<number, boolean>();
      let text: FoldedText | null = null;
      const reads = (expression: number): boolean => {
        text ??= foldTexts([...facts.texts, ...facts.adverts.flatMap((advert) => advert.texts)]);
        const verdict = verdicts.get(expression) ?? expressionsHold(expressions[expression] ?? [], text);
        verdicts.set(expression, verdict);
        return verdict;
      };
      rows: for (let row = 0; row < count; row++) {
        if (((transactions[row] as number) & transaction) === 0 || ((types[row] as number) & type) === 0) continue;
        for (let m = 0; m < MEASURES.length; m++) {
          if (((mins[m] as Float64Array)[row] as number) > (lows[m] as number)) continue rows;
          if (((maxs[m] as Float64Array)[row] as number) < (highs[m] as number)) continue rows;
        }
        if ((publishers[row] as number) !== ANY && ((publishers[row] as number) & publisher) === 0) continue;
        if (coherent[row] === 1 && !facts.isPriceCoherent) continue;
        if (!isInside(row, facts, cityIds, departmentId)) continue;
        const expression = expressionIds[row] as number;
        if (expression === 0 || reads(expression)) found.push(row + 1);
      }
      return found;
    },
  };
}
