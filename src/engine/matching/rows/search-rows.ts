/**
 * The rows of a search: one for each area or place it names, so that a property finds it under any of its own. They
 * follow from the record alone: what is removed is worked out exactly as what was inserted.
 */

import type { CriterionSet } from '../../domain/criterion-table.ts';
import type { SearchNumber } from '../../domain/ids.ts';
import { bitOfCriterion } from '../../domain/unknown-criteria.ts';
import { BOUND_COLUMNS } from '../kernel/layout.ts';
import { COLUMN_NEEDS, needsWithout } from '../needs.ts';
import type { RecordArena } from '../records/arena.ts';
import { orMissingOf } from '../records/home-criteria.ts';
import {
  CIRCLE_WORDS,
  CODE_LISTS,
  codeIn,
  countIn,
  countOf,
  DEPARTMENTS,
  EXCLUDED_CATEGORIES,
  EXCLUDED_INSEE_CODES,
  EXPRESSION,
  FLAGS,
  HAS_CIRCLE,
  HAS_HOME,
  HAS_SHAPES,
  HEAD_WORDS,
  INCLUDED_CATEGORIES,
  INSEE_CODES,
  IS_PARTIAL,
  listsOffset,
  NEEDS,
  packedAt,
  RANGE_CRITERIA,
  readCircle,
  shapesOf,
  TYPES_LIST,
  UNCOLUMNED_BOUNDS,
  ZIPCODES,
} from '../records/layout.ts';
import { NumberList } from '../records/number-list.ts';
import type { PolygonShapes } from '../records/polygon-shapes.ts';
import type { ExpressionTable } from '../text/expression-table.ts';
import { type CircleRow, circleRow } from './area-geometry.ts';
import { CODE_MAX, CODE_MIN, codeOf, EDGES_OF_MEASURE } from './quantiser.ts';
import { ANY_TYPE, createRow, NEEDS_EXACT_CHECK, NEEDS_TEXT_CHECK, REPEATS, REPEATS_BY_INSEE } from './row-groups.ts';

const EXPRESSIONS_CRITERION = bitOfCriterion('expressions');
/** The code, among terms, under which searches that accept it are found where there is no text. */
export const NO_TEXT = 0;

/** The rows of the search last read. */
export class SearchRows {
  /** What all of them share: everything but the area, and `attention` within an area that is not decisive. */
  readonly row = createRow();
  /** Where they go, by code, each once. */
  readonly inseeCodes = new NumberList();
  readonly departments = new NumberList();
  readonly zipcodes = new NumberList();
  /** Terms that stand in for places. */
  readonly terms = new NumberList();
  readonly circles: CircleRow[] = [];
  readonly #arena: RecordArena;
  readonly #expressions: ExpressionTable;
  readonly #shapes: PolygonShapes;

  constructor(arena: RecordArena, expressions: ExpressionTable, shapes: PolygonShapes) {
    this.#arena = arena;
    this.#expressions = expressions;
    this.#shapes = shapes;
  }

  /** At least one. */
  get count(): number {
    return Math.max(1, this.#placeCount);
  }

  /** Whether there is but one row, for every property. */
  get isEverywhere(): boolean {
    return this.#placeCount === 0;
  }

  get #placeCount(): number {
    const codes = this.inseeCodes.length + this.departments.length + this.zipcodes.length + this.terms.length;
    return codes + this.circles.length;
  }

  read(number: SearchNumber, address: number): void {
    const integers = this.#arena.integersAt(address);
    const head = this.#arena.integerOffset(address);
    const flags = integers[head + FLAGS] as number;
    const { row } = this;
    row.number = number;
    row.address = address;
    row.shapes = (flags & HAS_SHAPES) === 0 ? 0 : shapesOf(integers, head);
    row.expression = this.#expressions.rowCodeOf(integers[head + EXPRESSION] as number);
    const orMissing = orMissingOf(integers, head);
    row.types = (orMissing & TYPES_LIST.criterion) === 0 ? typesOf(integers, head) : ANY_TYPE;
    row.needs = needsWithout(integers[head + NEEDS] as number, orMissing) & COLUMN_NEEDS;
    this.#readBounds(flags, address, orMissing);
    this.#readPlaces(flags, address, orMissing);
    row.attention = this.#attentionOf(flags, integers, head);
  }

  #readBounds(flags: number, address: number, orMissing: CriterionSet): void {
    const { bounds } = this.row;
    const numbers = this.#arena.numbersAt(address);
    let at = this.#arena.numberOffset(address) + HEAD_WORDS;
    for (let column = 0; column < BOUND_COLUMNS; column++) {
      const isSet = ((flags >> column) & 1) !== 0;
      const bound = isSet ? (numbers[at++] as number) : 0;
      const isCompared = isSet && (orMissing & (RANGE_CRITERIA[column >> 1] as number)) === 0;
      if (!isCompared) bounds[column] = (column & 1) === 0 ? CODE_MIN : CODE_MAX;
      else bounds[column] = codeOf(EDGES_OF_MEASURE[column >> 1] as Float64Array, bound);
    }
  }

  #readPlaces(flags: number, address: number, orMissing: CriterionSet): void {
    const integers = this.#arena.integersAt(address);
    const head = this.#arena.integerOffset(address);
    const lists = this.#arena.numberOffset(address) + listsOffset(flags);
    this.inseeCodes.clear();
    this.departments.clear();
    this.zipcodes.clear();
    this.terms.clear();
    this.circles.length = 0;
    // With an area that the R-tree cannot hold, the row goes everywhere.
    if (!this.#readCircles(flags, address, lists)) return;
    let code = 2 * lists;
    code = readCodes(integers, code, countOf(integers, head, INSEE_CODES), this.inseeCodes);
    code = readCodes(integers, code, countOf(integers, head, DEPARTMENTS), this.departments);
    readCodes(integers, code, countOf(integers, head, ZIPCODES), this.zipcodes);
    if (!this.isEverywhere) return;
    const required = this.#expressions.requiredOf(integers[head + EXPRESSION] as number);
    for (const term of required ?? []) this.terms.add(term);
    if (required !== null && (orMissing & EXPRESSIONS_CRITERION) !== 0) this.terms.add(NO_TEXT);
  }

  /** False, and none, when the R-tree cannot hold one of them. */
  #readCircles(flags: number, address: number, lists: number): boolean {
    let fits = true;
    if ((flags & HAS_CIRCLE) !== 0) {
      fits = this.#add(circleRow(readCircle(this.#arena.numbersAt(address), lists - CIRCLE_WORDS)));
    }
    if ((flags & HAS_SHAPES) !== 0)
      for (const row of this.#shapes.rowsOf(this.row.shapes)) fits = this.#add(row) && fits;
    if (!fits) this.circles.length = 0;
    return fits;
  }

  #add(circle: CircleRow | null): boolean {
    return circle !== null && this.circles.push(circle) > 0;
  }

  #attentionOf(flags: number, integers: Int32Array, head: number): number {
    const hasArea = (flags & (HAS_CIRCLE | HAS_SHAPES)) !== 0;
    const needsExactCheck =
      (flags & (IS_PARTIAL | HAS_HOME | UNCOLUMNED_BOUNDS)) !== 0 ||
      ((integers[head + NEEDS] as number) & ~COLUMN_NEEDS) !== 0 ||
      hasUnneededCodes(integers, head) ||
      countOf(integers, head, EXCLUDED_INSEE_CODES) > 0 ||
      countOf(integers, head, INCLUDED_CATEGORIES) > 0 ||
      countOf(integers, head, EXCLUDED_CATEGORIES) > 0 ||
      (hasArea && this.circles.length === 0);
    let attention = needsExactCheck ? NEEDS_EXACT_CHECK : 0;
    if (integers[head + EXPRESSION] !== 0) attention |= NEEDS_TEXT_CHECK;
    // Several departments cannot hold one property; anything else named twice may.
    const { inseeCodes, departments, zipcodes, terms, circles } = this;
    const namedKinds =
      Math.min(inseeCodes.length, 1) +
      Math.min(departments.length, 1) +
      Math.min(zipcodes.length, 1) +
      Math.min(circles.length, 1);
    if (namedKinds > 1 || zipcodes.length > 1 || circles.length > 1 || terms.length > 1) attention |= REPEATS;
    if (inseeCodes.length > 1) attention |= REPEATS_BY_INSEE;
    return attention;
  }
}

function typesOf(integers: Int32Array, head: number): number {
  const packed = packedAt(integers, head, TYPES_LIST);
  let types = 0;
  for (let i = countIn(packed, TYPES_LIST) - 1; i >= 0; i--) types |= 1 << codeIn(packed, i, TYPES_LIST);
  return types === 0 ? ANY_TYPE : types;
}

/** Several codes of one list, which are no needs, and no column has. */
function hasUnneededCodes(integers: Int32Array, head: number): boolean {
  for (const list of CODE_LISTS) {
    if (list.hasNeeds && countIn(packedAt(integers, head, list), list) > 1) return true;
  }
  return false;
}

/** Adds those codes, each once; returns where the next list begins. */
function readCodes(integers: Int32Array, start: number, count: number, codes: NumberList): number {
  const end = start + count;
  for (let at = start; at < end; at++) {
    const code = integers[at] as number;
    if (!codes.includes(code)) codes.add(code);
  }
  return end;
}
