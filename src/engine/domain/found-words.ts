/** Finds where a text contains an entry: the sentence and the words in it, for explanations. */

import { type ExpressionEntry, entryHolds } from './expressions.ts';
import { foldTexts } from './folded-text.ts';
import { foldWords } from './text.ts';
import { phrasesOf, shareLemma } from './word-phrases.ts';

export interface FoundWords {
  readonly sentence: string;
  /** In the spelling of the text. */
  readonly words: readonly string[];
}

/** Full stops in abbreviations and numbers do not end a sentence. */
const SENTENCE = /[^\n]+?(?:[.!?]+(?=\s)|(?<=\p{Ll}{2}[.!?])(?=\p{Lu})|$)/gmu;
const WORD = /[\p{L}\p{M}\p{N}²]+/gu;
/** A sentence without an end is cut to this length around the first found word. */
const SENTENCE_LENGTH_MAX = 240;

/** The first occurrence; null without one. A phrase may continue across the end of a sentence. */
export function foundWords(entry: ExpressionEntry, texts: readonly string[]): FoundWords | null {
  const wanted = { ...entry, includes: true };
  for (const text of texts.filter((one) => entryHolds(wanted, foldTexts([one])))) {
    const sentences = text.match(SENTENCE) ?? [];
    const pairs = sentences.map((sentence, i) => sentence + (sentences[i + 1] ?? ''));
    const found = [...sentences, ...pairs, text].find((one) => entryHolds(wanted, foldTexts([one]))) as string;
    return wordsIn(found, entry);
  }
  return null;
}

function wordsIn(sentence: string, { word, strict }: ExpressionEntry): FoundWords {
  const searched = strict ? foldWords(word) : phrasesOf(word).flatMap((phrase) => phrase.map((step) => step.word));
  const isFound = (candidate: string): boolean =>
    foldWords(candidate).some((folded) => searched.some((one) => (strict ? one === folded : shareLemma(one, folded))));
  const found = [...sentence.matchAll(WORD)].filter(([candidate]) => isFound(candidate));
  const start = Math.max(0, (found[0]?.index ?? 0) - SENTENCE_LENGTH_MAX / 2);
  const isLong = sentence.length > SENTENCE_LENGTH_MAX;
  const shown = isLong ? sentence.slice(start, start + SENTENCE_LENGTH_MAX).toWellFormed() : sentence;
  const within = isLong ? found.filter(({ index }) => index >= start && index < start + SENTENCE_LENGTH_MAX) : found;
  return { sentence: shown.trim(), words: [...new Set(within.map(([spelt]) => spelt))] };
}
