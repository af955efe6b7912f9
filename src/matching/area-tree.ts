/**
 * Circles and polygons: a `RowTree` says in which leaf an area row lies, an R-tree over the boxes of the leaves says
 * which leaves a place may be in. The R-tree thus holds thousands of boxes for a million searches.
 */

import RBush from 'rbush';
import type { Box } from './area-geometry.ts';
import type { GroupMemory, Row } from './row-groups.ts';
import { type Leaf, type LeafBox, RowTree } from './row-tree.ts';

/** rbush's own node, as `toJSON` shows it. */
interface BoxNode extends Box {
  readonly leaf: boolean;
  readonly children: readonly (BoxNode | LeafBox)[];
}

export class AreaTree {
  readonly #boxes = new RBush<LeafBox>();
  readonly #rows: RowTree;
  readonly #pending: BoxNode[] = [];
  /** Whether any box has ever left [-180, 180] on that side: places there are looked up a turn away as well. */
  #leavesWest = false;
  #leavesEast = false;
  #leafCount = 0;

  constructor(memory: GroupMemory) {
    this.#rows = new RowTree(memory, {
      place: (leaf, box) => this.#place(leaf, box),
      forget: (leaf) => this.#forget(leaf),
    });
  }

  get leafCount(): number {
    return this.#leafCount;
  }

  insert(row: Row): void {
    this.#rows.insert(row);
  }

  remove(row: Row): boolean {
    return this.#rows.remove(row);
  }

  /** Visits the leaves round a place, with the longitude by which to compare their rows. */
  visit(lat: number, lon: number, visit: (leaf: Leaf, lon: number) => void): void {
    this.#visitAt(lat, lon, visit);
    if (this.#leavesEast) this.#visitAt(lat, lon + 360, visit);
    if (this.#leavesWest) this.#visitAt(lat, lon - 360, visit);
  }

  #visitAt(lat: number, lon: number, visit: (leaf: Leaf, lon: number) => void): void {
    const pending = this.#pending;
    pending.push(this.#boxes.toJSON() as BoxNode);
    for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
      const { children } = node;
      for (let i = 0; i < children.length; i++) {
        const child = children[i] as BoxNode | LeafBox;
        if (lon < child.minX || lon > child.maxX || lat < child.minY || lat > child.maxY) continue;
        if (node.leaf) visit((child as LeafBox).leaf, lon);
        else pending.push(child as BoxNode);
      }
    }
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
    if (minX < -180) this.#leavesWest = true;
    if (maxX > 180) this.#leavesEast = true;
  }

  #forget(leaf: Leaf): void {
    if (leaf.box === null) return;
    this.#boxes.remove(leaf.box);
    leaf.box = null;
    this.#leafCount -= 1;
  }
}
