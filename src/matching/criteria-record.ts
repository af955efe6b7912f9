/**
 * Criteria as a record of some eighty bytes, without loss: a head of counts and flags, the bounds and the circle that
 * are set, the codes of the lists, the polygons. Criteria that no client can send (unknown codes, NaN) and those of
 * unusual size have no record.
 */

import type { Criteria, Range } from '../domain/criteria.ts';
import {
  EXPRESSION_ENTRIES_MAX,
  EXPRESSION_GROUPS_MAX,
  EXPRESSION_WORD_LENGTH_MAX,
  type Expressions,
} from '../domain/expressions.ts';
import type { Polygon, Position } from '../domain/geo.ts';
import type { CodeTable } from './code-table.ts';
import type { ExpressionTable } from './expression-table.ts';
import type { RecordArena } from './record-arena.ts';

/** The ranges in the order of the bound bits; the first six as `MEASURES` has them. */
export const RANGES = [
  'budget',
  'pricePerMeter',
  'surface',
  'landSurface',
  'room',
  'bedroom',
  'advertPrice',
] as const satisfies readonly (keyof Criteria)[];

/** Integers of the head. */
export const FLAGS = 0;
export const PROPERTY_TYPES = 1;
export const EXPRESSION = 2;
/** Two counts of sixteen bits each: INSEE and department, zip and excluded INSEE, site categories included, excluded. */
export const LIST_COUNTS = 3;
export const POLYGON_COUNT = 6;
const WORDS = 7;
/** Eight bytes each, like everything after the head but the list codes. */
export const HEAD_WORDS = 4;

/** `FLAGS`: a bit for each bound, minimum first, then these. */
export const BOUND_BITS = 2 * RANGES.length;
const BOUNDS_MASK = (1 << BOUND_BITS) - 1;
/** One more than the code, or 0. */
export const TRANSACTION_SHIFT = 14;
/** 1 unfurnished, 2 furnished, or 0. */
export const FURNISHED_SHIFT = 16;
export const IS_COHERENT = 1 << 18;
export const HAS_TOUR = 1 << 19;
export const HAS_CIRCLE = 1 << 20;
/** Position in `PUBLISHER_LISTS`. */
export const PUBLISHERS_SHIFT = 21;
export const PUBLISHER_LISTS: readonly (readonly number[])[] = [[], [0], [1], [0, 1], [1, 0]];

const CIRCLE_WORDS = 3;
/** Searches with more polygon corners than that are kept as they are: sixteen kilobytes. */
const WORDS_MAX = 2048;
const LIST_LENGTH_MAX = 0xffff;
const TYPES_MAX = 7;
const TYPE_BITS = 3;

/** The tables that give strings and expressions their codes. */
export interface RecordTables {
  readonly insee: CodeTable;
  readonly departments: CodeTable;
  readonly zipcodes: CodeTable;
  readonly siteCategories: CodeTable;
  readonly expressions: ExpressionTable;
}

const scratch = new Float64Array(WORDS_MAX);
const scratchIntegers = new Int32Array(scratch.buffer);

/** The address of a new record, or null for criteria that have none. Uses the codes of its strings. */
export function writeRecord(criteria: Criteria, arena: RecordArena, tables: RecordTables): number | null {
  if (!isUsual(criteria)) return null;
  const lists = listsOf(criteria, tables);
  const codeCount = lists.reduce((sum, { texts }) => sum + texts.length, 0);
  const bounds = boundsOf(criteria);
  const circleWords = criteria.areas.circle === null ? 0 : CIRCLE_WORDS;
  const codeWords = (codeCount + 1) >> 1;
  const words = HEAD_WORDS + bounds.values.length + circleWords + codeWords + polygonWords(criteria.areas.polygons);
  if (words > WORDS_MAX || lists.some(({ texts }) => texts.length > LIST_LENGTH_MAX)) return null;

  let top = HEAD_WORDS;
  for (const value of bounds.values) scratch[top++] = value;
  if (criteria.areas.circle !== null) {
    const { lat, lon, radiusKm } = criteria.areas.circle;
    scratch[top++] = lat;
    scratch[top++] = lon;
    scratch[top++] = radiusKm;
  }
  scratchIntegers[FLAGS] = bounds.mask | flagsOf(criteria);
  scratchIntegers[PROPERTY_TYPES] = packTypes(criteria.propertyTypes);
  scratchIntegers[EXPRESSION] = tables.expressions.use(criteria.expressions);
  let code = 2 * top;
  for (const [i, { table, texts }] of lists.entries()) {
    const count = LIST_COUNTS + (i >> 1);
    if (i % 2 === 0) scratchIntegers[count] = texts.length;
    else scratchIntegers[count] = (scratchIntegers[count] as number) | (texts.length << 16);
    for (const text of texts) scratchIntegers[code++] = table.use(text);
  }
  scratchIntegers[POLYGON_COUNT] = criteria.areas.polygons.length;
  scratchIntegers[WORDS] = words;
  writePolygons(criteria.areas.polygons, top + codeWords);

  const address = arena.allocate(words);
  arena.numbersAt(address).set(scratch.subarray(0, words), arena.numberOffset(address));
  return address;
}

/** The criteria that `writeRecord` was given. */
export function readRecord(address: number, arena: RecordArena, tables: RecordTables): Criteria {
  const integers = arena.integersAt(address);
  const numbers = arena.numbersAt(address);
  const head = arena.integerOffset(address);
  const flags = integers[head + FLAGS] as number;
  let top = arena.numberOffset(address) + HEAD_WORDS;
  const ranges = RANGES.map((_, i): Range => {
    const min = (flags >> (2 * i)) & 1 ? (numbers[top++] as number) : null;
    const max = (flags >> (2 * i + 1)) & 1 ? (numbers[top++] as number) : null;
    return { min, max };
  });
  const [budget, pricePerMeter, surface, landSurface, room, bedroom, advertPrice] = ranges as [
    Range,
    Range,
    Range,
    Range,
    Range,
    Range,
    Range,
  ];
  const circle =
    (flags & HAS_CIRCLE) === 0
      ? null
      : { lat: numbers[top++] as number, lon: numbers[top++] as number, radiusKm: numbers[top++] as number };
  let code = 2 * top;
  const readList = (table: CodeTable, list: number): string[] =>
    Array.from({ length: countOf(integers, head, list) }, () => table.textOf(integers[code++] as number));
  const inseeCodes = readList(tables.insee, 0);
  const departmentCodes = readList(tables.departments, 1);
  const zipcodes = readList(tables.zipcodes, 2);
  const excludedInseeCodes = readList(tables.insee, 3);
  const includedSiteCategories = readList(tables.siteCategories, 4);
  const excludedSiteCategories = readList(tables.siteCategories, 5);
  const polygons = readPolygons(numbers, (code + 1) >> 1, integers[head + POLYGON_COUNT] as number);
  const transaction = (flags >> TRANSACTION_SHIFT) & 3;
  const furnished = (flags >> FURNISHED_SHIFT) & 3;
  return {
    transactionType: transaction === 0 ? null : transaction - 1,
    propertyTypes: unpackTypes(integers[head + PROPERTY_TYPES] as number),
    publisherTypes: PUBLISHER_LISTS[flags >> PUBLISHERS_SHIFT] as readonly number[],
    ...{ budget, advertPrice, pricePerMeter, surface, landSurface, room, bedroom },
    furnished: furnished === 0 ? null : furnished === 2,
    withCoherentPrice: (flags & IS_COHERENT) !== 0,
    withVirtualTour: (flags & HAS_TOUR) !== 0,
    areas: { circle, inseeCodes, departmentCodes, zipcodes, polygons },
    ...{ excludedInseeCodes, includedSiteCategories, excludedSiteCategories },
    expressions: tables.expressions.expressionsOf(integers[head + EXPRESSION] as number),
  };
}

export function expressionOf(address: number, arena: RecordArena): number {
  return arena.integersAt(address)[arena.integerOffset(address) + EXPRESSION] as number;
}

/** Frees the record and ends the use of its codes. */
export function freeRecord(address: number, arena: RecordArena, tables: RecordTables): void {
  const integers = arena.integersAt(address);
  const head = arena.integerOffset(address);
  let code = 2 * (arena.numberOffset(address) + listsOffset(integers[head + FLAGS] as number));
  const { insee, departments, zipcodes, siteCategories, expressions } = tables;
  for (const [list, table] of [insee, departments, zipcodes, insee, siteCategories, siteCategories].entries()) {
    for (let count = countOf(integers, head, list); count > 0; count--) table.release(integers[code++] as number);
  }
  expressions.release(integers[head + EXPRESSION] as number);
  arena.free(address, integers[head + WORDS] as number);
}

/** Entries of list 0 to 5, in the order of `LIST_COUNTS`. */
export function countOf(integers: Int32Array, head: number, list: number): number {
  const counts = integers[head + LIST_COUNTS + (list >> 1)] as number;
  return list % 2 === 0 ? counts & LIST_LENGTH_MAX : counts >>> 16;
}

/** Words before the codes of the lists. */
export function listsOffset(flags: number): number {
  let words = HEAD_WORDS + ((flags & HAS_CIRCLE) === 0 ? 0 : CIRCLE_WORDS);
  for (let bounds = flags & BOUNDS_MASK; bounds !== 0; bounds &= bounds - 1) words += 1;
  return words;
}

function isUsual({ transactionType, propertyTypes, publisherTypes, ...criteria }: Criteria): boolean {
  return (
    (transactionType === null || transactionType === 0 || transactionType === 1) &&
    propertyTypes.length <= TYPES_MAX &&
    propertyTypes.every((type) => Number.isInteger(type) && type >= 0 && type < TYPES_MAX) &&
    publisherPosition(publisherTypes) !== -1 &&
    expressionsFit(criteria.expressions) &&
    RANGES.every((name) => !Number.isNaN(criteria[name].min) && !Number.isNaN(criteria[name].max))
  );
}

/** Within the limits of `parseExpressions`. */
function expressionsFit(expressions: Expressions): boolean {
  return (
    expressions.length <= EXPRESSION_GROUPS_MAX &&
    expressions.reduce((count, group) => count + group.length, 0) <= EXPRESSION_ENTRIES_MAX &&
    expressions.every((group) => group.every(({ word }) => word.length <= EXPRESSION_WORD_LENGTH_MAX))
  );
}

function publisherPosition(types: readonly number[]): number {
  return PUBLISHER_LISTS.findIndex(
    (list) => list.length === types.length && list.every((type, i) => type === types[i]),
  );
}

function boundsOf(criteria: Criteria): { mask: number; values: number[] } {
  const values: number[] = [];
  let mask = 0;
  for (const [i, name] of RANGES.entries()) {
    const { min, max } = criteria[name];
    if (min !== null) {
      mask |= 1 << (2 * i);
      values.push(min);
    }
    if (max !== null) {
      mask |= 2 << (2 * i);
      values.push(max);
    }
  }
  return { mask, values };
}

function flagsOf(criteria: Criteria): number {
  const { transactionType, furnished, publisherTypes } = criteria;
  return (
    ((transactionType === null ? 0 : transactionType + 1) << TRANSACTION_SHIFT) |
    ((furnished === null ? 0 : furnished ? 2 : 1) << FURNISHED_SHIFT) |
    (criteria.withCoherentPrice ? IS_COHERENT : 0) |
    (criteria.withVirtualTour ? HAS_TOUR : 0) |
    (criteria.areas.circle === null ? 0 : HAS_CIRCLE) |
    (publisherPosition(publisherTypes) << PUBLISHERS_SHIFT)
  );
}

/** The number of types in the low three bits, then three bits a type, in order. */
function packTypes(types: readonly number[]): number {
  return types.reduce((packed, type, i) => packed | (type << (TYPE_BITS * (i + 1))), types.length);
}

export function unpackTypes(packed: number): number[] {
  return Array.from({ length: packed & TYPES_MAX }, (_, i) => (packed >> (TYPE_BITS * (i + 1))) & TYPES_MAX);
}

function listsOf(criteria: Criteria, tables: RecordTables): { table: CodeTable; texts: readonly string[] }[] {
  const { areas } = criteria;
  return [
    { table: tables.insee, texts: areas.inseeCodes },
    { table: tables.departments, texts: areas.departmentCodes },
    { table: tables.zipcodes, texts: areas.zipcodes },
    { table: tables.insee, texts: criteria.excludedInseeCodes },
    { table: tables.siteCategories, texts: criteria.includedSiteCategories },
    { table: tables.siteCategories, texts: criteria.excludedSiteCategories },
  ];
}

/** A polygon: the number of its rings; a ring: the number of its positions, then longitude and latitude of each. */
function polygonWords(polygons: readonly Polygon[]): number {
  let words = 0;
  for (const polygon of polygons) {
    words += 1;
    for (const ring of polygon) words += 1 + 2 * ring.length;
  }
  return words;
}

function writePolygons(polygons: readonly Polygon[], start: number): void {
  let top = start;
  for (const polygon of polygons) {
    scratch[top++] = polygon.length;
    for (const ring of polygon) {
      scratch[top++] = ring.length;
      for (const [lon, lat] of ring) {
        scratch[top++] = lon;
        scratch[top++] = lat;
      }
    }
  }
}

function readPolygons(numbers: Float64Array, start: number, count: number): Polygon[] {
  let top = start;
  const readRing = (): Position[] =>
    Array.from(
      { length: numbers[top++] as number },
      () => [numbers[top++] as number, numbers[top++] as number] as const,
    );
  return Array.from({ length: count }, () => Array.from({ length: numbers[top++] as number }, readRing));
}
