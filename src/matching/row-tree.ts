/**
 * The rows of one place, or of all circles and polygons: leaves of row groups under a binary tree that says where a
 * row belongs. A full leaf splits along the axis that spares most future visits (`leaf-split`). Axes compare what a row
 * itself holds, so a removal finds its leaf the way the insertion did, and no table of row positions is kept.
 */

import { type Box, writeBoxOfRow } from './area-geometry.ts';
import { appendLane, giveBackChunks, Leaf, type Split, type TreeNode } from './leaf.ts';
import {
  AXIS_LATITUDE,
  AXIS_LONGITUDE,
  AXIS_NEEDS,
  AXIS_REACH,
  AXIS_TYPES,
  acceptsOf,
  chooseSplit,
} from './leaf-split.ts';
import {
  type GroupMemory,
  LANES,
  LATITUDES,
  LONGITUDES,
  NEEDS,
  NUMBERS,
  REACHES,
  type Row,
  TYPES,
} from './row-groups.ts';

/** Rows at which a leaf tries to split, and again at every doubling. */
export const LEAF_ROWS = 128;
const MERGE_ROWS = 32;
/** Removals after which a leaf's box and accepted kinds are narrowed again. */
const STALE_REMOVALS = 32;
const BOX_SLACK = 0.05;

/** Told of every leaf of an area tree, so that the R-tree follows. */
export interface LeafWatcher {
  /** The rows of the leaf have changed. */
  update(leaf: Leaf): void;
  /** The leaf has no box yet, or one that `box` outgrew. */
  place(leaf: Leaf, box: Box): void;
  forget(leaf: Leaf): void;
}

const rowBox: Box = { minX: 0, minY: 0, maxX: 0, maxY: 0 };

export class RowTree {
  root: TreeNode = new Leaf();
  readonly #memory: GroupMemory;
  /** Null for a place's tree, whose rows have no area. */
  readonly #watcher: LeafWatcher | null;

  constructor(memory: GroupMemory, watcher: LeafWatcher | null) {
    this.#memory = memory;
    this.#watcher = watcher;
  }

  get isEmpty(): boolean {
    return this.root instanceof Leaf && this.root.rowCount === 0;
  }

  get #hasArea(): boolean {
    return this.#watcher !== null;
  }

  insert(row: Row): void {
    const accepts = acceptsOf(row.types, row.needs);
    let node = this.root;
    while (!(node instanceof Leaf)) {
      node.accepts |= accepts;
      node = goesRight(node, row) ? node.right : node.left;
    }
    const leaf = node;
    const position = appendLane(leaf, this.#memory, this.#hasArea);
    const group = leaf.groupAt(position, this.#hasArea);
    this.#memory.write(group, position % LANES, row, this.#hasArea);
    leaf.accepts |= accepts;
    if (this.#watcher !== null) {
      writeBoxOfRow(row.latitude, row.longitude, row.reach, rowBox);
      this.#cover(leaf, rowBox);
      this.#watcher.update(leaf);
    }
    if (leaf.rowCount >= LEAF_ROWS && (leaf.rowCount & (leaf.rowCount - 1)) === 0) this.#split(leaf);
  }

  /** `row` is in the tree and given as it was inserted; the bounds do not matter. */
  remove(row: Row): void {
    const leaf = this.#leafOf(row);
    const { integers, floats } = this.#memory;
    const { number } = row;
    for (let position = 0; position < leaf.rowCount; position += LANES) {
      const group = leaf.groupAt(position, this.#hasArea);
      const lanes = Math.min(LANES, leaf.rowCount - position);
      const numbers = (group + NUMBERS) >> 2;
      for (let lane = 0; lane < lanes; lane++) {
        if (integers[numbers + lane] !== number) continue;
        if (this.#watcher !== null && !isAreaOf(floats, (group >> 2) + lane, row)) continue;
        this.#removeAt(leaf, group, lane);
        return;
      }
    }
    throw new Error(`search ${number} has lost a row`);
  }

  #leafOf(row: Row): Leaf {
    let node = this.root;
    while (!(node instanceof Leaf)) node = goesRight(node, row) ? node.right : node.left;
    return node;
  }

  /** The last row takes the place of the removed one. */
  #removeAt(leaf: Leaf, group: number, lane: number): void {
    const last = leaf.rowCount - 1;
    const lastGroup = leaf.groupAt(last, this.#hasArea);
    const lastLane = last & (LANES - 1);
    if (lastGroup !== group || lastLane !== lane) this.#memory.copy(lastGroup, lastLane, group, lane, this.#hasArea);
    this.#memory.clear(lastGroup, lastLane);
    leaf.rowCount = last;
    leaf.removals += 1;
    giveBackChunks(leaf, this.#memory, this.#hasArea);
    if (leaf.parent !== null && leaf.rowCount <= MERGE_ROWS && this.#merge(leaf)) return;
    if (leaf.rowCount === 0) this.#empty(leaf);
    else if (leaf.removals >= STALE_REMOVALS) this.#narrow(leaf);
    this.#watcher?.update(leaf);
  }

  #empty(leaf: Leaf): void {
    leaf.accepts = 0;
    leaf.removals = 0;
    if (leaf.box !== null) this.#watcher?.forget(leaf);
  }

  /** Moves the rows of a small leaf to its sibling, when that is a small leaf too. */
  #merge(leaf: Leaf): boolean {
    const parent = leaf.parent as Split;
    const sibling = parent.left === leaf ? parent.right : parent.left;
    if (leaf.rowCount > 0 && !(sibling instanceof Leaf && sibling.rowCount + leaf.rowCount <= MERGE_ROWS)) return false;
    if (sibling instanceof Leaf) this.#moveRows(leaf, () => sibling);
    this.#empty(leaf);
    this.#replace(parent, sibling);
    return true;
  }

  #split(leaf: Leaf): void {
    const chosen = chooseSplit(this.#memory, leaf, this.#hasArea);
    if (chosen === null) return;
    const left = new Leaf();
    const right = new Leaf();
    const split: Split = { parent: null, axis: chosen.axis, at: chosen.at, left, right, accepts: leaf.accepts };
    const row = { number: 0, types: 0, needs: 0, latitude: 0, longitude: 0, reach: 0 };
    this.#replace(leaf, split);
    left.parent = split;
    right.parent = split;
    this.#moveRows(leaf, (group, lane) => {
      this.#readAxes(group, lane, row);
      return goesRight(split, row) ? right : left;
    });
    this.#empty(leaf);
  }

  #replace(node: TreeNode, replacement: TreeNode): void {
    const { parent } = node;
    replacement.parent = parent;
    if (parent === null) this.root = replacement;
    else if (parent.left === node) parent.left = replacement;
    else parent.right = replacement;
  }

  #moveRows(from: Leaf, target: (group: number, lane: number) => Leaf): void {
    const touched = new Set<Leaf>();
    for (let position = 0; position < from.rowCount; position++) {
      const group = from.groupAt(position, this.#hasArea);
      const lane = position & (LANES - 1);
      const leaf = target(group, lane);
      const to = appendLane(leaf, this.#memory, this.#hasArea);
      this.#memory.copy(group, lane, leaf.groupAt(to, this.#hasArea), to % LANES, this.#hasArea);
      touched.add(leaf);
    }
    for (const chunk of from.chunks) this.#memory.free(chunk, from.chunkLog2, this.#hasArea);
    from.chunks = [];
    from.rowCount = 0;
    for (const leaf of touched) this.#narrow(leaf);
  }

  /** Accepted kinds and box from the rows alone. */
  #narrow(leaf: Leaf): void {
    const { bytes, floats } = this.#memory;
    const box: Box = { minX: Infinity, minY: Infinity, maxX: -Infinity, maxY: -Infinity };
    leaf.accepts = 0;
    leaf.removals = 0;
    for (let position = 0; position < leaf.rowCount; position++) {
      const group = leaf.groupAt(position, this.#hasArea);
      const lane = position & (LANES - 1);
      leaf.accepts |= acceptsOf(bytes[group + lane + TYPES] as number, bytes[group + lane + NEEDS] as number);
      if (this.#watcher === null) continue;
      const word = (group >> 2) + lane;
      const latitude = floats[word + (LATITUDES >> 2)] as number;
      writeBoxOfRow(
        latitude,
        floats[word + (LONGITUDES >> 2)] as number,
        floats[word + (REACHES >> 2)] as number,
        rowBox,
      );
      box.minX = Math.min(box.minX, rowBox.minX);
      box.minY = Math.min(box.minY, rowBox.minY);
      box.maxX = Math.max(box.maxX, rowBox.maxX);
      box.maxY = Math.max(box.maxY, rowBox.maxY);
    }
    this.#watcher?.place(leaf, box);
    this.#watcher?.update(leaf);
  }

  /** Widens the leaf's box with some slack, so that most insertions leave the R-tree alone. */
  #cover(leaf: Leaf, row: Box): void {
    const { box } = leaf;
    if (box === null) {
      this.#watcher?.place(leaf, row);
      return;
    }
    if (row.minX >= box.minX && row.maxX <= box.maxX && row.minY >= box.minY && row.maxY <= box.maxY) return;
    const slackX = (Math.max(box.maxX, row.maxX) - Math.min(box.minX, row.minX)) * BOX_SLACK;
    const slackY = (Math.max(box.maxY, row.maxY) - Math.min(box.minY, row.minY)) * BOX_SLACK;
    this.#watcher?.place(leaf, {
      minX: row.minX < box.minX ? row.minX - slackX : box.minX,
      minY: row.minY < box.minY ? row.minY - slackY : box.minY,
      maxX: row.maxX > box.maxX ? row.maxX + slackX : box.maxX,
      maxY: row.maxY > box.maxY ? row.maxY + slackY : box.maxY,
    });
  }

  #readAxes(group: number, lane: number, row: AxisValues): void {
    const { bytes, integers, floats } = this.#memory;
    const word = (group >> 2) + lane;
    row.number = integers[word + (NUMBERS >> 2)] as number;
    row.types = bytes[group + lane + TYPES] as number;
    row.needs = bytes[group + lane + NEEDS] as number;
    if (this.#watcher === null) return;
    row.latitude = floats[word + (LATITUDES >> 2)] as number;
    row.longitude = floats[word + (LONGITUDES >> 2)] as number;
    row.reach = floats[word + (REACHES >> 2)] as number;
  }
}

type AxisValues = Pick<Row, 'number' | 'types' | 'needs' | 'latitude' | 'longitude' | 'reach'>;

function goesRight({ axis, at }: Split, row: AxisValues): boolean {
  switch (axis) {
    case AXIS_LATITUDE:
      return row.latitude >= at;
    case AXIS_LONGITUDE:
      return row.longitude >= at;
    case AXIS_REACH:
      return row.reach >= at;
    case AXIS_NEEDS:
      return (row.needs & at) !== 0;
    case AXIS_TYPES:
      return (row.types & ~at) === 0;
    default:
      return ((row.number >>> at) & 1) !== 0;
  }
}

function isAreaOf(floats: Float32Array, word: number, row: Row): boolean {
  return (
    floats[word + (LATITUDES >> 2)] === row.latitude &&
    floats[word + (LONGITUDES >> 2)] === row.longitude &&
    floats[word + (REACHES >> 2)] === row.reach
  );
}
