/**
 * French text as expressions compare it (decisions, section 2): case, accents, ligatures and the form of apostrophes
 * and hyphens are ignored; stems ignore inflection as well.
 */

import { stemmer } from '@orama/stemmers/french';
import { LRUCache } from 'lru-cache';

const MARKS = /\p{M}+/gu;
const WORDS = /[\p{L}\p{N}]+/gu;
const LIGATURES = /[œæß]/g;
const LIGATURE_LETTERS: Readonly<Record<string, string>> = { œ: 'oe', æ: 'ae', ß: 'ss' };

/** The words of `text`, folded: lower case, no diacritics, `œ` as `oe`; everything else separates words. */
export function foldWords(text: string): readonly string[] {
  const folded = text
    .normalize('NFKD')
    .toLowerCase()
    .replace(MARKS, '')
    .replace(LIGATURES, (letter) => LIGATURE_LETTERS[letter] ?? letter);
  return folded.match(WORDS) ?? [];
}

/** Folded words joined by one space, for partial matching of titles and names. */
export function foldText(text: string): string {
  return foldWords(text).join(' ');
}

/** Adverts draw on a vocabulary of some ten thousand words; stemming one costs as much as fifty look-ups. */
const stems = new LRUCache<string, string>({ max: 50_000 });

/**
 * The stem of a folded word (Snowball, French). Applied until it changes nothing: without accents one pass leaves
 * `renovee` and `renove` apart.
 */
export function stem(foldedWord: string): string {
  const known = stems.get(foldedWord);
  if (known !== undefined) return known;
  let stemmed = foldedWord;
  for (let next = stemmer(stemmed); next !== stemmed && next.length > 1; next = stemmer(stemmed)) stemmed = next;
  stems.set(foldedWord, stemmed);
  return stemmed;
}

/** Texts folded once, ready for any number of expressions. */
export interface FoldedText {
  /** One entry per text: ` word word word `, so that a phrase is a substring with spaces round it. */
  readonly phrases: readonly string[];
  readonly stems: ReadonlySet<string>;
}

export function foldTexts(texts: readonly string[]): FoldedText {
  const phrases: string[] = [];
  const found = new Set<string>();
  for (const text of texts) {
    const words = foldWords(text);
    phrases.push(` ${words.join(' ')} `);
    for (const word of words) found.add(stem(word));
  }
  return { phrases, stems: found };
}
