/**
 * The zones of leaves: what any row of each group accepts, so that the kernel reads only the groups worth reading. A row
 * that comes widens the zone of its group; one that goes leaves it as it is. From time to time the rows of a leaf are put
 * in order again (`row-order`), and its zone follows.
 */

import {
  AREA_GROUP_BYTES,
  BOUND_COLUMNS,
  BOUNDS,
  BYTE_COLUMNS_END,
  LANES,
  LATITUDES,
  LONGITUDES,
  NEED_COLUMNS,
  NEEDS,
  NUMBERS,
  PLACE_GROUP_BYTES,
  REACHES,
  TYPES,
  ZONE_GROUPS,
  ZONE_MAX_X,
  ZONE_MAX_Y,
  ZONE_MIN_X,
  ZONE_MIN_Y,
} from '../kernel/layout.ts';
import { type Box, writeBoxOfRow } from './area-geometry.ts';
import { acceptsOf } from './kind-cut.ts';
import { type GroupMemory, groupBytes, needsAt } from './row-groups.ts';
import { ORDERED_ROWS_MAX, orderedRows, orderRows } from './row-order.ts';
import { CHUNK, ROWS, type TreeNodes, ZONE } from './tree-nodes.ts';

/** A leaf of two groups is read as fast as its zone. */
const ZONE_ROWS_MIN = 2 * LANES + 1;

/** Both minimums first. */
const ZONE_BOX = [ZONE_MIN_X, ZONE_MIN_Y, ZONE_MAX_X, ZONE_MAX_Y];

const scratch = new Uint8Array(LANES * AREA_GROUP_BYTES);
const scratchIntegers = new Int32Array(scratch.buffer);
const rowBox: Box = { minX: 0, minY: 0, maxX: 0, maxY: 0 };
const cameBox = new Int32Array(ZONE_BOX.length);
const wholeBox: Box = { minX: 0, minY: 0, maxX: 0, maxY: 0 };

export class LeafZones {
  readonly #memory: GroupMemory;
  readonly #nodes: TreeNodes;
  readonly #hasArea: boolean;

  constructor(memory: GroupMemory, nodes: TreeNodes, hasArea: boolean) {
    this.#memory = memory;
    this.#nodes = nodes;
    this.#hasArea = hasArea;
  }

  /** Whether a leaf of so many rows is read by its zone. */
  isZoned(rowCount: number): boolean {
    return rowCount >= ZONE_ROWS_MIN && rowCount <= ORDERED_ROWS_MAX;
  }

  /** Puts the rows in order and gives the leaf the zone that it deserves, or none. */
  arrange(leaf: number): void {
    const rowCount = this.#memory.integers[leaf + ROWS] as number;
    this.#nodes.freeZone(leaf);
    if (!this.isZoned(rowCount)) return;
    this.#readRows(leaf, rowCount);
    const order = orderRows(rowCount, this.#hasArea ? wholeBox : null);
    this.#reorder(this.#memory.integers[leaf + CHUNK] as number, order);
    this.#nodes.createZone(leaf);
    for (let position = 0; position < rowCount; position++) {
      this.#cover(leaf, position, orderedRows.boxes, order[position] as number);
    }
  }

  /** After a row came to that position. */
  widen(leaf: number, position: number): void {
    if (this.#memory.integers[leaf + ZONE] === 0) return;
    if (this.#hasArea) this.#readBox(this.#nodes.groupAt(leaf, position), position % LANES, cameBox, 0);
    this.#cover(leaf, position, cameBox, 0);
  }

  /** `boxes`, `box`: of areas, where the box of the row at that position is. */
  #cover(leaf: number, position: number, boxes: Int32Array, box: number): void {
    const { bytes, codes, integers } = this.#memory;
    const zone = integers[leaf + ZONE] as number;
    const group = this.#nodes.groupAt(leaf, position);
    const row = group + (position % LANES);
    const lane = zone + Math.floor(position / LANES);
    const isNew = bytes[lane + TYPES] === 0;
    bytes[lane + TYPES] = (bytes[lane + TYPES] as number) | (bytes[row + TYPES] as number);
    for (let at = NEEDS; at < NEEDS + NEED_COLUMNS * LANES; at += LANES) {
      const needs = bytes[row + at] as number;
      bytes[lane + at] = isNew ? needs : (bytes[lane + at] as number) & needs;
    }
    for (let column = 0; column < BOUND_COLUMNS; column++) {
      const at = BOUNDS + column * LANES;
      const code = codes[row + at] as number;
      const loosest = codes[lane + at] as number;
      if (isNew || ((column & 1) === 0 ? code < loosest : code > loosest)) codes[lane + at] = code;
    }
    const word = (zone >> 2) + Math.floor(position / LANES);
    integers[word + (ZONE_GROUPS >> 2)] = group;
    if (!this.#hasArea) return;
    for (let side = 0; side < ZONE_BOX.length; side++) {
      const at = word + ((ZONE_BOX[side] as number) >> 2);
      const value = boxes[ZONE_BOX.length * box + side] as number;
      const widest = integers[at] as number;
      if (isNew || (side < 2 ? value < widest : value > widest)) integers[at] = value;
    }
  }

  /** Writes the box of a row as the n-th of those. */
  #readBox(group: number, lane: number, boxes: Int32Array, box: number): void {
    const { floats } = this.#memory;
    const word = (group >> 2) + lane;
    writeBoxOfRow(
      floats[word + (LATITUDES >> 2)] as number,
      floats[word + (LONGITUDES >> 2)] as number,
      floats[word + (REACHES >> 2)] as number,
      rowBox,
    );
    const at = ZONE_BOX.length * box;
    boxes[at] = rowBox.minX;
    boxes[at + 1] = rowBox.minY;
    boxes[at + 2] = rowBox.maxX;
    boxes[at + 3] = rowBox.maxY;
  }

  #readRows(leaf: number, rowCount: number): void {
    const { bytes, codes } = this.#memory;
    const { bounds, types, needs, accepts, boxes } = orderedRows;
    wholeBox.minX = wholeBox.minY = Infinity;
    wholeBox.maxX = wholeBox.maxY = -Infinity;
    for (let position = 0; position < rowCount; position++) {
      const group = this.#nodes.groupAt(leaf, position);
      const row = group + (position % LANES);
      types[position] = bytes[row + TYPES] as number;
      needs[position] = needsAt(bytes, row);
      accepts[position] = acceptsOf(bytes[row + TYPES] as number, needs[position] as number);
      for (let column = 0; column < BOUND_COLUMNS; column++) {
        bounds.codes[column * bounds.stride + position] = codes[row + BOUNDS + column * LANES] as number;
      }
      if (!this.#hasArea) continue;
      this.#readBox(group, position % LANES, boxes, position);
      wholeBox.minX = Math.min(wholeBox.minX, rowBox.minX);
      wholeBox.minY = Math.min(wholeBox.minY, rowBox.minY);
      wholeBox.maxX = Math.max(wholeBox.maxX, rowBox.maxX);
      wholeBox.maxY = Math.max(wholeBox.maxY, rowBox.maxY);
    }
  }

  /** `order`: of each row from now on, its position so far. */
  #reorder(chunk: number, order: Uint16Array): void {
    const { bytes, integers } = this.#memory;
    const step = groupBytes(this.#hasArea);
    const chunkBytes = Math.ceil(order.length / LANES) * step;
    scratch.set(bytes.subarray(chunk, chunk + chunkBytes));
    const columnsEnd = (this.#hasArea ? AREA_GROUP_BYTES : PLACE_GROUP_BYTES) >> 2;
    for (let position = 0; position < order.length; position++) {
      const former = order[position] as number;
      const from = Math.floor(former / LANES) * step + (former % LANES);
      const to = chunk + Math.floor(position / LANES) * step + (position % LANES);
      for (let column = 0; column < BYTE_COLUMNS_END; column += LANES) {
        bytes[to + column] = scratch[from + column] as number;
      }
      const fromWord = ((from - (former % LANES)) >> 2) + (former % LANES);
      const toWord = ((to - (position % LANES)) >> 2) + (position % LANES);
      for (let column = NUMBERS >> 2; column < columnsEnd; column += LANES) {
        integers[toWord + column] = scratchIntegers[fromWord + column] as number;
      }
    }
  }
}
