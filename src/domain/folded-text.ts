/** Texts folded once, ready for any number of expressions. */

import { lemmasOf } from './inflection/lemmas.ts';
import { foldWords } from './text.ts';

export interface FoldedText {
  /** One entry per text: ` word word word `, so that a phrase is a substring with spaces round it. */
  readonly phrases: readonly string[];
  /** Of all words. */
  readonly lemmas: ReadonlySet<string>;
}

export function foldTexts(texts: readonly string[]): FoldedText {
  const phrases: string[] = [];
  const lemmas = new Set<string>();
  for (const text of texts) {
    const words = foldWords(text);
    phrases.push(` ${words.join(' ')} `);
    for (const word of words) for (const lemma of lemmasOf(word)) lemmas.add(lemma);
  }
  return { phrases, lemmas };
}

/** Whether the folded word, or an inflected form of it, is in the text. */
export function hasForm({ lemmas }: FoldedText, foldedWord: string): boolean {
  return lemmasOf(foldedWord).some((lemma) => lemmas.has(lemma));
}
