/** Row trees by key: those of communes, departments, zip codes and required stems, made and dropped as needed. */

import type { GroupMemory, Row } from './row-groups.ts';
import { RowTree } from './row-tree.ts';

export class PlaceTable<Key> {
  readonly #memory: GroupMemory;
  readonly #trees = new Map<Key, RowTree>();

  constructor(memory: GroupMemory) {
    this.#memory = memory;
  }

  get size(): number {
    return this.#trees.size;
  }

  treeOf(key: Key): RowTree | undefined {
    return this.#trees.get(key);
  }

  insertAll(keys: readonly Key[], row: Row): void {
    for (const key of keys) {
      let tree = this.#trees.get(key);
      if (tree === undefined) {
        tree = new RowTree(this.#memory, null);
        this.#trees.set(key, tree);
      }
      tree.insert(row);
    }
  }

  removeAll(keys: readonly Key[], row: Row): void {
    for (const key of keys) {
      const tree = this.#trees.get(key) as RowTree;
      tree.remove(row);
      if (tree.isEmpty) this.#trees.delete(key);
    }
  }
}
