/** Row trees by the code of a place: those of communes, departments, zip codes and required stems, made and dropped as needed. */

import type { Row } from './row-groups.ts';
import type { RowTrees } from './row-tree.ts';
import type { StagedRows } from './staged-rows.ts';

/** Laid out between two steps. */
const PLACES_PER_STEP = 16;

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

  /** Lays out the rows of all places, of which there are none yet; in short steps. */
  *build(rows: StagedRows): Generator<void> {
    const positions = yield* rows.sort();
    let end = 0;
    for (let start = 0; start < rows.count; start = end) {
      const code = rows.placeOf(positions[start] as number);
      while (end < rows.count && rows.placeOf(positions[end] as number) === code) end += 1;
      if (code >= this.#roots.length) this.#makeRoom(2 * code);
      this.#roots[code] = yield* this.#trees.build(rows, positions, start, end);
      this.#size += 1;
      if (this.#size % PLACES_PER_STEP === 0) yield;
    }
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
