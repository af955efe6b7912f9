/** Row trees by the code of a place: those of communes, departments, zip codes and required terms, made and dropped as needed. */

import type { Row } from './row-groups.ts';
import type { RowTrees } from './row-tree.ts';
import { StagedRows } from './staged-rows.ts';

export class PlaceTable {
  readonly #trees: RowTrees;
  /** By code; 0 is no tree. */
  #roots = new Int32Array(1024);
  #size = 0;
  #staged = new StagedRows();

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
    this.#makeRoom(code);
    const root = this.#roots[code] as number;
    if (root === 0) this.#size += 1;
    this.#roots[code] = this.#trees.insert(root, row);
  }

  /** Puts a row by for `layOut`; there are no others yet. */
  stage(code: number, row: Row): void {
    this.#staged.add(code, row);
  }

  /** Inserts the staged rows, in short steps. */
  *layOut(): Generator<null> {
    const staged = this.#staged;
    this.#staged = new StagedRows();
    for (const group of staged.byPlace()) {
      if (group !== null) {
        this.#makeRoom(group.place);
        this.#roots[group.place] = yield* this.#trees.build(group.rows, 0, group.rows.count);
        this.#size += 1;
      }
      yield null;
    }
  }

  /** `row` is there. */
  remove(code: number, row: Row): void {
    const root = this.#trees.remove(this.#roots[code] as number, row);
    this.#roots[code] = root;
    if (root === 0) this.#size -= 1;
  }

  #makeRoom(code: number): void {
    if (code < this.#roots.length) return;
    const longer = new Int32Array(2 * code);
    longer.set(this.#roots);
    this.#roots = longer;
  }
}
