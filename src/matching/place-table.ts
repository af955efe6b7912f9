/** Row trees by the code of a place: those of communes, departments, zip codes and required stems, made and dropped as needed. */

import type { Row } from './row-groups.ts';
import type { RowTrees } from './row-tree.ts';

export class PlaceTable {
  readonly #trees: RowTrees;
  /** By code; 0 is no tree. */
  #roots = new Int32Array(1024);
  #size = 0;

  constructor(trees: RowTrees) {
    this.#trees = trees;
  }

  get size(): number {
    return this.#size;
  }

  /** 0 for code 0, of what no search names, and for every other without rows. */
  rootOf(code: number): number {
    return this.#roots[code] ?? 0;
  }

  insert(code: number, row: Row): void {
    if (code >= this.#roots.length) this.#makeRoom(2 * code);
    const root = this.#roots[code] as number;
    if (root === 0) this.#size += 1;
    this.#roots[code] = this.#trees.insert(root, row);
  }

  /** `row` is there. */
  remove(code: number, row: Row): void {
    const root = this.#trees.remove(this.#roots[code] as number, row);
    this.#roots[code] = root;
    if (root === 0) this.#size -= 1;
  }

  #makeRoom(length: number): void {
    const longer = new Int32Array(length);
    longer.set(this.#roots);
    this.#roots = longer;
  }
}
