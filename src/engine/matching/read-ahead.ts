/**
 * Has what the checks of a property's rows will read near before they begin. A check reads a record, an expression,
 * polygons, one after the other and each where the one before says, all over hundreds of megabytes. Loops that read one
 * step of all the checks, and branch on nothing that they read, let the processor wait for all of them at once.
 */

import type { SearchNumber } from '../domain/ids.ts';
import { CHECK_INTEGERS, OPEN_ROW } from './kernel/layout.ts';
import type { RecordArena } from './records/arena.ts';
import { shapesAt } from './records/criteria-record.ts';
import type { PolygonShapes } from './records/polygon-shapes.ts';
import {
  isShapeCheck,
  isTextCheck,
  NEEDS_EXACT_CHECK,
  NEEDS_SHAPE_CHECK,
  NEEDS_TEXT_CHECK,
} from './rows/row-groups.ts';
import type { SearchAddresses } from './search-addresses.ts';
import type { ExpressionTable } from './text/expression-table.ts';

/** Rows that their records decide. */
export const EXACT_BITS = OPEN_ROW | NEEDS_EXACT_CHECK;

export class ReadAhead {
  readonly #records: RecordArena;
  readonly #addresses: SearchAddresses;
  readonly #expressions: ExpressionTable;
  readonly #shapes: PolygonShapes;
  #recordList = new Int32Array(1024);
  #shapeList = new Int32Array(1024);
  /** Takes what is read for nothing but to have it near. */
  touched = 0;

  constructor(records: RecordArena, addresses: SearchAddresses, expressions: ExpressionTable, shapes: PolygonShapes) {
    this.#records = records;
    this.#addresses = addresses;
    this.#expressions = expressions;
    this.#shapes = shapes;
  }

  /** The record of the n-th of the rows that `EXACT_BITS` has a bit of. */
  recordAt(position: number): number {
    return this.#recordList[position] as number;
  }

  /** `start`, `end`: of the rows to check, `CHECK_INTEGERS` each. */
  read(integers: Int32Array, start: number, end: number, lat: number, lon: number): void {
    this.#makeRoom((end - start) / CHECK_INTEGERS);
    let records = 0;
    let shapes = 0;
    let touched = 0;
    for (let at = start; at < end; at += CHECK_INTEGERS) {
      const attention = integers[at + 2] as number;
      const source = integers[at + 1] as number;
      if ((attention & EXACT_BITS) !== 0) {
        const hasOtherSource = isTextCheck(attention) || isShapeCheck(attention);
        const address = hasOtherSource ? (this.#addresses.get(integers[at] as SearchNumber) as number) : source;
        this.#recordList[records++] = address;
      } else if ((attention & NEEDS_SHAPE_CHECK) !== 0) {
        this.#shapeList[shapes++] = source;
      } else if ((attention & NEEDS_TEXT_CHECK) !== 0) {
        touched ^= this.#expressions.touch(source);
      }
    }
    for (let i = 0; i < records; i++) {
      const address = this.#recordList[i] as number;
      touched ^= this.#records.touch(address) ^ this.#records.touchSecondLine(address);
    }
    for (let i = 0; i < shapes; i++) touched ^= this.#shapes.touch(this.#shapeList[i] as number);
    for (let i = 0; i < records; i++) {
      const address = shapesAt(this.#recordList[i] as number, this.#records);
      if (address === 0) continue;
      this.#shapeList[shapes++] = address;
      touched ^= this.#shapes.touch(address);
    }
    for (let i = 0; i < shapes; i++) touched ^= this.#shapes.touchCell(this.#shapeList[i] as number, lat, lon);
    this.touched = touched;
  }

  #makeRoom(rowCount: number): void {
    if (2 * rowCount <= this.#recordList.length) return;
    this.#recordList = new Int32Array(4 * rowCount);
    this.#shapeList = new Int32Array(4 * rowCount);
  }
}
