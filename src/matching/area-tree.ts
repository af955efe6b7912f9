/**
 * Circles and polygons: a `RowTree` says in which leaf an area row lies, an R-tree over the boxes of the leaves says
 * which leaves a place may be in. The R-tree thus holds thousands of boxes for a million searches.
 *
 * A look-up is a race against memory, so every node of the R-tree keeps its children's boxes in one table of integers,
 * made when first visited after a box has changed. Lines of leaves also tell where the rows are and follow them.
 */

import RBush from 'rbush';
import type { Box } from './area-geometry.ts';
import type { Leaf, LeafBox } from './leaf.ts';
import type { GroupMemory, Row } from './row-groups.ts';
import { RowTree } from './row-tree.ts';

/** rbush's own node, as `toJSON` shows it, and the table we keep with it. */
interface BoxNode extends Box {
  readonly leaf: boolean;
  readonly children: readonly (BoxNode | LeafBox)[];
  table?: ChildTable;
}

interface ChildTable {
  /** Of the boxes when the table was made. */
  readonly revision: number;
  readonly lines: Int32Array;
}

/** Receives the leaves that may match. */
export interface LeafList {
  /** All rows are in one chunk. */
  addRows(chunk: number, rowCount: number): void;
  addLeaf(leaf: Leaf): void;
}

/** Boxes are compared in millionths of a degree; their margin is a hundred times that. */
const UNITS_PER_DEGREE = 1e6;
const MIN_X = 0;
const MIN_Y = 1;
const MAX_X = 2;
const MAX_Y = 3;
const NODE_LINE = 4;
const ACCEPTS = 4;
/** Address of the leaf's only chunk, 0 when it has several. */
const CHUNK = 5;
const ROWS = 6;
const LEAF_LINE = 7;
const NODE_ENTRIES_MAX = 32;

export class AreaTree {
  readonly #boxes = new RBush<LeafBox>(NODE_ENTRIES_MAX);
  readonly #rows: RowTree;
  readonly #pending: BoxNode[] = [];
  #revision = 0;
  #leafCount = 0;
  /** Whether any box has ever left [-180, 180] on that side: places there are looked up a turn away as well. */
  #leavesWest = false;
  #leavesEast = false;

  constructor(memory: GroupMemory) {
    this.#rows = new RowTree(memory, {
      place: (leaf, box) => this.#place(leaf, box),
      update: writeLine,
      forget: (leaf) => this.#forget(leaf),
    });
  }

  get leafCount(): number {
    return this.#leafCount;
  }

  /** Longitudes at which a place is to be looked up: its own, and others a turn away. */
  longitudesOf(lon: number): readonly number[] {
    if (!this.#leavesEast && !this.#leavesWest) return [lon];
    return [lon, ...(this.#leavesEast ? [lon + 360] : []), ...(this.#leavesWest ? [lon - 360] : [])];
  }

  insert(row: Row): void {
    this.#rows.insert(row);
  }

  remove(row: Row): void {
    this.#rows.remove(row);
  }

  /** Lists the leaves round a place that accept some kind in each of the two sets. */
  list(lat: number, lon: number, typeBit: number, transactionBit: number, list: LeafList): void {
    const x = Math.round(lon * UNITS_PER_DEGREE);
    const y = Math.round(lat * UNITS_PER_DEGREE);
    const pending = this.#pending;
    pending.push(this.#boxes.toJSON() as BoxNode);
    for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
      const lines = this.#linesOf(node);
      const step = node.leaf ? LEAF_LINE : NODE_LINE;
      for (let at = 0, child = 0; at < lines.length; at += step, child++) {
        if (x < (lines[at + MIN_X] as number) || x > (lines[at + MAX_X] as number)) continue;
        if (y < (lines[at + MIN_Y] as number) || y > (lines[at + MAX_Y] as number)) continue;
        if (!node.leaf) {
          pending.push(node.children[child] as BoxNode);
          continue;
        }
        const accepts = lines[at + ACCEPTS] as number;
        if ((accepts & typeBit) === 0 || (accepts & transactionBit) === 0) continue;
        const chunk = lines[at + CHUNK] as number;
        if (chunk !== 0) list.addRows(chunk, lines[at + ROWS] as number);
        else list.addLeaf((node.children[child] as LeafBox).leaf);
      }
    }
  }

  #linesOf(node: BoxNode): Int32Array {
    if (node.table?.revision === this.#revision) return node.table.lines;
    const step = node.leaf ? LEAF_LINE : NODE_LINE;
    const lines = new Int32Array(step * node.children.length);
    for (const [i, child] of node.children.entries()) {
      const at = step * i;
      lines[at + MIN_X] = Math.floor(child.minX * UNITS_PER_DEGREE);
      lines[at + MIN_Y] = Math.floor(child.minY * UNITS_PER_DEGREE);
      lines[at + MAX_X] = Math.ceil(child.maxX * UNITS_PER_DEGREE);
      lines[at + MAX_Y] = Math.ceil(child.maxY * UNITS_PER_DEGREE);
      if (!node.leaf) continue;
      const { leaf } = child as LeafBox;
      leaf.line = { table: lines, at };
      writeLine(leaf);
    }
    node.table = { revision: this.#revision, lines };
    return lines;
  }

  #place(leaf: Leaf, { minX, minY, maxX, maxY }: Box): void {
    const { box } = leaf;
    if (box !== null) {
      if (box.minX === minX && box.minY === minY && box.maxX === maxX && box.maxY === maxY) return;
      this.#boxes.remove(box);
    } else {
      this.#leafCount += 1;
    }
    leaf.box = { minX, minY, maxX, maxY, leaf };
    this.#boxes.insert(leaf.box);
    this.#revision += 1;
    if (minX < -180) this.#leavesWest = true;
    if (maxX > 180) this.#leavesEast = true;
  }

  #forget(leaf: Leaf): void {
    if (leaf.box === null) return;
    this.#boxes.remove(leaf.box);
    leaf.box = null;
    this.#leafCount -= 1;
    this.#revision += 1;
  }
}

function writeLine(leaf: Leaf): void {
  if (leaf.line === null) return;
  const { table, at } = leaf.line;
  table[at + ACCEPTS] = leaf.accepts;
  table[at + CHUNK] = leaf.chunks.length === 1 ? (leaf.chunks[0] as number) : 0;
  table[at + ROWS] = leaf.rowCount;
}
