/** Expressions of the R-tree baseline. Each distinct one is compiled once, and evaluated once per advert. */

import type { Expressions } from '../../src/engine/domain/expressions.ts';
import { foldWords } from '../../src/engine/domain/text.ts';
import { type FoldedText, hasPhrase, type Phrase, phrasesOf } from '../../src/engine/domain/word-phrases.ts';

interface CompiledEntry {
  readonly includes: boolean;
  /** ` word word ` of a strict entry, else null. */
  readonly phrase: string | null;
  /** The phrases of an entry that is not strict. */
  readonly loose: readonly Phrase[];
}

type CompiledGroups = readonly (readonly CompiledEntry[])[];

export class CompiledExpressions {
  readonly #ids = new Map<string, number>();
  /** By id; 0 means no expression. */
  readonly #groups: CompiledGroups[] = [[]];

  use(expressions: Expressions): number {
    if (expressions.length === 0) return 0;
    const key = JSON.stringify(expressions);
    const id = this.#ids.get(key) ?? this.#groups.push(compile(expressions)) - 1;
    this.#ids.set(key, id);
    return id;
  }

  /** Returns a function that evaluates expressions by id on the texts of one advert, which `text` returns. */
  reader(text: () => FoldedText): (id: number) => boolean {
    const verdicts = new Map<number, boolean>();
    return (id) => {
      const known = verdicts.get(id);
      if (known !== undefined) return known;
      const verdict = holds(this.#groups[id] as CompiledGroups, text());
      verdicts.set(id, verdict);
      return verdict;
    };
  }
}

function compile(expressions: Expressions): CompiledGroups {
  return expressions.map((group) =>
    group.map(({ word, includes, strict }): CompiledEntry => {
      const words = foldWords(word);
      return { includes, phrase: strict ? ` ${words.join(' ')} ` : null, loose: strict ? [] : phrasesOf(word) };
    }),
  );
}

function holds(groups: CompiledGroups, text: FoldedText): boolean {
  return groups.some((group) =>
    group.every(({ includes, phrase, loose }) => {
      const occurs =
        phrase !== null
          ? text.phrases.some((candidate) => candidate.includes(phrase))
          : loose.some((one) => hasPhrase(text, one));
      return occurs === includes;
    }),
  );
}
