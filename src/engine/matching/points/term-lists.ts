/** The distances to points of interest that searches require (`pointsOfInterest`); equal lists are stored once. */

import { combinationKey, metersOf, type PointDistances, type PointTerm } from '../../domain/point-distances.ts';
import { CodeTable } from '../code-table.ts';

interface CompiledTerm {
  readonly key: string;
  readonly min: number;
  readonly max: number;
}

export class TermLists {
  readonly #contents = new CodeTable();
  /** By the code of their content. */
  readonly #lists: (readonly CompiledTerm[] | undefined)[] = [];
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
    const id = this.#contents.use(content);
    if (this.#lists[id] === undefined) this.#count(terms, 1);
    this.#lists[id] ??= terms;
    return id;
  }

  release(id: number): void {
    if (id === 0 || !this.#contents.release(id)) return;
    this.#count(this.#lists[id] as readonly CompiledTerm[], -1);
    this.#lists[id] = undefined;
  }

  #count(terms: readonly CompiledTerm[], by: number): void {
    for (const { key } of terms) {
      const count = (this.#counts.get(key) ?? 0) + by;
      if (count === 0) this.#counts.delete(key);
      else this.#counts.set(key, count);
    }
  }

  /** Whether all terms hold; with `acceptsUnknown`, whether none has a known distance outside its limits. */
  hold(id: number, distances: PointDistances | null, acceptsUnknown: boolean): boolean {
    for (const { key, min, max } of this.#lists[id] as readonly CompiledTerm[]) {
      const distanceM = distances?.[key] ?? null;
      if (distanceM === null ? !acceptsUnknown : distanceM < min || distanceM > max) return false;
    }
    return true;
  }
}
