/**
 * The rows of a search: one for each area or place it names, so that a property finds it under any of its own. They
 * follow from the record alone: what is removed is worked out exactly as what was inserted.
 */

import type { SearchNumber } from '../../domain/ids.ts';
import type { RecordArena } from '../records/arena.ts';
import { readPolygonsOf } from '../records/criteria-record.ts';
import {
  ADVERT_PRICE_BITS,
  CIRCLE_WORDS,
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
  listsOffset,
  PUBLISHERS_SHIFT,
  readCircle,
  shapesOf,
  TRANSACTION_SHIFT,
  TYPES,
  unpackTypes,
  ZIPCODES,
} from '../records/layout.ts';
import { NumberList } from '../records/number-list.ts';
import type { PolygonShapes } from '../records/polygon-shapes.ts';
import type { ExpressionTable } from '../text/expression-table.ts';
import { type CircleRow, circleRow, polygonRow } from './area-geometry.ts';
import { CODE_MAX, CODE_MIN, codeOf, EDGES_OF_MEASURE } from './quantiser.ts';
import {
  ANY_TYPE,
  BOUND_COLUMNS,
  createRow,
  NEEDS_COHERENT_PRICE,
  NEEDS_EXACT_CHECK,
  NEEDS_FURNISHED,
  NEEDS_INDIVIDUAL,
  NEEDS_PROFESSIONAL,
  NEEDS_RENT,
  NEEDS_SALE,
  NEEDS_TEXT_CHECK,
  NEEDS_TOUR,
  NEEDS_UNFURNISHED,
  REPEATS,
  REPEATS_BY_INSEE,
} from './row-groups.ts';

/** By the two bits of the record, and by position in `PUBLISHER_LISTS`. */
const TRANSACTION_NEEDS = [0, NEEDS_SALE, NEEDS_RENT];
const FURNISHED_NEEDS = [0, NEEDS_UNFURNISHED, NEEDS_FURNISHED];
const PUBLISHER_NEEDS = [0, NEEDS_INDIVIDUAL, NEEDS_PROFESSIONAL, 0, 0];
/** The first position with two. */
const BOTH_PUBLISHERS = 3;

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
    row.types = typesOf(integers[head + TYPES] as number);
    row.needs = needsOf(flags);
    this.#readBounds(flags, address);
    this.#readPlaces(flags, address);
    row.attention = this.#attentionOf(flags, integers, head);
  }

  #readBounds(flags: number, address: number): void {
    const { bounds } = this.row;
    const numbers = this.#arena.numbersAt(address);
    let at = this.#arena.numberOffset(address) + HEAD_WORDS;
    for (let column = 0; column < BOUND_COLUMNS; column++) {
      if (((flags >> column) & 1) === 0) bounds[column] = (column & 1) === 0 ? CODE_MIN : CODE_MAX;
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
  }

  /** False, and none, when the R-tree cannot hold one of them. */
  #readCircles(flags: number, address: number, lists: number): boolean {
    let fits = true;
    if ((flags & HAS_CIRCLE) !== 0) {
      fits = this.#add(circleRow(readCircle(this.#arena.numbersAt(address), lists - CIRCLE_WORDS)));
    }
    for (const polygon of readPolygonsOf(address, this.#arena, this.#shapes)) {
      fits = this.#add(polygonRow(polygon)) && fits;
    }
    if (!fits) this.circles.length = 0;
    return fits;
  }

  #add(circle: CircleRow | null): boolean {
    return circle !== null && this.circles.push(circle) > 0;
  }

  #attentionOf(flags: number, integers: Int32Array, head: number): number {
    const hasArea = (flags & (HAS_CIRCLE | HAS_SHAPES)) !== 0;
    const needsExactCheck =
      (flags & (IS_PARTIAL | ADVERT_PRICE_BITS)) !== 0 ||
      flags >> PUBLISHERS_SHIFT >= BOTH_PUBLISHERS ||
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

function typesOf(packedTypes: number): number {
  let types = 0;
  for (const type of unpackTypes(packedTypes)) types |= 1 << type;
  return types === 0 ? ANY_TYPE : types;
}

function needsOf(flags: number): number {
  let needs = TRANSACTION_NEEDS[(flags >> TRANSACTION_SHIFT) & 3] as number;
  needs |= FURNISHED_NEEDS[(flags >> FURNISHED_SHIFT) & 3] as number;
  needs |= PUBLISHER_NEEDS[flags >> PUBLISHERS_SHIFT] as number;
  if ((flags & IS_COHERENT) !== 0) needs |= NEEDS_COHERENT_PRICE;
  if ((flags & HAS_TOUR) !== 0) needs |= NEEDS_TOUR;
  return needs;
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
