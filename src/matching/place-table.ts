/** Row trees by key: those of communes, departments, zip codes and required stems, made and dropped as needed. */

import type { GroupMemory, Row } from './row-groups.ts';
import { RowTree } from './row-tree.ts';

/** What a place table asks of a `Map`. */
interface Trees<Key> {
  readonly size: number;
  get(key: Key): RowTree | undefined;
  set(key: Key, tree: RowTree): unknown;
  delete(key: Key): unknown;
}

/** Trees by small integer: an advert asks for those of all its stems, and most have none. */
export class TreesByCode implements Trees<number> {
  readonly #trees: (RowTree | undefined)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(code: number): RowTree | undefined {
    return this.#trees[code];
  }

  /** `code` has no tree yet. */
  set(code: number, tree: RowTree): void {
    while (this.#trees.length <= code) this.#trees.push(undefined);
    this.#trees[code] = tree;
    this.#size += 1;
  }

  /** `code` has a tree. */
  delete(code: number): void {
    this.#trees[code] = undefined;
    this.#size -= 1;
  }
}

export class PlaceTable<Key> {
  readonly #memory: GroupMemory;
  readonly #trees: Trees<Key>;

  constructor(memory: GroupMemory, trees: Trees<Key>) {
    this.#memory = memory;
    this.#trees = trees;
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
