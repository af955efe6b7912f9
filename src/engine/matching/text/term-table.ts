/**
 * Assigns codes, with use counts, to words that searches look for in any inflected form. Words with the same lemmas are
 * one term. A word in a text finds all terms with which it shares a lemma: *cuisines* finds *cuisine* and *cuisinée*.
 */

import { lemmasOf } from '../../domain/inflection/lemmas.ts';
import { CodeTable } from '../code-table.ts';

const NONE: readonly number[] = [];

export class TermTable {
  /** Terms by their lemmas, joined by spaces. */
  readonly #codes = new CodeTable();
  readonly #codesOfLemma = new Map<string, readonly number[]>();

  /** Changes whenever a result of `codesOf` may change. */
  get revision(): number {
    return this.#codes.revision;
  }

  /** One more than the largest code. */
  get end(): number {
    return this.#codes.end;
  }

  /** Returns the code of the folded word's term, which is positive, and increments its use count. */
  use(foldedWord: string): number {
    const lemmas = lemmasOf(foldedWord);
    const { revision } = this.#codes;
    const code = this.#codes.use(lemmas.join(' '));
    if (this.#codes.revision === revision) return code;
    for (const lemma of lemmas) this.#codesOfLemma.set(lemma, [...(this.#codesOfLemma.get(lemma) ?? NONE), code]);
    return code;
  }

  /** Decrements the use count. If it becomes 0, another term may get the code. */
  release(code: number): void {
    const lemmas = this.#codes.textOf(code);
    if (!this.#codes.release(code)) return;
    for (const lemma of lemmas.split(' ')) {
      const others = (this.#codesOfLemma.get(lemma) ?? NONE).filter((other) => other !== code);
      if (others.length === 0) this.#codesOfLemma.delete(lemma);
      else this.#codesOfLemma.set(lemma, others);
    }
  }

  /** The codes of the terms that the folded word finds. A term may be in the list twice. */
  codesOf(foldedWord: string): readonly number[] {
    const [lemma, ...others] = lemmasOf(foldedWord);
    let codes = this.#codesOfLemma.get(lemma as string) ?? NONE;
    for (const other of others) {
      const more = this.#codesOfLemma.get(other);
      if (more !== undefined) codes = codes.length === 0 ? more : [...codes, ...more];
    }
    return codes;
  }
}
