/**
 * Stores criteria in a record of about eighty bytes. It has a head of counts and flags, limits and circle (if set), and
 * the codes in the lists of places. It also has the addresses of the polygons, of the `conditions` and of a separate
 * record for the excluded areas. The record is *partial* if criteria are unusually large, if no bit is left for a site
 * category, or if no client can send them (unknown codes, NaN). It then has only the areas or, if too large, nothing.
 */

import { type Areas, hasAreas, NOWHERE_CODE } from '../../domain/areas.ts';
import { ANYTHING, type Criteria, plainCriteria, type RowOf } from '../../domain/criterion-table.ts';
import {
  EXPRESSION_ENTRIES_MAX,
  EXPRESSION_GROUPS_MAX,
  EXPRESSION_WORD_LENGTH_MAX,
  type Expressions,
} from '../../domain/expressions.ts';
import { bitOfCriterion } from '../../domain/unknown-criteria.ts';
import type { CodeTable } from '../code-table.ts';
import { needsAmong, needsOf } from '../needs.ts';
import { ANY_TYPE } from '../rows/row-groups.ts';
import type { ExpressionTable } from '../text/expression-table.ts';
import type { RecordArena } from './arena.ts';
import type { Conditions } from './conditions.ts';
import {
  ACCEPTS_NO_TEXT,
  CONDITIONS,
  countOf,
  EXPRESSION,
  excludedOf,
  FLAGS,
  HAS_CIRCLE,
  HAS_EXCLUDED,
  HAS_SHAPES,
  HEAD_WORDS,
  IS_PARTIAL,
  isRecorded,
  KINDS,
  LIST_COUNTS,
  LISTS,
  type ListName,
  listsOffset,
  NEEDS_SHIFT,
  RANGES,
  shapesOf,
  wordsOf,
} from './layout.ts';
import type { PolygonShapes } from './polygon-shapes.ts';
import { setOf } from './value-sets.ts';

/** The tables that assign codes to strings, expressions, polygons and conditions. */
export interface RecordTables {
  readonly insee: CodeTable;
  readonly departments: CodeTable;
  readonly zipcodes: CodeTable;
  readonly expressions: ExpressionTable;
  readonly shapes: PolygonShapes;
  readonly conditions: Conditions;
}

const AREAS_CRITERION = bitOfCriterion('areas');
const EXPRESSIONS_CRITERION = bitOfCriterion('expressions');
const TYPES_CRITERION = bitOfCriterion('propertyTypes');
const TYPES_ROW = plainCriteria('codes').find(({ name }) => name === 'propertyTypes') as RowOf<'codes'>;

const WORDS_MAX = 1 << 14;
const scratch = new Float64Array(WORDS_MAX);
const scratchIntegers = new Int32Array(scratch.buffer);

/** Writes a record and returns its address. Increments the use count of every code in it. */
export function writeRecord(criteria: Criteria, arena: RecordArena, tables: RecordTables): number {
  const excluded = writeExcluded(criteria.excludedAreas, arena, tables);
  const isWhole = excluded !== null && writeHead(criteria, tables) && fits(criteria);
  // For a whole record, no copy is made: copying the members takes a quarter of the time of writing the record.
  const areas = isWhole
    ? criteria
    : { ...ANYTHING, areas: criteria.areas, orMissing: criteria.orMissing & AREAS_CRITERION };
  const areAreasWhole = isWhole || (writeHead(areas, tables) && fits(areas));
  const { polygons } = criteria.areas;
  const shapes = areAreasWhole && polygons.length > 0 ? tables.shapes.write(polygons) : 0;
  if (isWhole && shapes !== null) return writeAll(criteria, { shapes, excluded }, arena, tables);
  if (excluded) freeRecord(excluded, arena, tables);
  const partial = areAreasWhole && shapes !== null ? areas : ANYTHING;
  writeHead(partial, tables);
  scratchIntegers[FLAGS] = (scratchIntegers[FLAGS] as number) | IS_PARTIAL;
  return writeAll(partial, { shapes: shapes ?? 0, excluded: 0 }, arena, tables);
}

/** Returns the address of a record with these areas; 0 if there are none, null if they do not fit in a record. */
function writeExcluded(areas: Areas, arena: RecordArena, tables: RecordTables): number | null {
  if (!hasAreas(areas)) return 0;
  const address = writeRecord({ ...ANYTHING, areas }, arena, tables);
  if (!isPartial(address, arena)) return address;
  freeRecord(address, arena, tables);
  return null;
}

/** Writes flags, kinds and limits, and prepares the conditions. Returns false if a value cannot be stored. */
function writeHead(criteria: Criteria, tables: RecordTables): boolean {
  const hasConditions = tables.conditions.write(criteria);
  const needs = needsOf(criteria);
  const types = setOf(TYPES_ROW, criteria.propertyTypes);
  if (hasConditions === null || needs === null || types === null) return false;
  const { areas, excludedAreas, orMissing } = criteria;
  scratchIntegers.fill(0, 0, 2 * HEAD_WORDS);
  scratchIntegers[FLAGS] =
    writeBounds(criteria) |
    (areas.circle === null ? 0 : HAS_CIRCLE) |
    (areas.polygons.length === 0 ? 0 : HAS_SHAPES) |
    (hasAreas(excludedAreas) ? HAS_EXCLUDED : 0) |
    ((orMissing & EXPRESSIONS_CRITERION) === 0 ? 0 : ACCEPTS_NO_TEXT);
  const typesInRow = (orMissing & TYPES_CRITERION) === 0 ? types : 0;
  const needsInRow = needs & ~needsAmong(needs, orMissing);
  scratchIntegers[KINDS] = (typesInRow === 0 ? ANY_TYPE : typesInRow) | (needsInRow << NEEDS_SHIFT);
  scratchIntegers[CONDITIONS] = hasConditions ? 1 : 0;
  return true;
}

/** Writes the limits that are not in `conditions` after the head, and returns their bits. */
function writeBounds(criteria: Criteria): number {
  let bits = 0;
  let top = HEAD_WORDS;
  for (const [position, { name }] of RANGES.entries()) {
    if (!isRecorded(position, criteria.orMissing)) continue;
    const { min, max } = criteria[name];
    if (min !== null) scratch[top++] = min;
    if (max !== null) scratch[top++] = max;
    bits |= ((min === null ? 0 : 1) | (max === null ? 0 : 2)) << (2 * position);
  }
  return bits;
}

/** Addresses of the polygons and of the excluded areas. The address of a part that the search lacks is ignored. */
interface Addresses {
  readonly shapes: number;
  readonly excluded: number;
}

/** Writes the parts after head and limits, and copies everything to the arena. */
function writeAll(criteria: Criteria, addresses: Addresses, arena: RecordArena, tables: RecordTables): number {
  const { circle } = criteria.areas;
  let top = listsOffset(scratchIntegers[FLAGS] as number);
  if (circle !== null) {
    scratch[top - 3] = circle.lat;
    scratch[top - 2] = circle.lon;
    scratch[top - 1] = circle.radiusKm;
  }
  const expression = tables.expressions.use(criteria.expressions);
  scratchIntegers[EXPRESSION] = expression;
  if (scratchIntegers[CONDITIONS] !== 0) scratchIntegers[CONDITIONS] = tables.conditions.use(expression);
  let code = 2 * top;
  readLists(criteria);
  for (const { name, table, integer, shift } of LISTS) {
    const texts = lists[name];
    if (texts.length === 0) continue;
    const count = LIST_COUNTS + integer;
    scratchIntegers[count] = (scratchIntegers[count] as number) | (texts.length << shift);
    for (let i = 0; i < texts.length; i++) scratchIntegers[code++] = tables[table].use(texts[i] as string);
  }
  top = (code + 1) >> 1;
  if (((scratchIntegers[FLAGS] as number) & (HAS_SHAPES | HAS_EXCLUDED)) !== 0) {
    scratchIntegers[2 * top] = addresses.shapes;
    scratchIntegers[2 * top++ + 1] = addresses.excluded;
  }

  const address = arena.allocate(top);
  const numbers = arena.numbersAt(address);
  const first = arena.numberOffset(address);
  for (let word = 0; word < top; word++) numbers[first + word] = scratch[word] as number;
  return address;
}

/** The address of the record's conditions; 0 for none. */
export function conditionsAt(address: number, arena: RecordArena): number {
  return arena.integersAt(address)[arena.integerOffset(address) + CONDITIONS] as number;
}

/** The id of the record's expressions; 0 for none. */
export function expressionAt(address: number, arena: RecordArena): number {
  return arena.integersAt(address)[arena.integerOffset(address) + EXPRESSION] as number;
}

/** The address of the record's polygons; 0 for none. */
export function shapesAt(address: number, arena: RecordArena): number {
  const integers = arena.integersAt(address);
  const head = arena.integerOffset(address);
  return ((integers[head + FLAGS] as number) & HAS_SHAPES) === 0 ? 0 : shapesOf(integers, head);
}

/** The address of the record with the excluded areas; 0 for none. */
export function excludedAt(address: number, arena: RecordArena): number {
  const integers = arena.integersAt(address);
  const head = arena.integerOffset(address);
  return ((integers[head + FLAGS] as number) & HAS_EXCLUDED) === 0 ? 0 : excludedOf(integers, head);
}

export function isPartial(address: number, arena: RecordArena): boolean {
  return ((arena.integersAt(address)[arena.integerOffset(address) + FLAGS] as number) & IS_PARTIAL) !== 0;
}

/** Frees the record and the record with its excluded areas, and decrements the use counts of their codes. */
export function freeRecord(address: number, arena: RecordArena, tables: RecordTables): void {
  const excluded = excludedAt(address, arena);
  if (excluded !== 0) freeRecord(excluded, arena, tables);
  const integers = arena.integersAt(address);
  const head = arena.integerOffset(address);
  let code = head + 2 * listsOffset(integers[head + FLAGS] as number);
  for (const [list, { table }] of LISTS.entries()) {
    for (let left = countOf(integers, head, list); left > 0; left--) tables[table].release(integers[code++] as number);
  }
  tables.expressions.release(integers[head + EXPRESSION] as number);
  const conditions = integers[head + CONDITIONS] as number;
  if (conditions !== 0) tables.conditions.release(conditions);
  if (((integers[head + FLAGS] as number) & HAS_SHAPES) !== 0) tables.shapes.free(shapesOf(integers, head));
  arena.free(address, wordsOf(integers, head));
}

/** The lists of the search that is being written. */
const lists: Record<ListName, readonly string[]> = {
  inseeCodes: [],
  departments: [],
  zipcodes: [],
};

function readLists(criteria: Criteria): void {
  const { areas, orMissing } = criteria;
  const takesNowhere = (orMissing & AREAS_CRITERION) !== 0 && hasAreas(areas);
  lists.inseeCodes = takesNowhere ? [...areas.inseeCodes, NOWHERE_CODE] : areas.inseeCodes;
  lists.departments = areas.departmentCodes;
  lists.zipcodes = areas.zipcodes;
}

/** Whether lists and expressions are small enough for a record. */
function fits(criteria: Criteria): boolean {
  let codes = 0;
  readLists(criteria);
  for (const { name, max } of LISTS) {
    const { length } = lists[name];
    if (length > max) return false;
    codes += length;
  }
  const words = listsOffset(scratchIntegers[FLAGS] as number) + ((codes + 1) >> 1);
  return words < WORDS_MAX && expressionsFit(criteria.expressions);
}

/** Whether the expressions are within the limits of `readExpressions`. */
function expressionsFit(expressions: Expressions): boolean {
  let entries = 0;
  for (const group of expressions) {
    entries += group.length;
    for (const { word } of group) if (word.length > EXPRESSION_WORD_LENGTH_MAX) return false;
  }
  return expressions.length <= EXPRESSION_GROUPS_MAX && entries <= EXPRESSION_ENTRIES_MAX;
}
