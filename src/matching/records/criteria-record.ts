/**
 * Criteria as a record of some eighty bytes, without loss: a head of counts and flags, the bounds and the circle that
 * are set, the codes of the lists, where the polygons are. Of criteria that no client can send (unknown codes, NaN) and of those
 * of unusual size the record is *partial*: it has their areas, as far as these fit, and says nothing else of them.
 */

import { type Criteria, type Range, UNBOUNDED } from '../../domain/criteria.ts';
import {
  EXPRESSION_ENTRIES_MAX,
  EXPRESSION_GROUPS_MAX,
  EXPRESSION_WORD_LENGTH_MAX,
  type Expressions,
} from '../../domain/expressions.ts';
import type { Polygon } from '../../domain/geo.ts';
import type { CodeTable } from '../code-table.ts';
import type { ExpressionTable } from '../text/expression-table.ts';
import type { RecordArena } from './arena.ts';
import {
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
  HAS_SHAPES,
  HAS_TOUR,
  HEAD_WORDS,
  INCLUDED_CATEGORIES,
  INSEE_CODES,
  IS_COHERENT,
  IS_PARTIAL,
  LIST_COUNTS,
  listsOffset,
  PUBLISHER_LISTS,
  PUBLISHERS_SHIFT,
  packTypes,
  rangesOf,
  readCircle,
  shapesOf,
  TRANSACTION_SHIFT,
  TYPES,
  TYPES_MAX,
  unpackTypes,
  WORDS,
  ZIPCODES,
} from './layout.ts';
import type { PolygonShapes } from './polygon-shapes.ts';

/** The tables that give strings and expressions their codes. */
export interface RecordTables {
  readonly insee: CodeTable;
  readonly departments: CodeTable;
  readonly zipcodes: CodeTable;
  readonly siteCategories: CodeTable;
  readonly expressions: ExpressionTable;
  readonly shapes: PolygonShapes;
}

const ANYTHING: Criteria = {
  ...{ transactionType: null, propertyTypes: [], publisherTypes: [], furnished: null },
  ...{ budget: UNBOUNDED, advertPrice: UNBOUNDED, pricePerMeter: UNBOUNDED },
  ...{ surface: UNBOUNDED, landSurface: UNBOUNDED, room: UNBOUNDED, bedroom: UNBOUNDED },
  ...{ withCoherentPrice: false, withVirtualTour: false },
  areas: { circle: null, inseeCodes: [], departmentCodes: [], zipcodes: [], polygons: [] },
  ...{ excludedInseeCodes: [], includedSiteCategories: [], excludedSiteCategories: [], expressions: [] },
};

const WORDS_MAX = 1 << 14;
const scratch = new Float64Array(WORDS_MAX);
const scratchIntegers = new Int32Array(scratch.buffer);

/** The address of a new record. Uses the codes of its strings. */
export function writeRecord(criteria: Criteria, arena: RecordArena, tables: RecordTables): number {
  const flags = flagsOf(criteria);
  const areas = { ...ANYTHING, areas: criteria.areas };
  const isWhole = flags !== null && fits(criteria, flags);
  const hasAreas = isWhole || fits(areas, flagsOf(areas) as number);
  const { polygons } = criteria.areas;
  const shapes = hasAreas && polygons.length > 0 ? tables.shapes.write(polygons) : 0;
  if (isWhole && shapes !== null) return writeAll(criteria, flags, shapes, arena, tables);
  const partial = hasAreas && shapes !== null ? areas : ANYTHING;
  return writeAll(partial, (flagsOf(partial) as number) | IS_PARTIAL, shapes ?? 0, arena, tables);
}

/** `shapes`: where the polygons are, of no meaning without any. */
function writeAll(criteria: Criteria, flags: number, shapes: number, arena: RecordArena, tables: RecordTables): number {
  const { circle, inseeCodes, departmentCodes, zipcodes, polygons } = criteria.areas;
  const { excludedInseeCodes, includedSiteCategories, excludedSiteCategories } = criteria;
  const lists = listsOffset(flags);
  const shapesWord = lists + codeWords(criteria);
  const words = shapesWord + (polygons.length > 0 ? 1 : 0);
  let top = HEAD_WORDS;
  const ranges = rangesOf(criteria);
  for (let i = 0; i < ranges.length; i++) {
    const { min, max } = ranges[i] as Range;
    if (min !== null) scratch[top++] = min;
    if (max !== null) scratch[top++] = max;
  }
  if (circle !== null) {
    scratch[top++] = circle.lat;
    scratch[top++] = circle.lon;
    scratch[top++] = circle.radiusKm;
  }
  scratchIntegers[FLAGS] = flags;
  scratchIntegers[TYPES] = packTypes(criteria.propertyTypes);
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
  if (polygons.length > 0) scratchIntegers[2 * shapesWord] = shapes;

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

/** The criteria that `writeRecord` was given; the record is not partial. */
export function readRecord(address: number, arena: RecordArena, tables: RecordTables): Criteria {
  const integers = arena.integersAt(address);
  const numbers = arena.numbersAt(address);
  const head = arena.integerOffset(address);
  const flags = integers[head + FLAGS] as number;
  const lists = arena.numberOffset(address) + listsOffset(flags);
  const [budget, pricePerMeter, surface, landSurface, room, bedroom, advertPrice] = readRanges(
    flags,
    numbers,
    arena.numberOffset(address) + HEAD_WORDS,
  ) as [Range, Range, Range, Range, Range, Range, Range];
  let end = 2 * lists;
  const readNext = (list: number, table: CodeTable): string[] => {
    const start = end;
    end += countOf(integers, head, list);
    return Array.from(integers.subarray(start, end), (code) => table.textOf(code));
  };
  const transaction = (flags >> TRANSACTION_SHIFT) & 3;
  const furnished = (flags >> FURNISHED_SHIFT) & 3;
  const { insee, departments, zipcodes, siteCategories, expressions } = tables;
  return {
    transactionType: transaction === 0 ? null : transaction - 1,
    propertyTypes: unpackTypes(integers[head + TYPES] as number),
    publisherTypes: PUBLISHER_LISTS[flags >> PUBLISHERS_SHIFT] as readonly number[],
    ...{ budget, advertPrice, pricePerMeter, surface, landSurface, room, bedroom },
    furnished: furnished === 0 ? null : furnished === 2,
    withCoherentPrice: (flags & IS_COHERENT) !== 0,
    withVirtualTour: (flags & HAS_TOUR) !== 0,
    areas: {
      circle: (flags & HAS_CIRCLE) === 0 ? null : readCircle(numbers, lists - CIRCLE_WORDS),
      inseeCodes: readNext(INSEE_CODES, insee),
      departmentCodes: readNext(DEPARTMENTS, departments),
      zipcodes: readNext(ZIPCODES, zipcodes),
      polygons: readPolygonsOf(address, arena, tables.shapes),
    },
    excludedInseeCodes: readNext(EXCLUDED_INSEE_CODES, insee),
    includedSiteCategories: readNext(INCLUDED_CATEGORIES, siteCategories),
    excludedSiteCategories: readNext(EXCLUDED_CATEGORIES, siteCategories),
    expressions: expressions.expressionsOf(integers[head + EXPRESSION] as number),
  };
}

export function readPolygonsOf(address: number, arena: RecordArena, shapes: PolygonShapes): Polygon[] {
  const integers = arena.integersAt(address);
  const head = arena.integerOffset(address);
  if (((integers[head + FLAGS] as number) & HAS_SHAPES) === 0) return [];
  return shapes.read(shapesOf(integers, head));
}

export function isPartial(address: number, arena: RecordArena): boolean {
  return ((arena.integersAt(address)[arena.integerOffset(address) + FLAGS] as number) & IS_PARTIAL) !== 0;
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
  if (((integers[head + FLAGS] as number) & HAS_SHAPES) !== 0) tables.shapes.free(shapesOf(integers, head));
  arena.free(address, integers[head + WORDS] as number);
}

/** Null for criteria whose kinds or bounds have no place in a record. */
function flagsOf(criteria: Criteria): number | null {
  const { transactionType, furnished } = criteria;
  if (transactionType !== null && transactionType !== 0 && transactionType !== 1) return null;
  const publishers = publisherPosition(criteria.publisherTypes);
  if (publishers === -1 || !areTypes(criteria.propertyTypes)) return null;
  const bounds = boundBitsOf(rangesOf(criteria));
  if (bounds === null) return null;
  return (
    bounds |
    ((transactionType === null ? 0 : transactionType + 1) << TRANSACTION_SHIFT) |
    ((furnished === null ? 0 : furnished ? 2 : 1) << FURNISHED_SHIFT) |
    (criteria.withCoherentPrice ? IS_COHERENT : 0) |
    (criteria.withVirtualTour ? HAS_TOUR : 0) |
    (criteria.areas.circle === null ? 0 : HAS_CIRCLE) |
    (criteria.areas.polygons.length === 0 ? 0 : HAS_SHAPES) |
    (publishers << PUBLISHERS_SHIFT)
  );
}

/** The bits of those that are set; null when one is not a number. */
function boundBitsOf(ranges: readonly Range[]): number | null {
  let bits = 0;
  for (let i = 0; i < ranges.length; i++) {
    const { min, max } = ranges[i] as Range;
    if (Number.isNaN(min) || Number.isNaN(max)) return null;
    if (min !== null) bits |= 1 << (2 * i);
    if (max !== null) bits |= 2 << (2 * i);
  }
  return bits;
}

function areTypes(propertyTypes: readonly number[]): boolean {
  if (propertyTypes.length > TYPES_MAX) return false;
  for (const type of propertyTypes) if (!Number.isInteger(type) || type < 0 || type >= TYPES_MAX) return false;
  return true;
}

/** Position in `PUBLISHER_LISTS`, -1 for other lists. */
function publisherPosition(types: readonly number[]): number {
  if (types.length === 0) return 0;
  for (let position = 1; position < PUBLISHER_LISTS.length; position++) {
    const list = PUBLISHER_LISTS[position] as readonly number[];
    if (list.length === types.length && list[0] === types[0] && list[1] === types[1]) return position;
  }
  return -1;
}

/** Whether lists and expressions are of usual size. */
function fits(criteria: Criteria, flags: number): boolean {
  const { areas } = criteria;
  return (
    areas.inseeCodes.length <= COUNT_BITS[INSEE_CODES].max &&
    areas.departmentCodes.length <= COUNT_BITS[DEPARTMENTS].max &&
    areas.zipcodes.length <= COUNT_BITS[ZIPCODES].max &&
    criteria.excludedInseeCodes.length <= COUNT_BITS[EXCLUDED_INSEE_CODES].max &&
    criteria.includedSiteCategories.length <= COUNT_BITS[INCLUDED_CATEGORIES].max &&
    criteria.excludedSiteCategories.length <= COUNT_BITS[EXCLUDED_CATEGORIES].max &&
    expressionsFit(criteria.expressions) &&
    listsOffset(flags) + codeWords(criteria) < WORDS_MAX
  );
}

/** Of the codes of all lists. */
function codeWords({ areas, excludedInseeCodes, includedSiteCategories, excludedSiteCategories }: Criteria): number {
  const places = areas.inseeCodes.length + areas.departmentCodes.length + areas.zipcodes.length;
  const others = excludedInseeCodes.length + includedSiteCategories.length + excludedSiteCategories.length;
  return (places + others + 1) >> 1;
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
