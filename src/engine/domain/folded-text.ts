/** Texts folded once, ready for any number of expressions. */

import { lemmasOf } from './inflection/lemmas.ts';
import { foldWords } from './text.ts';
import { type Phrase, shareLemma } from './word-phrases.ts';

export interface FoldedText {
  /** One entry per text: ` word word word `, so that a phrase is a substring with spaces round it. */
  readonly phrases: readonly string[];
  /** Of each text. */
  readonly words: readonly (readonly string[])[];
  /** Of all words. */
  readonly lemmas: ReadonlySet<string>;
}

export function foldTexts(texts: readonly string[]): FoldedText {
  const words = texts.map(foldWords);
  const lemmas = new Set<string>();
  for (const ofText of words) for (const word of ofText) for (const lemma of lemmasOf(word)) lemmas.add(lemma);
  return { phrases: words.map((ofText) => ` ${ofText.join(' ')} `), words, lemmas };
}

/** Whether forms of the words are in one text, in order, with no more words between them than there may be. */
export function hasPhrase({ lemmas, words }: FoldedText, phrase: Phrase): boolean {
  if (!phrase.every(({ word }) => lemmasOf(word).some((lemma) => lemmas.has(lemma)))) return false;
  return phrase.length === 1 || words.some((ofText) => endsOf(phrase, ofText).length > 0);
}

/** Places of words with which the phrase ends. */
function endsOf(phrase: Phrase, words: readonly string[]): readonly number[] {
  let ends: readonly number[] = [];
  for (const [i, { word, gapMax }] of phrase.entries()) {
    const before = new Set(ends);
    const follows = (at: number) => {
      for (let gap = 0; gap <= gapMax; gap++) if (before.has(at - 1 - gap)) return true;
      return i === 0;
    };
    ends = words.flatMap((candidate, at) => (follows(at) && shareLemma(candidate, word) ? [at] : []));
  }
  return ends;
}
