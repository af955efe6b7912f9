/** The distances to points of interest that searches require (`pointsOfInterest`); equal lists are stored once. */

import { combinationKey, metersOf, type PointDistances, type PointTerm } from '../../domain/point-distances.ts';

interface CompiledTerm {
  readonly key: string;
  readonly min: number;
  readonly max: number;
}

interface TermList {
  readonly terms: readonly CompiledTerm[];
  readonly content: string;
  uses: number;
}

export class TermLists {
  readonly #lists: (TermList | undefined)[] = [];
  /** Ids by content. */
  readonly #ids = new Map<string, number>();
  readonly #free: number[] = [];
  /** Number of terms by combination. */
  readonly #counts = new Map<string, number>();

  get combinations(): Iterable<string> {
    return this.#counts.keys();
  }

  /** Counts one more use of the list and returns its id; 0 for an empty list. */
  use(requested: readonly PointTerm[]): number {
    if (requested.length === 0) return 0;
    const terms = requested.map((term) => ({ key: combinationKey(term), ...metersOf(term) }));
    const content = terms.map(({ key, min, max }) => `${key}/${min}/${max}`).join();
    const id = this.#ids.get(content) ?? this.#free.pop() ?? this.#ids.size + 1;
    const list = this.#lists[id] ?? { terms, content, uses: 0 };
    if (list.uses === 0) this.#count(list, 1);
    list.uses += 1;
    this.#lists[id] = list;
    this.#ids.set(content, id);
    return id;
  }

  release(id: number): void {
    const list = this.#lists[id];
    if (list === undefined) return;
    list.uses -= 1;
    if (list.uses > 0) return;
    this.#lists[id] = undefined;
    this.#ids.delete(list.content);
    this.#free.push(id);
    this.#count(list, -1);
  }

  #count({ terms }: TermList, by: number): void {
    for (const { key } of terms) {
      const count = (this.#counts.get(key) ?? 0) + by;
      if (count === 0) this.#counts.delete(key);
      else this.#counts.set(key, count);
    }
  }

  /** Whether all terms hold; with `acceptsUnknown`, whether none has a known distance outside its limits. */
  hold(id: number, distances: PointDistances | null, acceptsUnknown: boolean): boolean {
    for (const { key, min, max } of (this.#lists[id] as TermList).terms) {
      const distanceM = distances?.[key] ?? null;
      if (distanceM === null ? !acceptsUnknown : distanceM < min || distanceM > max) return false;
    }
    return true;
  }
}
