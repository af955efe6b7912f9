/** Counts the combinations of points of interest that searches name, so that their distances are computed. */

import type { SearchNumber } from '../../domain/ids.ts';

export class RequestedCombinations {
  /** For the few searches that name any. */
  readonly #ofSearch = new Map<SearchNumber, readonly string[]>();
  readonly #counts = new Map<string, number>();

  /** Their keys. */
  get all(): readonly string[] {
    return [...this.#counts.keys()];
  }

  /** Replaces the combinations that the search names. */
  set(number: SearchNumber, keys: readonly string[]): void {
    for (const key of this.#ofSearch.get(number) ?? []) this.#add(key, -1);
    if (keys.length === 0) this.#ofSearch.delete(number);
    else this.#ofSearch.set(number, keys);
    for (const key of keys) this.#add(key, 1);
  }

  #add(key: string, by: number): void {
    const count = (this.#counts.get(key) ?? 0) + by;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}
