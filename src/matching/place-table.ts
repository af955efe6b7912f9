/** Row trees by the code of a place: those of communes, departments, zip codes and required stems, made and dropped as needed. */

import type { GroupMemory, Row } from './row-groups.ts';
import { RowTree } from './row-tree.ts';

export class PlaceTable {
  readonly #memory: GroupMemory;
  readonly #trees: (RowTree | undefined)[] = [];
  #size = 0;

  constructor(memory: GroupMemory) {
    this.#memory = memory;
  }

  get size(): number {
    return this.#size;
  }

  /** Code 0, of what no search names, has no tree. */
  treeOf(code: number): RowTree | undefined {
    return this.#trees[code];
  }

  insert(code: number, row: Row): void {
    let tree = this.#trees[code];
    if (tree === undefined) {
      while (this.#trees.length <= code) this.#trees.push(undefined);
      tree = new RowTree(this.#memory, null);
      this.#trees[code] = tree;
      this.#size += 1;
    }
    tree.insert(row);
  }

  /** `row` is there. */
  remove(code: number, row: Row): void {
    const tree = this.#trees[code] as RowTree;
    tree.remove(row);
    if (!tree.isEmpty) return;
    this.#trees[code] = undefined;
    this.#size -= 1;
  }
}
