/**
 * The rows of circles and polygons. A row tree finds the leaf of a row. An R-tree over the boxes of the leaves finds
 * the leaves that may contain a location. So the R-tree has only thousands of boxes for a million searches.
 *
 * Access to memory dominates the cost of a lookup. Therefore, when a node is first visited after a change of boxes,
 * the boxes of its children are copied to a table of integers. All tables are in one array and refer to one another, so
 * later lookups read no objects of the R-tree. The lines of leaves also locate their rows, and are updated with them.
 */

import RBush from 'rbush';
import { type Box, HALF_CIRCLE, unitsOf } from './area-geometry.ts';
import type { GroupMemory, Row } from './row-groups.ts';
import { RowTrees } from './row-tree.ts';
import {
  BOX_MAX_X,
  BOX_MAX_Y,
  BOX_MIN_X,
  BOX_MIN_Y,
  BOX_NUMBER,
  CHUNK,
  LINE,
  LINE_REVISION,
  NODE_ACCEPTS,
  ROWS,
} from './tree-nodes.ts';

/** An entry of the R-tree: a leaf and its box. */
interface LeafBox extends Box {
  readonly leaf: number;
}

/** A node of rbush, as `toJSON` returns it. */
interface BoxNode extends Box {
  readonly leaf: boolean;
  readonly children: readonly (BoxNode | LeafBox)[];
}

/** Receives the rows of leaves that may have a match. */
export interface RowList {
  addRows(chunk: number, rowCount: number): void;
}

/** A line of a table begins with the box of a child. */
const MIN_X = 0;
const MIN_Y = 1;
const MAX_X = 2;
const MAX_Y = 3;
/** If the child is a node, the offset of its table follows; 0 if it has no table yet. */
const CHILD_TABLE = 4;
const NODE_LINE = 5;
/** If the child is a leaf, the kinds that it accepts, the address of its rows and their number follow. */
const LINE_ACCEPTS = 4;
const LINE_CHUNK = 5;
const LINE_ROWS = 6;
const LEAF_LINE = 7;

/** The head of a table: the node's position in `#copied`, the end of the lines, and whether they are for leaves. */
const NODE = 0;
const LINES_END = 1;
const IS_LEAF = 2;
const TABLE_HEAD = 3;
const NODE_ENTRIES_MAX = 32;
const TABLE_MAX = TABLE_HEAD + LEAF_LINE * NODE_ENTRIES_MAX;

const REVISION_MAX = 2 ** 31 - 1;

export class AreaTree {
  readonly #memory: GroupMemory;
  readonly #trees: RowTrees;
  #root = 0;
  readonly #boxes = new RBush<LeafBox>(NODE_ENTRIES_MAX);
  /** Boxes by their number. Number 0 means no box. */
  readonly #leafBoxes: (LeafBox | null)[] = [null];
  readonly #freeBoxes: number[] = [];
  readonly #pending: number[] = [];
  #tables: Int32Array<ArrayBuffer> = new Int32Array(1 << 12);
  /** The offset of the next table. Offset 0 means no table. */
  #tablesEnd = 1;
  /** The nodes that have tables, in the order of the tables. */
  readonly #copied: BoxNode[] = [];
  #revision = 0;
  /** True if a box has ever exceeded [-180, 180] on that side. Locations are then also looked up 360° away. */
  #leavesWest = false;
  #leavesEast = false;

  constructor(memory: GroupMemory) {
    this.#memory = memory;
    this.#trees = new RowTrees(memory, {
      place: (leaf, box) => this.#place(leaf, box),
      update: (leaf) => this.#writeLine(leaf),
      forget: (leaf) => this.#forget(leaf),
    });
  }

  /** The longitudes at which a location must be looked up: its own and, if needed, others 360° away. */
  longitudesOf(lon: number): readonly number[] {
    if (!this.#leavesEast && !this.#leavesWest) return [lon];
    return [lon, ...(this.#leavesEast ? [lon + 360] : []), ...(this.#leavesWest ? [lon - 360] : [])];
  }

  insert(row: Row): void {
    this.#root = this.#trees.insert(this.#root, row);
  }

  remove(row: Row): void {
    this.#root = this.#trees.remove(this.#root, row);
  }

  /** Lists the leaves around a location that accept the type and the transaction. */
  list(lat: number, lon: number, typeBit: number, transactionBit: number, list: RowList): void {
    const x = unitsOf(lon);
    const y = unitsOf(lat);
    const pending = this.#pending;
    pending.push(this.#tablesEnd === 1 ? this.#copy(this.#boxes.toJSON() as BoxNode) : 1);
    for (let table = pending.pop(); table !== undefined; table = pending.pop()) {
      // Read again for each table, because copying a child may replace the array.
      let tables = this.#tables;
      const isLeaf = tables[table + IS_LEAF] === 1;
      const step = isLeaf ? LEAF_LINE : NODE_LINE;
      const end = tables[table + LINES_END] as number;
      for (let at = table + TABLE_HEAD; at < end; at += step) {
        if (x < (tables[at + MIN_X] as number) || x > (tables[at + MAX_X] as number)) continue;
        if (y < (tables[at + MIN_Y] as number) || y > (tables[at + MAX_Y] as number)) continue;
        if (!isLeaf) {
          pending.push(tables[at + CHILD_TABLE] || this.#copyChild(table, at));
          tables = this.#tables;
          continue;
        }
        const accepts = tables[at + LINE_ACCEPTS] as number;
        if ((accepts & typeBit) === 0 || (accepts & transactionBit) === 0) continue;
        const rowCount = tables[at + LINE_ROWS] as number;
        list.addRows(tables[at + LINE_CHUNK] as number, rowCount);
      }
    }
  }

  #copyChild(table: number, at: number): number {
    const node = this.#copied[this.#tables[table + NODE] as number] as BoxNode;
    const copied = this.#copy(node.children[(at - table - TABLE_HEAD) / NODE_LINE] as BoxNode);
    this.#tables[at + CHILD_TABLE] = copied;
    return copied;
  }

  /** Copies the boxes of the node's children to a table, and returns its offset. */
  #copy(node: BoxNode): number {
    const table = this.#tablesEnd;
    if (table + TABLE_MAX > this.#tables.length) {
      const longer = new Int32Array(2 * this.#tables.length);
      longer.set(this.#tables);
      this.#tables = longer;
    }
    const tables = this.#tables;
    let at = table + TABLE_HEAD;
    for (const child of node.children) {
      tables[at + MIN_X] = child.minX;
      tables[at + MIN_Y] = child.minY;
      tables[at + MAX_X] = child.maxX;
      tables[at + MAX_Y] = child.maxY;
      if (node.leaf) {
        const { leaf } = child as LeafBox;
        this.#memory.integers[leaf + LINE] = at;
        this.#memory.integers[leaf + LINE_REVISION] = this.#revision;
        this.#writeLine(leaf);
      } else {
        tables[at + CHILD_TABLE] = 0;
      }
      at += node.leaf ? LEAF_LINE : NODE_LINE;
    }
    tables[table + NODE] = this.#copied.push(node) - 1;
    tables[table + LINES_END] = at;
    tables[table + IS_LEAF] = node.leaf ? 1 : 0;
    this.#tablesEnd = at;
    return table;
  }

  /** Must be called after a change of boxes. */
  #dropTables(): void {
    if (this.#tablesEnd === 1) return;
    this.#revision = (this.#revision + 1) & REVISION_MAX;
    if (this.#revision === 0) this.#forgetLines();
    this.#copied.length = 0;
    this.#tablesEnd = 1;
  }

  /** Must be called when revisions restart, so that no old line seems current. */
  #forgetLines(): void {
    for (const box of this.#leafBoxes) if (box !== null) this.#memory.integers[box.leaf + LINE_REVISION] = -1;
  }

  #writeLine(leaf: number): void {
    const { integers } = this.#memory;
    if (integers[leaf + LINE_REVISION] !== this.#revision) return;
    const line = integers[leaf + LINE] as number;
    this.#tables[line + LINE_ACCEPTS] = integers[leaf + NODE_ACCEPTS] as number;
    this.#tables[line + LINE_CHUNK] = integers[leaf + CHUNK] as number;
    this.#tables[line + LINE_ROWS] = integers[leaf + ROWS] as number;
  }

  #place(leaf: number, { minX, minY, maxX, maxY }: Box): void {
    let box = this.#leafBoxes[this.#memory.integers[leaf + BOX_NUMBER] as number] as LeafBox | null;
    if (box === null) {
      box = this.#createBox(leaf);
    } else {
      if (box.minX === minX && box.minY === minY && box.maxX === maxX && box.maxY === maxY) return;
      this.#boxes.remove(box);
    }
    box.minX = minX;
    box.minY = minY;
    box.maxX = maxX;
    box.maxY = maxY;
    this.#boxes.insert(box);
    this.#dropTables();
    const { integers } = this.#memory;
    integers[leaf + BOX_MIN_X] = minX;
    integers[leaf + BOX_MIN_Y] = minY;
    integers[leaf + BOX_MAX_X] = maxX;
    integers[leaf + BOX_MAX_Y] = maxY;
    if (minX < -HALF_CIRCLE) this.#leavesWest = true;
    if (maxX > HALF_CIRCLE) this.#leavesEast = true;
  }

  #createBox(leaf: number): LeafBox {
    const number = this.#freeBoxes.pop() ?? this.#leafBoxes.length;
    const box: LeafBox = { minX: 0, minY: 0, maxX: 0, maxY: 0, leaf };
    this.#leafBoxes[number] = box;
    this.#memory.integers[leaf + BOX_NUMBER] = number;
    return box;
  }

  #forget(leaf: number): void {
    const number = this.#memory.integers[leaf + BOX_NUMBER] as number;
    if (number === 0) return;
    this.#boxes.remove(this.#leafBoxes[number] as LeafBox);
    this.#leafBoxes[number] = null;
    this.#freeBoxes.push(number);
    this.#dropTables();
  }
}
