/**
 * The rows of a search: one for each area or place that it names, so that a property finds it by any of them. Rows are
 * derived from the record alone, so a removal derives exactly the rows that were inserted.
 */

import type { SearchNumber } from '../../domain/ids.ts';
import { BOUND_COLUMNS } from '../kernel/layout.ts';
import type { RecordArena } from '../records/arena.ts';
import {
  ACCEPTS_NO_TEXT,
  CIRCLE_WORDS,
  CONDITIONS,
  countOf,
  DEPARTMENTS,
  EXCLUDED_INSEE_CODES,
  EXPRESSION,
  FLAGS,
  HAS_CIRCLE,
  HAS_SHAPES,
  HEAD_WORDS,
  INSEE_CODES,
  IS_PARTIAL,
  KINDS,
  listsOffset,
  NEEDS_SHIFT,
  readCircle,
  shapesOf,
  ZIPCODES,
} from '../records/layout.ts';
import { NumberList } from '../records/number-list.ts';
import type { PolygonShapes } from '../records/polygon-shapes.ts';
import type { ExpressionTable } from '../text/expression-table.ts';
import { type CircleRow, circleRow } from './area-geometry.ts';
import { CODE_MAX, CODE_MIN, codeOf, EDGES_OF_MEASURE } from './quantiser.ts';
import {
  ANY_TYPE,
  createRow,
  NEEDS_CONDITION_CHECK,
  NEEDS_EXACT_CHECK,
  NEEDS_TEXT_CHECK,
  REPEATS,
  REPEATS_BY_INSEE,
} from './row-groups.ts';

/** The term code of properties without a text, which finds the searches that accept them. */
export const NO_TEXT = 0;

/** The rows of the search last read. */
export class SearchRows {
  /** What all rows share: everything but the area and, in an area that is not decisive, `attention`. */
  readonly row = createRow();
  /** Codes of the places that the search names, each once. */
  readonly inseeCodes = new NumberList();
  readonly departments = new NumberList();
  readonly zipcodes = new NumberList();
  /** Terms that find the search if it names no place. */
  readonly terms = new NumberList();
  /** Communes whose properties the search excludes. */
  readonly excludedInseeCodes = new NumberList();
  readonly circles: CircleRow[] = [];
  readonly #arena: RecordArena;
  readonly #expressions: ExpressionTable;
  readonly #shapes: PolygonShapes;

  constructor(arena: RecordArena, expressions: ExpressionTable, shapes: PolygonShapes) {
    this.#arena = arena;
    this.#expressions = expressions;
    this.#shapes = shapes;
  }

  /** The number of rows, at least one. */
  get count(): number {
    return Math.max(1, this.#placeCount);
  }

  /** Whether the search has a single row, against which every property is tested. */
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
    row.expression = integers[head + EXPRESSION] as number;
    row.conditions = integers[head + CONDITIONS] as number;
    row.types = (integers[head + KINDS] as number) & ANY_TYPE;
    row.needs = (integers[head + KINDS] as number) >> NEEDS_SHIFT;
    this.#readBounds(flags, address);
    this.#readPlaces(flags, address);
    row.attention = this.#attentionOf(flags, integers, head);
  }

  #readBounds(flags: number, address: number): void {
    const { bounds } = this.row;
    const numbers = this.#arena.numbersAt(address);
    let at = this.#arena.numberOffset(address) + HEAD_WORDS;
    for (let column = 0; column < BOUND_COLUMNS; column++) {
      const isSet = ((flags >> column) & 1) !== 0;
      if (!isSet) bounds[column] = (column & 1) === 0 ? CODE_MIN : CODE_MAX;
      else bounds[column] = codeOf(EDGES_OF_MEASURE[column >> 1] as Float64Array, numbers[at++] as number);
    }
  }

  #readPlaces(flags: number, address: number): void {
    const integers = this.#arena.integersAt(address);
    const head = this.#arena.integerOffset(address);
    const lists = this.#arena.numberOffset(address) + listsOffset(flags);
    this.inseeCodes.clear();
    this.departments.clear();
    this.zipcodes.clear();
    this.terms.clear();
    this.excludedInseeCodes.clear();
    this.circles.length = 0;
    let code = 2 * lists;
    code = readCodes(integers, code, countOf(integers, head, INSEE_CODES), this.inseeCodes);
    code = readCodes(integers, code, countOf(integers, head, DEPARTMENTS), this.departments);
    code = readCodes(integers, code, countOf(integers, head, ZIPCODES), this.zipcodes);
    readCodes(integers, code, countOf(integers, head, EXCLUDED_INSEE_CODES), this.excludedInseeCodes);
    // If the R-tree cannot hold an area, the search has a single row for all properties.
    if (!this.#readCircles(flags, address, lists)) {
      for (const codes of [this.inseeCodes, this.departments, this.zipcodes]) codes.clear();
      return;
    }
    if (!this.isEverywhere) return;
    const required = this.#expressions.requiredOf(integers[head + EXPRESSION] as number);
    for (const term of required ?? []) this.terms.add(term);
    if (required !== null && (flags & ACCEPTS_NO_TEXT) !== 0) this.terms.add(NO_TEXT);
  }

  /** Reads circles and polygons. False, with none read, if the R-tree cannot hold one of them. */
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
    const [hasText, hasConditions] = [integers[head + EXPRESSION] !== 0, integers[head + CONDITIONS] !== 0];
    const needsExactCheck = (flags & IS_PARTIAL) !== 0 || (hasArea && this.circles.length === 0);
    let attention = needsExactCheck ? NEEDS_EXACT_CHECK : 0;
    if (hasConditions) attention |= NEEDS_CONDITION_CHECK;
    else if (hasText) attention |= NEEDS_TEXT_CHECK;
    // For a property in an excluded commune, the search is treated as already found.
    if (this.excludedInseeCodes.length > 0) attention |= REPEATS;
    // A property is in at most one department, but may be in several of the other places and areas.
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

/** Adds those codes, each once; returns where the next list begins. */
function readCodes(integers: Int32Array, start: number, count: number, codes: NumberList): number {
  const end = start + count;
  for (let at = start; at < end; at++) {
    const code = integers[at] as number;
    if (!codes.includes(code)) codes.add(code);
  }
  return end;
}
