/**
 * Criteria as a record of about eighty bytes: a head of counts and flags, the bounds and the circle that are set, the
 * codes of the lists of places, and the addresses of the polygons and the `conditions`. If no client can send the
 * criteria (unknown codes, NaN), or if they are unusually large, the record is *partial*: it has only their areas, if
 * these fit.
 */

import { hasAreas, NOWHERE_CODE } from '../../domain/areas.ts';
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
  FLAGS,
  HAS_CIRCLE,
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

/** The tables that give strings and expressions their codes. */
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

/** Writes a record and returns its address. Counts one more use of each of its codes. */
export function writeRecord(criteria: Criteria, arena: RecordArena, tables: RecordTables): number {
  const isWhole = writeHead(criteria, tables) && fits(criteria);
  const areas = { ...ANYTHING, areas: criteria.areas, orMissing: criteria.orMissing & AREAS_CRITERION };
  const areAreasWhole = isWhole || (writeHead(areas, tables) && fits(areas));
  const { polygons } = criteria.areas;
  const shapes = areAreasWhole && polygons.length > 0 ? tables.shapes.write(polygons) : 0;
  if (isWhole && shapes !== null) return writeAll(criteria, shapes, arena, tables);
  const partial = areAreasWhole && shapes !== null ? areas : ANYTHING;
  writeHead(partial, tables);
  scratchIntegers[FLAGS] = (scratchIntegers[FLAGS] as number) | IS_PARTIAL;
  return writeAll(partial, shapes ?? 0, arena, tables);
}

/** Writes flags, kinds and bounds, and prepares the conditions. False if a record cannot store some of the criteria. */
function writeHead(criteria: Criteria, tables: RecordTables): boolean {
  const hasConditions = tables.conditions.write(criteria);
  const needs = needsOf(criteria);
  const types = setOf(TYPES_ROW, criteria.propertyTypes);
  if (hasConditions === null || needs === null || types === null) return false;
  const { areas, orMissing } = criteria;
  scratchIntegers.fill(0, 0, 2 * HEAD_WORDS);
  scratchIntegers[FLAGS] =
    writeBounds(criteria) |
    (areas.circle === null ? 0 : HAS_CIRCLE) |
    (areas.polygons.length === 0 ? 0 : HAS_SHAPES) |
    ((orMissing & EXPRESSIONS_CRITERION) === 0 ? 0 : ACCEPTS_NO_TEXT);
  const typesInRow = (orMissing & TYPES_CRITERION) === 0 ? types : 0;
  const needsInRow = needs & ~needsAmong(needs, orMissing);
  scratchIntegers[KINDS] = (typesInRow === 0 ? ANY_TYPE : typesInRow) | (needsInRow << NEEDS_SHIFT);
  scratchIntegers[CONDITIONS] = hasConditions ? 1 : 0;
  return true;
}

/** Writes the bounds that are set, after the head; returns their bits. */
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

/** Writes the rest, after head and bounds. `shapes`: the address of the polygons, ignored if there are none. */
function writeAll(criteria: Criteria, shapes: number, arena: RecordArena, tables: RecordTables): number {
  const { circle, polygons } = criteria.areas;
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
  if (polygons.length > 0) scratchIntegers[2 * top++] = shapes;

  const address = arena.allocate(top);
  const numbers = arena.numbersAt(address);
  const first = arena.numberOffset(address);
  for (let word = 0; word < top; word++) numbers[first + word] = scratch[word] as number;
  return address;
}

/** The address of its conditions; 0 for none. */
export function conditionsAt(address: number, arena: RecordArena): number {
  return arena.integersAt(address)[arena.integerOffset(address) + CONDITIONS] as number;
}

/** The id of its expressions; 0 for none. */
export function expressionAt(address: number, arena: RecordArena): number {
  return arena.integersAt(address)[arena.integerOffset(address) + EXPRESSION] as number;
}

/** The address of its polygons; 0 for none. */
export function shapesAt(address: number, arena: RecordArena): number {
  const integers = arena.integersAt(address);
  const head = arena.integerOffset(address);
  return ((integers[head + FLAGS] as number) & HAS_SHAPES) === 0 ? 0 : shapesOf(integers, head);
}

export function isPartial(address: number, arena: RecordArena): boolean {
  return ((arena.integersAt(address)[arena.integerOffset(address) + FLAGS] as number) & IS_PARTIAL) !== 0;
}

/** Frees the record and ends the use of its codes. */
export function freeRecord(address: number, arena: RecordArena, tables: RecordTables): void {
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

/** Lists of the search that is being written. */
const lists: Record<ListName, readonly string[]> = {
  inseeCodes: [],
  departments: [],
  zipcodes: [],
  excludedInseeCodes: [],
};

function readLists(criteria: Criteria): void {
  const { areas, excludedInseeCodes, orMissing } = criteria;
  const takesNowhere = (orMissing & AREAS_CRITERION) !== 0 && hasAreas(areas);
  lists.inseeCodes = takesNowhere ? [...areas.inseeCodes, NOWHERE_CODE] : areas.inseeCodes;
  lists.departments = areas.departmentCodes;
  lists.zipcodes = areas.zipcodes;
  lists.excludedInseeCodes = excludedInseeCodes;
}

/** Whether lists and expressions are of usual size. */
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

/** Within the limits of `parseExpressions`. */
function expressionsFit(expressions: Expressions): boolean {
  let entries = 0;
  for (const group of expressions) {
    entries += group.length;
    for (const { word } of group) if (word.length > EXPRESSION_WORD_LENGTH_MAX) return false;
  }
  return expressions.length <= EXPRESSION_GROUPS_MAX && entries <= EXPRESSION_ENTRIES_MAX;
}
