/**
 * The memory that the kernel reads: rows in groups, as in `kernel/layout`. The groups of a leaf are adjacent in a
 * chunk, and are copied when the leaf needs a larger or smaller one. Chunks are carved from slabs and reused.
 *
 * A row has the quantised limits and the needs of a search. The row of a circle or polygon also has a centre and a
 * reach. An unused lane accepts no property type, so it never passes.
 */

import { PROPERTY_TYPES } from '../../domain/codes.ts';
import {
  AREA_GROUP_BYTES,
  ATTENTION,
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
  SOURCES,
  TYPES,
} from '../kernel/layout.ts';
import { SharedMemory } from './shared-memory.ts';

/** `TYPES` has one bit per property type. The last bit is for an unknown type. */
export const UNKNOWN_TYPE = 1 << PROPERTY_TYPES.length;
export const ANY_TYPE = 2 * UNKNOWN_TYPE - 1;
if (ANY_TYPE > 0xff) throw new RangeError(`${PROPERTY_TYPES.length} property types do not fit their column`);

/** `ATTENTION` has these bits, which state what remains to be checked after a row has passed the columns. */
export const NEEDS_EXACT_CHECK = 1;
export const NEEDS_TEXT_CHECK = 2;
/** Another row may also find the search, or exclude it for the property. */
export const REPEATS = 4;
/** A property with several INSEE codes may pass several rows of the search. */
export const REPEATS_BY_INSEE = 8;
/** The location may be outside the polygons of the search. Not combined with `NEEDS_TEXT_CHECK`. */
export const NEEDS_SHAPE_CHECK = 16;
/** The `conditions` must be checked. Not combined with `NEEDS_TEXT_CHECK` or `NEEDS_SHAPE_CHECK`. */
export const NEEDS_CONDITION_CHECK = 32;

/** Whether the source of the row is its record instead of an expression, polygons or conditions. */
export function isOfRecord(attention: number): boolean {
  const others = attention & (NEEDS_TEXT_CHECK | NEEDS_SHAPE_CHECK | NEEDS_CONDITION_CHECK);
  return others === 0 || (attention & NEEDS_EXACT_CHECK) !== 0;
}

/** A chunk has 2^0 to 2^`CHUNK_LOG2_MAX` groups. The memory has no room for more. */
const CHUNK_LOG2_MAX = 21;

const SLAB_GROUPS = 64;

/** A row before it is written to a lane. */
export interface Row {
  number: number;
  types: number;
  /** The needs in columns (see `needs`). */
  needs: number;
  attention: number;
  readonly bounds: Int8Array;
  /** The id of the search's expressions, and the addresses of its record, polygons and conditions. */
  expression: number;
  address: number;
  shapes: number;
  conditions: number;
  latitude: number;
  longitude: number;
  reach: number;
}

export function createRow(): Row {
  return {
    number: 0,
    types: ANY_TYPE,
    needs: 0,
    attention: 0,
    bounds: new Int8Array(BOUND_COLUMNS),
    expression: 0,
    address: 0,
    shapes: 0,
    conditions: 0,
    latitude: 0,
    longitude: 0,
    reach: 0,
  };
}

function sourceOf({ attention, expression, shapes, conditions, address }: Row): number {
  if (isOfRecord(attention)) return address;
  if ((attention & NEEDS_TEXT_CHECK) !== 0) return expression;
  return (attention & NEEDS_CONDITION_CHECK) !== 0 ? conditions : shapes;
}

/** The memory that the kernel shares with the JavaScript code. */
export class GroupMemory extends SharedMemory {
  #groupsInUse = 0;
  /** First free chunk of each size, places before areas; 0 for none. Each begins with the address of the next. */
  readonly #free = new Int32Array(2 * (CHUNK_LOG2_MAX + 1));

  get groupsInUse(): number {
    return this.#groupsInUse;
  }

  /** Returns the address of 2^`log2` adjacent, empty groups. */
  allocate(log2: number, hasArea: boolean): number {
    const list = freeList(log2, hasArea);
    if (this.#free[list] === 0) this.#carveSlab(log2, hasArea);
    const chunk = this.#free[list] as number;
    this.#free[list] = this.integers[chunk >> 2] as number;
    const end = chunk + (groupBytes(hasArea) << log2);
    for (let group = chunk; group < end; group += groupBytes(hasArea)) {
      this.bytes.fill(0, group + TYPES, group + TYPES + LANES);
    }
    this.#groupsInUse += 1 << log2;
    return chunk;
  }

  free(chunk: number, log2: number, hasArea: boolean): void {
    const list = freeList(log2, hasArea);
    this.integers[chunk >> 2] = this.#free[list] as number;
    this.#free[list] = chunk;
    this.#groupsInUse -= 1 << log2;
  }

  write(group: number, lane: number, row: Row, hasArea: boolean): void {
    const { codes, integers } = this;
    const first = group + lane;
    codes[first + TYPES] = row.types;
    for (let column = 0; column < NEED_COLUMNS; column++) {
      codes[first + NEEDS + column * LANES] = row.needs >> (8 * column);
    }
    codes[first + ATTENTION] = row.attention;
    for (let column = 0; column < BOUND_COLUMNS; column++) {
      codes[first + BOUNDS + column * LANES] = row.bounds[column] as number;
    }
    const word = (group >> 2) + lane;
    integers[word + (NUMBERS >> 2)] = row.number;
    integers[word + (SOURCES >> 2)] = sourceOf(row);
    if (!hasArea) return;
    this.floats[word + (LATITUDES >> 2)] = row.latitude;
    this.floats[word + (LONGITUDES >> 2)] = row.longitude;
    this.floats[word + (REACHES >> 2)] = row.reach;
  }

  /** Reads the values by which leaves can be split: number, kinds and area. */
  readKeys(group: number, lane: number, row: Row, hasArea: boolean): void {
    const { bytes, integers, floats } = this;
    const word = (group >> 2) + lane;
    row.number = integers[word + (NUMBERS >> 2)] as number;
    row.types = bytes[group + lane + TYPES] as number;
    row.needs = needsAt(bytes, group + lane);
    if (!hasArea) return;
    row.latitude = floats[word + (LATITUDES >> 2)] as number;
    row.longitude = floats[word + (LONGITUDES >> 2)] as number;
    row.reach = floats[word + (REACHES >> 2)] as number;
  }

  /** Copies a row. Both groups must have areas, or neither. */
  copy(fromGroup: number, fromLane: number, toGroup: number, toLane: number, hasArea: boolean): void {
    const { bytes, integers } = this;
    const from = fromGroup + fromLane;
    const to = toGroup + toLane;
    for (let column = 0; column < BYTE_COLUMNS_END; column += LANES) {
      bytes[to + column] = bytes[from + column] as number;
    }
    const fromWord = (fromGroup >> 2) + fromLane;
    const toWord = (toGroup >> 2) + toLane;
    const end = (hasArea ? AREA_GROUP_BYTES : PLACE_GROUP_BYTES) >> 2;
    for (let column = NUMBERS >> 2; column < end; column += LANES) {
      integers[toWord + column] = integers[fromWord + column] as number;
    }
  }

  /** Empties a lane, so that it accepts nothing. */
  clear(group: number, lane: number): void {
    this.bytes[group + lane + TYPES] = 0;
  }

  #carveSlab(log2: number, hasArea: boolean): void {
    const list = freeList(log2, hasArea);
    const chunkBytes = groupBytes(hasArea) << log2;
    const slabBytes = Math.max(groupBytes(hasArea) * SLAB_GROUPS, chunkBytes);
    const first = this.carve(slabBytes);
    for (let chunk = first + slabBytes - chunkBytes; chunk >= first; chunk -= chunkBytes) {
      this.integers[chunk >> 2] = this.#free[list] as number;
      this.#free[list] = chunk;
    }
  }
}

/** `lane` is the address of the lane's first byte. */
export function needsAt(bytes: Uint8Array, lane: number): number {
  let needs = 0;
  for (let column = 0; column < NEED_COLUMNS; column++) {
    needs |= (bytes[lane + NEEDS + column * LANES] as number) << (8 * column);
  }
  return needs;
}

/** Number of bytes from one group of a chunk to the next. */
export function groupBytes(hasArea: boolean): number {
  return hasArea ? AREA_GROUP_BYTES : PLACE_GROUP_BYTES;
}

function freeList(log2: number, hasArea: boolean): number {
  return hasArea ? log2 + CHUNK_LOG2_MAX + 1 : log2;
}
