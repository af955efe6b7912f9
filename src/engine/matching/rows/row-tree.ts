/**
 * Rows, such as those of one place or of all circles and polygons: a binary tree over leaves, which consist of row
 * groups. A full leaf is split along the axis that saves the most tests (`leaf-split`). Axes compare values of the row
 * itself. So a removal finds the leaf in the same way as the insertion, without a table of the rows' positions.
 *
 * A tree is identified by its root, which changes when leaves split and merge. 0 is a tree without rows.
 */

import { LANES, LATITUDES, LONGITUDES, NUMBERS, REACHES, TYPES } from '../kernel/layout.ts';
import { type Box, writeBoxOfRow } from './area-geometry.ts';
import { acceptsOf } from './kind-cut.ts';
import { chooseSplit, goesRight } from './leaf-split.ts';
import { createRow, type GroupMemory, needsAt, type Row } from './row-groups.ts';
import {
  AT,
  AXIS,
  BOX_MAX_X,
  BOX_MAX_Y,
  BOX_MIN_X,
  BOX_MIN_Y,
  BOX_NUMBER,
  IS_LEAF,
  LEFT,
  NODE_ACCEPTS,
  PARENT,
  REMOVALS,
  RIGHT,
  ROWS,
  TreeNodes,
} from './tree-nodes.ts';

/** When a leaf has this number of rows, and again at every doubling, it is split if that pays. */
const LEAF_ROWS = 256;
const MERGE_ROWS = 32;
/** Number of removals after which the box and the accepted kinds of a leaf are computed again. */
const STALE_REMOVALS = 32;

/** Is notified of changes of leaves, and updates the R-tree. */
export interface LeafWatcher {
  /** The rows of the leaf have changed. */
  update(leaf: number): void;
  /** The leaf needs `box`, which is valid only during the call. */
  place(leaf: number, box: Box): void;
  /** The leaf is about to be removed. */
  forget(leaf: number): void;
}

const rowBox: Box = { minX: 0, minY: 0, maxX: 0, maxY: 0 };
const leafBox: Box = { minX: 0, minY: 0, maxX: 0, maxY: 0 };
const movedRow = createRow();

export class RowTrees {
  readonly #memory: GroupMemory;
  readonly #nodes: TreeNodes;
  /** Null if the rows have no areas. */
  readonly #watcher: LeafWatcher | null;
  /** Root of the tree that is being changed. */
  #root = 0;

  constructor(memory: GroupMemory, watcher: LeafWatcher | null) {
    this.#memory = memory;
    this.#nodes = new TreeNodes(memory, watcher !== null);
    this.#watcher = watcher;
  }

  get #hasArea(): boolean {
    return this.#watcher !== null;
  }

  /** Inserts a row, and returns the new root. */
  insert(root: number, row: Row): number {
    this.#root = root === 0 ? this.#nodes.createLeaf() : root;
    const accepts = acceptsOf(row.types, row.needs);
    const leaf = this.#leafOf(row, accepts);
    const position = this.#nodes.appendLane(leaf);
    this.#memory.write(this.#nodes.groupAt(leaf, position), position % LANES, row, this.#hasArea);
    if (this.#watcher !== null) {
      const box = coveringBox(this.#memory.integers, leaf, row);
      if (box !== null) this.#watcher.place(leaf, box);
    }
    const rowCount = position + 1;
    if (rowCount >= LEAF_ROWS && (rowCount & (rowCount - 1)) === 0 && this.#split(leaf)) return this.#root;
    this.#watcher?.update(leaf);
    return this.#root;
  }

  /** Removes a row, and returns the new root. The row must have the same values as when it was inserted. */
  remove(root: number, row: Row): number {
    this.#root = root;
    const leaf = this.#leafOf(row, 0);
    this.#removeAt(leaf, this.#positionOf(leaf, row));
    return this.#root;
  }

  /** Finds the leaf of a row, and makes all nodes on the path accept the kinds `accepts`. */
  #leafOf(row: Row, accepts: number): number {
    const { integers, floats } = this.#memory;
    let node = this.#root;
    while (true) {
      const accepted = integers[node + NODE_ACCEPTS] as number;
      // The value is written only if it changes, so that cache lines stay clean.
      if ((accepted | accepts) !== accepted) integers[node + NODE_ACCEPTS] = accepted | accepts;
      const axis = integers[node + AXIS] as number;
      if (axis === IS_LEAF) return node;
      node = integers[node + (goesRight(axis, floats[node + AT] as number, row) ? RIGHT : LEFT)] as number;
    }
  }

  #positionOf(leaf: number, row: Row): number {
    const { integers, floats } = this.#memory;
    const { number } = row;
    const rowCount = integers[leaf + ROWS] as number;
    for (let position = 0; position < rowCount; position += LANES) {
      const first = this.#nodes.groupAt(leaf, position) >> 2;
      const lanes = Math.min(LANES, rowCount - position);
      for (let lane = 0; lane < lanes; lane++) {
        if (integers[first + (NUMBERS >> 2) + lane] !== number) continue;
        if (this.#watcher === null || isAreaOf(floats, first + lane, row)) return position + lane;
      }
    }
    throw new Error(`The index lacks a row of search ${number}. Rebuild the index.`);
  }

  /** Removes a row: the last row moves to its position. */
  #removeAt(leaf: number, position: number): void {
    const { integers } = this.#memory;
    const last = (integers[leaf + ROWS] as number) - 1;
    const lastGroup = this.#nodes.groupAt(leaf, last);
    if (position !== last) {
      const group = this.#nodes.groupAt(leaf, position);
      this.#memory.copy(lastGroup, last % LANES, group, position % LANES, this.#hasArea);
    }
    this.#memory.clear(lastGroup, last % LANES);
    this.#nodes.dropLane(leaf);
    integers[leaf + REMOVALS] = (integers[leaf + REMOVALS] as number) + 1;
    if (last <= MERGE_ROWS && this.#merge(leaf)) return;
    if ((integers[leaf + REMOVALS] as number) >= STALE_REMOVALS) this.#narrow(leaf);
    this.#watcher?.update(leaf);
  }

  /** Merges a small leaf into its sibling if that is small too, or removes an empty leaf. False if it does neither. */
  #merge(leaf: number): boolean {
    const { integers } = this.#memory;
    const parent = integers[leaf + PARENT] as number;
    const rowCount = integers[leaf + ROWS] as number;
    if (parent === 0) {
      if (rowCount > 0) return false;
      this.#discard(leaf);
      this.#root = 0;
      return true;
    }
    const sibling = integers[parent + (integers[parent + LEFT] === leaf ? RIGHT : LEFT)] as number;
    if (rowCount > 0) {
      if (integers[sibling + AXIS] !== IS_LEAF || (integers[sibling + ROWS] as number) + rowCount > MERGE_ROWS) {
        return false;
      }
      for (let position = 0; position < rowCount; position++) this.#copyRow(leaf, position, sibling);
      this.#narrow(sibling);
    }
    this.#discard(leaf);
    this.#replace(parent, sibling);
    this.#nodes.free(parent);
    return true;
  }

  /** Splits a leaf. False if no split pays. */
  #split(leaf: number): boolean {
    const rowCount = this.#memory.integers[leaf + ROWS] as number;
    const readKeys = (position: number, row: Row): void =>
      this.#memory.readKeys(this.#nodes.groupAt(leaf, position), position % LANES, row, this.#hasArea);
    const chosen = chooseSplit(readKeys, rowCount, this.#hasArea);
    if (chosen === null) return false;
    const left = this.#nodes.createLeaf();
    const right = this.#nodes.createLeaf();
    for (let position = 0; position < rowCount; position++) {
      readKeys(position, movedRow);
      this.#copyRow(leaf, position, goesRight(chosen.axis, chosen.at, movedRow) ? right : left);
    }
    for (const half of [left, right]) this.#narrow(half);
    this.#replace(leaf, this.#nodes.createSplit(chosen.axis, chosen.at, left, right));
    this.#discard(leaf);
    return true;
  }

  #discard(leaf: number): void {
    this.#watcher?.forget(leaf);
    this.#nodes.freeLeaf(leaf);
  }

  #replace(node: number, replacement: number): void {
    const { integers } = this.#memory;
    const parent = integers[node + PARENT] as number;
    integers[replacement + PARENT] = parent;
    if (parent === 0) this.#root = replacement;
    else integers[parent + (integers[parent + LEFT] === node ? LEFT : RIGHT)] = replacement;
  }

  #copyRow(from: number, position: number, to: number): void {
    const target = this.#nodes.appendLane(to);
    const group = this.#nodes.groupAt(from, position);
    this.#memory.copy(group, position % LANES, this.#nodes.groupAt(to, target), target % LANES, this.#hasArea);
  }

  /** Computes the accepted kinds and the box of a leaf from its rows. */
  #narrow(leaf: number): void {
    const { bytes, integers, floats } = this.#memory;
    const rowCount = integers[leaf + ROWS] as number;
    let accepts = 0;
    leafBox.minX = leafBox.minY = Infinity;
    leafBox.maxX = leafBox.maxY = -Infinity;
    for (let position = 0; position < rowCount; position++) {
      const group = this.#nodes.groupAt(leaf, position);
      const lane = position % LANES;
      accepts |= acceptsOf(bytes[group + lane + TYPES] as number, needsAt(bytes, group + lane));
      if (this.#watcher === null) continue;
      const word = (group >> 2) + lane;
      writeBoxOfRow(
        floats[word + (LATITUDES >> 2)] as number,
        floats[word + (LONGITUDES >> 2)] as number,
        floats[word + (REACHES >> 2)] as number,
        rowBox,
      );
      leafBox.minX = Math.min(leafBox.minX, rowBox.minX);
      leafBox.minY = Math.min(leafBox.minY, rowBox.minY);
      leafBox.maxX = Math.max(leafBox.maxX, rowBox.maxX);
      leafBox.maxY = Math.max(leafBox.maxY, rowBox.maxY);
    }
    integers[leaf + NODE_ACCEPTS] = accepts;
    integers[leaf + REMOVALS] = 0;
    this.#watcher?.place(leaf, leafBox);
    this.#watcher?.update(leaf);
  }
}

function isAreaOf(floats: Float32Array, word: number, row: Row): boolean {
  return (
    floats[word + (LATITUDES >> 2)] === row.latitude &&
    floats[word + (LONGITUDES >> 2)] === row.longitude &&
    floats[word + (REACHES >> 2)] === row.reach
  );
}

const BOX_SLACK = 0.05;

const addedBox: Box = { minX: 0, minY: 0, maxX: 0, maxY: 0 };
const grownBox: Box = { minX: 0, minY: 0, maxX: 0, maxY: 0 };

/**
 * The box that a leaf needs for an added row, valid until the next call. Null if its box already covers the row. The
 * sides that grow exceed the need slightly, so that most insertions do not change the R-tree.
 */
function coveringBox(integers: Int32Array, leaf: number, row: Row): Box | null {
  writeBoxOfRow(row.latitude, row.longitude, row.reach, addedBox);
  if (integers[leaf + BOX_NUMBER] === 0) return addedBox;
  const minX = integers[leaf + BOX_MIN_X] as number;
  const minY = integers[leaf + BOX_MIN_Y] as number;
  const maxX = integers[leaf + BOX_MAX_X] as number;
  const maxY = integers[leaf + BOX_MAX_Y] as number;
  if (addedBox.minX >= minX && addedBox.maxX <= maxX && addedBox.minY >= minY && addedBox.maxY <= maxY) return null;
  const slackX = Math.round((Math.max(maxX, addedBox.maxX) - Math.min(minX, addedBox.minX)) * BOX_SLACK);
  const slackY = Math.round((Math.max(maxY, addedBox.maxY) - Math.min(minY, addedBox.minY)) * BOX_SLACK);
  grownBox.minX = addedBox.minX < minX ? addedBox.minX - slackX : minX;
  grownBox.minY = addedBox.minY < minY ? addedBox.minY - slackY : minY;
  grownBox.maxX = addedBox.maxX > maxX ? addedBox.maxX + slackX : maxX;
  grownBox.maxY = addedBox.maxY > maxY ? addedBox.maxY + slackY : maxY;
  return grownBox;
}
