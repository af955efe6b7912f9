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
import type { CodeTable } from './code-table.ts';
import type { ExpressionTable } from './expression-table.ts';
import type { RecordArena } from './record-arena.ts';
import {
  allCodesOf,
  BOUND_BITS,
  CIRCLE_WORDS,
  COUNT_BITS,
  countOf,
  DEPARTMENTS,
  EXCLUDED_CATEGORIES,
  EXCLUDED_INSEE_CODES,
  EXPRESSION,
  FLAGS,
  FURNISHED_SHIFT,
  HAS_CIRCLE,
  HAS_TOUR,
  HEAD_WORDS,
  INCLUDED_CATEGORIES,
  INSEE_CODES,
  IS_COHERENT,
  LIST_COUNTS,
  listsOffset,
  POLYGONS_MAX,
  POLYGONS_SHIFT,
  PUBLISHER_LISTS,
  PUBLISHERS_SHIFT,
  packTypes,
  placeCodesOf,
  polygonCountOf,
  rangesOf,
  readCircle,
  TRANSACTION_SHIFT,
  TYPES_AND_POLYGONS,
  TYPES_MAX,
  unpackTypes,
  WORDS,
  ZIPCODES,
} from './record-layout.ts';
import { polygonWords, readPolygons, writePolygons } from './record-polygons.ts';
import type { Placement } from './search-rows.ts';

/** Searches with more polygon corners than that are kept as they are: sixteen kilobytes. */
const WORDS_MAX = 2048;

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
  const { circle, inseeCodes, departmentCodes, zipcodes, polygons } = criteria.areas;
  const { excludedInseeCodes, includedSiteCategories, excludedSiteCategories } = criteria;
  const ranges = rangesOf(criteria);
  if (!isUsual(criteria, ranges)) return null;
  const flags = flagsOf(criteria, ranges);
  const lists = listsOffset(flags);
  let codeCount = inseeCodes.length + departmentCodes.length + zipcodes.length + excludedInseeCodes.length;
  codeCount += includedSiteCategories.length + excludedSiteCategories.length;
  const codesEnd = lists + ((codeCount + 1) >> 1);
  const words = codesEnd + polygonWords(polygons);
  if (words > WORDS_MAX) return null;

  let top = HEAD_WORDS;
  for (const { min, max } of ranges) {
    if (min !== null) scratch[top++] = min;
    if (max !== null) scratch[top++] = max;
  }
  if (circle !== null) {
    scratch[top++] = circle.lat;
    scratch[top++] = circle.lon;
    scratch[top++] = circle.radiusKm;
  }
  scratchIntegers[FLAGS] = flags;
  scratchIntegers[TYPES_AND_POLYGONS] = packTypes(criteria.propertyTypes) | (polygons.length << POLYGONS_SHIFT);
  scratchIntegers[EXPRESSION] = tables.expressions.use(criteria.expressions);
  scratchIntegers[LIST_COUNTS] = 0;
  scratchIntegers[LIST_COUNTS + 1] = 0;
  scratchIntegers[WORDS] = words;
  let code = writeList(inseeCodes, INSEE_CODES, tables.insee, 2 * lists);
  code = writeList(departmentCodes, DEPARTMENTS, tables.departments, code);
  code = writeList(zipcodes, ZIPCODES, tables.zipcodes, code);
  code = writeList(excludedInseeCodes, EXCLUDED_INSEE_CODES, tables.insee, code);
  code = writeList(includedSiteCategories, INCLUDED_CATEGORIES, tables.siteCategories, code);
  writeList(excludedSiteCategories, EXCLUDED_CATEGORIES, tables.siteCategories, code);
  writePolygons(polygons, scratch, codesEnd);

  const address = arena.allocate(words);
  const numbers = arena.numbersAt(address);
  const first = arena.numberOffset(address);
  for (let word = 0; word < words; word++) numbers[first + word] = scratch[word] as number;
  return address;
}

/** Returns where the next list begins. */
function writeList(texts: readonly string[], list: number, table: CodeTable, start: number): number {
  const { integer, shift } = COUNT_BITS[list] as (typeof COUNT_BITS)[number];
  const count = LIST_COUNTS + integer;
  scratchIntegers[count] = (scratchIntegers[count] as number) | (texts.length << shift);
  for (let i = 0; i < texts.length; i++) scratchIntegers[start + i] = table.use(texts[i] as string);
  return start + texts.length;
}

/** The criteria that `writeRecord` was given. */
export function readRecord(address: number, arena: RecordArena, tables: RecordTables): Criteria {
  const integers = arena.integersAt(address);
  const numbers = arena.numbersAt(address);
  const head = arena.integerOffset(address);
  const flags = integers[head + FLAGS] as number;
  const [budget, pricePerMeter, surface, landSurface, room, bedroom, advertPrice] = readRanges(
    flags,
    numbers,
    arena.numberOffset(address) + HEAD_WORDS,
  ) as [Range, Range, Range, Range, Range, Range, Range];
  const excluded = 2 * (arena.numberOffset(address) + listsOffset(flags)) + placeCodesOf(integers, head);
  const includedCategories = excluded + countOf(integers, head, EXCLUDED_INSEE_CODES);
  const excludedCategories = includedCategories + countOf(integers, head, INCLUDED_CATEGORIES);
  const { insee, siteCategories } = tables;
  return {
    ...readPlacement(address, arena, tables),
    ...{ budget, advertPrice, pricePerMeter, surface, landSurface, room, bedroom },
    excludedInseeCodes: readList(integers, head, EXCLUDED_INSEE_CODES, excluded, insee),
    includedSiteCategories: readList(integers, head, INCLUDED_CATEGORIES, includedCategories, siteCategories),
    excludedSiteCategories: readList(integers, head, EXCLUDED_CATEGORIES, excludedCategories, siteCategories),
    expressions: tables.expressions.expressionsOf(integers[head + EXPRESSION] as number),
  };
}

/** The part of the criteria that tells where the rows are. */
export function readPlacement(address: number, arena: RecordArena, tables: RecordTables): Placement {
  const integers = arena.integersAt(address);
  const numbers = arena.numbersAt(address);
  const head = arena.integerOffset(address);
  const flags = integers[head + FLAGS] as number;
  const lists = arena.numberOffset(address) + listsOffset(flags);
  const departments = 2 * lists + countOf(integers, head, INSEE_CODES);
  const zipcodes = departments + countOf(integers, head, DEPARTMENTS);
  const polygons = (2 * lists + allCodesOf(integers, head) + 1) >> 1;
  const transaction = (flags >> TRANSACTION_SHIFT) & 3;
  const furnished = (flags >> FURNISHED_SHIFT) & 3;
  return {
    transactionType: transaction === 0 ? null : transaction - 1,
    propertyTypes: unpackTypes(integers[head + TYPES_AND_POLYGONS] as number),
    publisherTypes: PUBLISHER_LISTS[flags >> PUBLISHERS_SHIFT] as readonly number[],
    furnished: furnished === 0 ? null : furnished === 2,
    withCoherentPrice: (flags & IS_COHERENT) !== 0,
    withVirtualTour: (flags & HAS_TOUR) !== 0,
    areas: {
      circle: (flags & HAS_CIRCLE) === 0 ? null : readCircle(numbers, lists - CIRCLE_WORDS),
      inseeCodes: readList(integers, head, INSEE_CODES, 2 * lists, tables.insee),
      departmentCodes: readList(integers, head, DEPARTMENTS, departments, tables.departments),
      zipcodes: readList(integers, head, ZIPCODES, zipcodes, tables.zipcodes),
      polygons: readPolygons(numbers, polygons, polygonCountOf(integers, head)),
    },
  };
}

function readRanges(flags: number, numbers: Float64Array, start: number): Range[] {
  const ranges: Range[] = [];
  let top = start;
  for (let bit = 0; bit < BOUND_BITS; bit += 2) {
    const min = (flags >> bit) & 1 ? (numbers[top++] as number) : null;
    const max = (flags >> (bit + 1)) & 1 ? (numbers[top++] as number) : null;
    ranges.push({ min, max });
  }
  return ranges;
}

function readList(integers: Int32Array, head: number, list: number, start: number, table: CodeTable): string[] {
  const texts: string[] = [];
  const end = start + countOf(integers, head, list);
  for (let code = start; code < end; code++) texts.push(table.textOf(integers[code] as number));
  return texts;
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

function isUsual(criteria: Criteria, ranges: readonly Range[]): boolean {
  const { transactionType, propertyTypes, areas } = criteria;
  if (transactionType !== null && transactionType !== 0 && transactionType !== 1) return false;
  if (propertyTypes.length > TYPES_MAX || publisherPosition(criteria.publisherTypes) === -1) return false;
  for (const type of propertyTypes) if (!Number.isInteger(type) || type < 0 || type >= TYPES_MAX) return false;
  for (const { min, max } of ranges) if (Number.isNaN(min) || Number.isNaN(max)) return false;
  return (
    areas.inseeCodes.length <= COUNT_BITS[INSEE_CODES].max &&
    areas.departmentCodes.length <= COUNT_BITS[DEPARTMENTS].max &&
    areas.zipcodes.length <= COUNT_BITS[ZIPCODES].max &&
    areas.polygons.length <= POLYGONS_MAX &&
    criteria.excludedInseeCodes.length <= COUNT_BITS[EXCLUDED_INSEE_CODES].max &&
    criteria.includedSiteCategories.length <= COUNT_BITS[INCLUDED_CATEGORIES].max &&
    criteria.excludedSiteCategories.length <= COUNT_BITS[EXCLUDED_CATEGORIES].max &&
    expressionsFit(criteria.expressions)
  );
}

/** Within the limits of `parseExpressions`. */
function expressionsFit(expressions: Expressions): boolean {
  let entries = 0;
  for (const group of expressions) {
    entries += group.length;
    for (const { word } of group) if (word.length > EXPRESSION_WORD_LENGTH_MAX) return false;
  }
  return expressions.length <= EXPRESSION_GROUPS_MAX && entries <= EXPRESSION_ENTRIES_MAX;
}

function publisherPosition(types: readonly number[]): number {
  if (types.length === 0) return 0;
  return PUBLISHER_LISTS.findIndex(
    (list) => list.length === types.length && list.every((type, i) => type === types[i]),
  );
}

function flagsOf(criteria: Criteria, ranges: readonly Range[]): number {
  const { transactionType, furnished, publisherTypes } = criteria;
  let bounds = 0;
  let bit = 1;
  for (const { min, max } of ranges) {
    if (min !== null) bounds |= bit;
    if (max !== null) bounds |= 2 * bit;
    bit *= 4;
  }
  return (
    bounds |
    ((transactionType === null ? 0 : transactionType + 1) << TRANSACTION_SHIFT) |
    ((furnished === null ? 0 : furnished ? 2 : 1) << FURNISHED_SHIFT) |
    (criteria.withCoherentPrice ? IS_COHERENT : 0) |
    (criteria.withVirtualTour ? HAS_TOUR : 0) |
    (criteria.areas.circle === null ? 0 : HAS_CIRCLE) |
    (publisherPosition(publisherTypes) << PUBLISHERS_SHIFT)
  );
}
