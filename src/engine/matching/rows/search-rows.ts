/**
 * The rows of a search: one for each area or place that it names. If it names none, it has one for each required term
 * or, without such terms, a single row. Excluded places have rows too. A removal derives the same rows from the record.
 */

import type { SearchNumber } from '../../domain/ids.ts';
import { BOUND_COLUMNS } from '../kernel/layout.ts';
import type { RecordArena } from '../records/arena.ts';
import { excludedAt, shapesAt } from '../records/criteria-record.ts';
import {
  ACCEPTS_NO_TEXT,
  CIRCLE_WORDS,
  CONDITIONS,
  countOf,
  DEPARTMENTS,
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

/** The code of a missing text among the terms. It finds the searches that accept properties without a text. */
export const NO_TEXT = 0;

/** The codes of the places that a record names, without duplicates. */
export class PlaceCodes {
  readonly inseeCodes = new NumberList();
  readonly departments = new NumberList();
  readonly zipcodes = new NumberList();

  get count(): number {
    return this.inseeCodes.length + this.departments.length + this.zipcodes.length;
  }

  clear(): void {
    this.inseeCodes.clear();
    this.departments.clear();
    this.zipcodes.clear();
  }

  /** `head` is the first integer of the record. */
  read(integers: Int32Array, head: number): void {
    this.clear();
    let code = head + 2 * listsOffset(integers[head + FLAGS] as number);
    code = readCodes(integers, code, countOf(integers, head, INSEE_CODES), this.inseeCodes);
    code = readCodes(integers, code, countOf(integers, head, DEPARTMENTS), this.departments);
    readCodes(integers, code, countOf(integers, head, ZIPCODES), this.zipcodes);
  }
}

/** The rows of the record that was read last. */
export class SearchRows {
  /** The values that all rows share: everything except the area and, for an area that is not decisive, `attention`. */
  readonly row = createRow();
  readonly places = new PlaceCodes();
  /** Terms by which the search is found if it names no area or place. */
  readonly terms = new NumberList();
  /** The places that the search excludes. */
  readonly excluded = new PlaceCodes();
  readonly circles: CircleRow[] = [];
  readonly #arena: RecordArena;
  readonly #expressions: ExpressionTable;
  readonly #shapes: PolygonShapes;

  constructor(arena: RecordArena, expressions: ExpressionTable, shapes: PolygonShapes) {
    this.#arena = arena;
    this.#expressions = expressions;
    this.#shapes = shapes;
  }

  /** Whether the search has a single row, which is tested for every property. */
  get isEverywhere(): boolean {
    return this.places.count + this.terms.length + this.circles.length === 0;
  }

  /** `isOneOfSeveral`: the search has several records, and may be found repeatedly. */
  read(number: SearchNumber, address: number, isOneOfSeveral: boolean): void {
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
    row.attention = this.#attentionOf(flags, integers, head) | this.#readExcluded(address);
    if (isOneOfSeveral) row.attention |= REPEATS;
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
    this.places.read(integers, head);
    this.terms.clear();
    this.circles.length = 0;
    // If an area does not fit into the R-tree, the search has a single row for all properties.
    if (!this.#readCircles(flags, address, lists)) {
      this.places.clear();
      return;
    }
    if (!this.isEverywhere) return;
    const required = this.#expressions.requiredOf(integers[head + EXPRESSION] as number);
    for (const term of required ?? []) this.terms.add(term);
    if (required !== null && (flags & ACCEPTS_NO_TEXT) !== 0) this.terms.add(NO_TEXT);
  }

  /** Reads circles and polygons. If one of them does not fit into the R-tree, reads none and returns false. */
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

  /** Reads the excluded areas, and returns the attention bits that they require. */
  #readExcluded(address: number): number {
    this.excluded.clear();
    const excluded = excludedAt(address, this.#arena);
    if (excluded === 0) return 0;
    this.excluded.read(this.#arena.integersAt(excluded), this.#arena.integerOffset(excluded));
    // A search that excludes a place of the property counts as already found. Excluded polygons need the record.
    return (this.excluded.count > 0 ? REPEATS : 0) | (shapesAt(excluded, this.#arena) === 0 ? 0 : NEEDS_EXACT_CHECK);
  }

  #attentionOf(flags: number, integers: Int32Array, head: number): number {
    const hasArea = (flags & (HAS_CIRCLE | HAS_SHAPES)) !== 0;
    const [hasText, hasConditions] = [integers[head + EXPRESSION] !== 0, integers[head + CONDITIONS] !== 0];
    const needsExactCheck = (flags & IS_PARTIAL) !== 0 || (hasArea && this.circles.length === 0);
    let attention = needsExactCheck ? NEEDS_EXACT_CHECK : 0;
    if (hasConditions) attention |= NEEDS_CONDITION_CHECK;
    else if (hasText) attention |= NEEDS_TEXT_CHECK;
    // A property is in at most one department, but may be in several other places and areas.
    const { places, terms, circles } = this;
    const { inseeCodes, departments, zipcodes } = places;
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

/** Adds the codes of a list without duplicates, and returns the offset of the next list. */
function readCodes(integers: Int32Array, start: number, count: number, codes: NumberList): number {
  const end = start + count;
  for (let at = start; at < end; at++) {
    const code = integers[at] as number;
    if (!codes.includes(code)) codes.add(code);
  }
  return end;
}
