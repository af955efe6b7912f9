/**
 * Phrases of several terms with other words between them, as small integers, counted. Each distinct one is looked for
 * once a text, and only where all its terms occur.
 */

import { CodeTable } from '../code-table.ts';

/** A term of a phrase and how many other words may stand before it. */
export interface LooseStep {
  readonly term: number;
  readonly gapMax: number;
}

export class LoosePhraseTable {
  readonly #codes = new CodeTable();
  /** By code. */
  readonly #steps: (readonly LooseStep[])[] = [];
  /** By term: the phrases that it is in. */
  readonly #usesOfTerm = new Map<number, number>();

  /** Changes whenever `hasTerm` may. */
  get revision(): number {
    return this.#codes.revision;
  }

  /** One above the largest code. */
  get end(): number {
    return this.#codes.end;
  }

  /** The code (positive) of the phrase, at least two steps, with one more use. */
  use(steps: readonly LooseStep[]): number {
    const { revision } = this.#codes;
    const code = this.#codes.use(steps.map(({ term, gapMax }) => `${term}/${gapMax}`).join(' '));
    if (this.#codes.revision === revision) return code;
    this.#steps[code] = steps;
    for (const { term } of steps) this.#usesOfTerm.set(term, (this.#usesOfTerm.get(term) ?? 0) + 1);
    return code;
  }

  /** Ends one use; the code of a phrase without uses may be given to another. */
  release(code: number): void {
    const { revision } = this.#codes;
    this.#codes.release(code);
    if (this.#codes.revision === revision) return;
    for (const { term } of this.stepsOf(code)) {
      const uses = (this.#usesOfTerm.get(term) ?? 0) - 1;
      if (uses > 0) this.#usesOfTerm.set(term, uses);
      else this.#usesOfTerm.delete(term);
    }
  }

  stepsOf(code: number): readonly LooseStep[] {
    return this.#steps[code] as readonly LooseStep[];
  }

  /** Whether some phrase has this term. */
  hasTerm(term: number): boolean {
    return this.#usesOfTerm.has(term);
  }
}

/** Places of terms in order, by term: what `isLooselyIn` reads. */
export type PlacesOfTerm = (term: number) => readonly number[];

/** Whether the terms stand in order, with no more other words between neighbours than there may be. */
export function isLooselyIn(steps: readonly LooseStep[], placesOf: PlacesOfTerm): boolean {
  let ends: readonly number[] | null = null;
  for (const { term, gapMax } of steps) {
    const places = placesOf(term);
    ends = ends === null ? places : places.filter(following(ends, gapMax));
    if (ends.length === 0) return false;
  }
  return true;
}

/** Asked of places in order. */
function following(ends: readonly number[], gapMax: number): (place: number) => boolean {
  let at = 0;
  return (place) => {
    while (at < ends.length && (ends[at] as number) + 1 + gapMax < place) at += 1;
    return at < ends.length && (ends[at] as number) < place;
  };
}
