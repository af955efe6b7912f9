/**
 * The nodes of row trees, which are leaves or splits. Each node has sixteen integers in the memory of the rows. So a
 * visit reads one cache line, and the garbage collector has nothing to copy or mark, even for a million searches.
 *
 * A node is identified by its offset in `integers`. 0 means no node.
 */

import { LANES } from '../kernel/layout.ts';
import { type GroupMemory, groupBytes } from './row-groups.ts';

/** The parent of the node; in a free node, the next free node. */
export const PARENT = 0;
/** The kinds that rows below the node accept, and perhaps more: removals narrow them only in leaves. */
export const NODE_ACCEPTS = 1;
/** The axis that a split compares (`leaf-split`), or `IS_LEAF`. */
export const AXIS = 2;
export const IS_LEAF = 0;

/** In a split, the value that rows are compared with, in `floats`. */
export const AT = 3;
export const LEFT = 4;
export const RIGHT = 5;

/** In a leaf, the address of its groups, of which there are 2^`CHUNK_LOG2`; 0 before the first row. */
export const CHUNK = 3;
export const CHUNK_LOG2 = 4;
export const ROWS = 5;
export const REMOVALS = 6;
/** In a leaf of areas, the number of its box in the R-tree (0 for none) and that box, in millionths of a degree. */
export const BOX_NUMBER = 7;
export const BOX_MIN_X = 8;
export const BOX_MIN_Y = 9;
export const BOX_MAX_X = 10;
export const BOX_MAX_Y = 11;
/** The offset of the leaf's line in the tables of the R-tree, and the revision of the tables in which it is valid. */
export const LINE = 12;
export const LINE_REVISION = 13;
const NODE_INTEGERS = 16;
const SLAB_NODES = 64;

export class TreeNodes {
  readonly memory: GroupMemory;
  readonly #hasArea: boolean;
  #free = 0;

  constructor(memory: GroupMemory, hasArea: boolean) {
    this.memory = memory;
    this.#hasArea = hasArea;
  }

  createLeaf(): number {
    const leaf = this.#allocate();
    this.memory.integers[leaf + LINE_REVISION] = -1;
    return leaf;
  }

  /** Creates a split whose children are `left` and `right`. */
  createSplit(axis: number, at: number, left: number, right: number): number {
    const split = this.#allocate();
    const { integers, floats } = this.memory;
    integers[split + AXIS] = axis;
    floats[split + AT] = at;
    integers[split + LEFT] = left;
    integers[split + RIGHT] = right;
    integers[split + NODE_ACCEPTS] =
      (integers[left + NODE_ACCEPTS] as number) | (integers[right + NODE_ACCEPTS] as number);
    integers[left + PARENT] = split;
    integers[right + PARENT] = split;
    return split;
  }

  free(node: number): void {
    this.memory.integers[node + PARENT] = this.#free;
    this.#free = node;
  }

  freeLeaf(leaf: number): void {
    const { integers } = this.memory;
    const chunk = integers[leaf + CHUNK] as number;
    if (chunk !== 0) this.memory.free(chunk, integers[leaf + CHUNK_LOG2] as number, this.#hasArea);
    this.free(leaf);
  }

  /** The group that contains the row at `position`. */
  groupAt(leaf: number, position: number): number {
    return (this.memory.integers[leaf + CHUNK] as number) + (position >> 4) * groupBytes(this.#hasArea);
  }

  /** Makes room for one more row, and returns the position of that row. */
  appendLane(leaf: number): number {
    const { integers } = this.memory;
    const rowCount = integers[leaf + ROWS] as number;
    const log2 = integers[leaf + CHUNK_LOG2] as number;
    integers[leaf + ROWS] = rowCount + 1;
    if (integers[leaf + CHUNK] === 0) this.#setChunk(leaf, this.memory.allocate(0, this.#hasArea), 0);
    else if (rowCount === LANES << log2) this.#resize(leaf, log2 + 1);
    return rowCount;
  }

  /** Removes the last row, and half of the groups if the rows fill at most a quarter of them. */
  dropLane(leaf: number): void {
    const { integers } = this.memory;
    const rowCount = (integers[leaf + ROWS] as number) - 1;
    const log2 = integers[leaf + CHUNK_LOG2] as number;
    integers[leaf + ROWS] = rowCount;
    if (log2 > 0 && rowCount <= (LANES << log2) / 4) this.#resize(leaf, log2 - 1);
  }

  #resize(leaf: number, log2: number): void {
    const from = this.memory.integers[leaf + CHUNK] as number;
    const fromLog2 = this.memory.integers[leaf + CHUNK_LOG2] as number;
    const to = this.memory.allocate(log2, this.#hasArea);
    const bytes = groupBytes(this.#hasArea) << Math.min(log2, fromLog2);
    this.memory.bytes.copyWithin(to, from, from + bytes);
    this.memory.free(from, fromLog2, this.#hasArea);
    this.#setChunk(leaf, to, log2);
  }

  #setChunk(leaf: number, chunk: number, log2: number): void {
    this.memory.integers[leaf + CHUNK] = chunk;
    this.memory.integers[leaf + CHUNK_LOG2] = log2;
  }

  /** Returns a node with only zeros, which is an empty leaf. */
  #allocate(): number {
    if (this.#free === 0) this.#carveSlab();
    const node = this.#free;
    const { integers } = this.memory;
    this.#free = integers[node + PARENT] as number;
    integers.fill(0, node, node + NODE_INTEGERS);
    return node;
  }

  #carveSlab(): void {
    const first = this.memory.carve(4 * NODE_INTEGERS * SLAB_NODES) >> 2;
    for (let node = first + NODE_INTEGERS * (SLAB_NODES - 1); node >= first; node -= NODE_INTEGERS) this.free(node);
  }
}
