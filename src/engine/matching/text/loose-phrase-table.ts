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
  /** By term: how often it is in phrases. */
  #usesOfTerm = new Int32Array(1024);

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
    for (const { term } of steps) this.#count(term, 1);
    return code;
  }

  /** Ends one use; the code of a phrase without uses may be given to another. */
  release(code: number): void {
    const { revision } = this.#codes;
    this.#codes.release(code);
    if (this.#codes.revision === revision) return;
    for (const { term } of this.stepsOf(code)) this.#count(term, -1);
  }

  stepsOf(code: number): readonly LooseStep[] {
    return this.#steps[code] as readonly LooseStep[];
  }

  /** Whether some phrase has this term. */
  hasTerm(term: number): boolean {
    return (this.#usesOfTerm[term] ?? 0) > 0;
  }

  #count(term: number, more: number): void {
    if (term >= this.#usesOfTerm.length) {
      const longer = new Int32Array(2 * term);
      longer.set(this.#usesOfTerm);
      this.#usesOfTerm = longer;
    }
    this.#usesOfTerm[term] = (this.#usesOfTerm[term] as number) + more;
  }
}
