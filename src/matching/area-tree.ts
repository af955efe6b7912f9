/**
 * Circles and polygons: a `RowTree` says in which leaf an area row lies, an R-tree over the boxes of the leaves says
 * which leaves a place may be in. The R-tree thus holds thousands of boxes for a million searches.
 *
 * A look-up is a race against memory, so the boxes of a node's children are copied into a table of integers when the
 * node is first visited after a change of boxes. All tables lie in one array and point to each other: a look-up touches
 * no object of the R-tree any more. Lines of leaves also tell where the rows are, and follow them.
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
/** Where the table of a child node begins, 0 while it has none. */
const CHILD_TABLE = 4;
const NODE_LINE = 5;
const ACCEPTS = 4;
/** Address of the leaf's only chunk, 0 when it has several. */
const CHUNK = 5;
const ROWS = 6;
const LEAF_LINE = 7;

/** Before the lines of a table: the position of its node among those copied, and its kind. */
const NODE = 0;
const LINES_END = 1;
const IS_LEAF = 2;
const TABLE_HEAD = 3;
const NODE_ENTRIES_MAX = 32;
const TABLE_MAX = TABLE_HEAD + LEAF_LINE * NODE_ENTRIES_MAX;

export class AreaTree {
  readonly #boxes = new RBush<LeafBox>(NODE_ENTRIES_MAX);
  readonly #rows: RowTree;
  readonly #pending: number[] = [];
  #tables: Int32Array<ArrayBuffer> = new Int32Array(1 << 12);
  /** Where the next table goes; 0 is no table. */
  #tablesEnd = 1;
  /** Nodes that have a table, in order. */
  readonly #copied: BoxNode[] = [];
  #revision = 0;
  #leafCount = 0;
  /** Whether any box has ever left [-180, 180] on that side: places there are looked up a turn away as well. */
  #leavesWest = false;
  #leavesEast = false;

  constructor(memory: GroupMemory) {
    this.#rows = new RowTree(memory, {
      place: (leaf, box) => this.#place(leaf, box),
      update: (leaf) => this.#writeLine(leaf),
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
    pending.push(this.#tablesEnd === 1 ? this.#copy(this.#boxes.toJSON() as BoxNode) : 1);
    for (let table = pending.pop(); table !== undefined; table = pending.pop()) {
      // Copying a child may replace the array.
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
        const accepts = tables[at + ACCEPTS] as number;
        if ((accepts & typeBit) === 0 || (accepts & transactionBit) === 0) continue;
        const chunk = tables[at + CHUNK] as number;
        if (chunk !== 0) list.addRows(chunk, tables[at + ROWS] as number);
        else list.addLeaf((this.#childOf(table, at, LEAF_LINE) as LeafBox).leaf);
      }
    }
  }

  #childOf(table: number, at: number, step: number): BoxNode | LeafBox {
    const node = this.#copied[this.#tables[table + NODE] as number] as BoxNode;
    return node.children[(at - table - TABLE_HEAD) / step] as BoxNode | LeafBox;
  }

  #copyChild(table: number, at: number): number {
    const copied = this.#copy(this.#childOf(table, at, NODE_LINE) as BoxNode);
    this.#tables[at + CHILD_TABLE] = copied;
    return copied;
  }

  /** Returns where the table of the node's children begins. */
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
      tables[at + MIN_X] = Math.floor(child.minX * UNITS_PER_DEGREE);
      tables[at + MIN_Y] = Math.floor(child.minY * UNITS_PER_DEGREE);
      tables[at + MAX_X] = Math.ceil(child.maxX * UNITS_PER_DEGREE);
      tables[at + MAX_Y] = Math.ceil(child.maxY * UNITS_PER_DEGREE);
      if (node.leaf) {
        const { leaf } = child as LeafBox;
        leaf.line = at;
        leaf.lineRevision = this.#revision;
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

  /** After a change of boxes. */
  #dropTables(): void {
    this.#revision += 1;
    this.#copied.length = 0;
    this.#tablesEnd = 1;
  }

  #writeLine(leaf: Leaf): void {
    if (leaf.lineRevision !== this.#revision) return;
    this.#tables[leaf.line + ACCEPTS] = leaf.accepts;
    this.#tables[leaf.line + CHUNK] = leaf.chunks.length === 1 ? (leaf.chunks[0] as number) : 0;
    this.#tables[leaf.line + ROWS] = leaf.rowCount;
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
    this.#dropTables();
    if (minX < -180) this.#leavesWest = true;
    if (maxX > 180) this.#leavesEast = true;
  }

  #forget(leaf: Leaf): void {
    if (leaf.box === null) return;
    this.#boxes.remove(leaf.box);
    leaf.box = null;
    this.#leafCount -= 1;
    this.#dropTables();
  }
}
