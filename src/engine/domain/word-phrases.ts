/**
 * What a non-strict entry looks for (decisions, section 2): its words in order, each in one of its forms, with at most
 * two others between neighbours; or another spelling of them, whose words are adjacent.
 */

import { LRUCache } from 'lru-cache';
import { lemmasOf } from './inflection/lemmas.ts';
import { foldWords } from './text.ts';

export interface PhraseWord {
  readonly word: string;
  /** Other words that may stand between the word before and this one. */
  readonly gapMax: number;
}

/** At least one word. */
export type Phrase = readonly PhraseWord[];

/** Other words between neighbours: *vue mer* is in "vue sur la mer". */
export const GAP_MAX = 2;

/** Alternatives that are one; `#` stands for a number. Spellings of one word are in `inflection/own-words.tsv`. */
const SPELLINGS: readonly (readonly (readonly string[])[])[] = [
  ['t#', 't #'],
  ['f#', 'f #'],
  ['numero #', 'n #', 'no #'],
  ['m2', 'm 2', 'metre carre'],
  ['wc', 'w c'],
  ['sdb', 's d b', 'salle de bain'],
  ['sde', 's d e', "salle d'eau"],
  ['rdc', 'r d c', 'rez de chaussee'],
  ['rdj', 'r d j', 'rez de jardin'],
].map((spellings) => spellings.map((spelling) => spelling.split(/[ ']/)));

/** Alternatives of one entry at most. */
const PHRASES_MAX = 16;

/** A cache: searches use the same few thousand phrases. */
const known = new LRUCache<string, readonly Phrase[]>({ max: 10_000 });

/** Any of them suffices; none for a text without a word. */
export function phrasesOf(text: string): readonly Phrase[] {
  let phrases = known.get(text);
  if (phrases === undefined) {
    phrases = alternativesOf(foldWords(text));
    known.set(text, phrases);
  }
  return phrases;
}

function alternativesOf(words: readonly string[]): readonly Phrase[] {
  let phrases: Phrase[] = words.length === 0 ? [] : [[]];
  for (let at = 0; at < words.length; ) {
    const { parts, length } = spellingsAt(words, at) ?? { parts: [[words[at] as string]], length: 1 };
    phrases = phrases
      .flatMap((phrase) =>
        parts.map((part) => [...phrase, ...part.map((word, i) => ({ word, gapMax: i > 0 ? 0 : GAP_MAX }))]),
      )
      .slice(0, PHRASES_MAX);
    at += length;
  }
  return phrases;
}

interface Spelled {
  /** The words as they are first, then in the other spellings. */
  readonly parts: readonly (readonly string[])[];
  /** Words that they stand for. */
  readonly length: number;
}

function spellingsAt(words: readonly string[], at: number): Spelled | null {
  for (const spellings of SPELLINGS) {
    for (const spelling of spellings) {
      const spelled = words.slice(at, at + spelling.length);
      const number = numberIn(spelled, spelling);
      if (number === null) continue;
      const others = spellings.filter((other) => other !== spelling);
      const parts = [spelled, ...others.map((other) => other.map((word) => word.replace('#', number)))];
      return { parts, length: spelling.length };
    }
  }
  return null;
}

/** The replacement for `#`, empty without one; null when these words are not spelt so. */
function numberIn(words: readonly string[], spelling: readonly string[]): string | null {
  let number = '';
  for (const [i, expected] of spelling.entries()) {
    const word = words[i];
    if (word === undefined) return null;
    if (expected.includes('#')) {
      const digits = /^\d+$/.exec(word.slice(expected.indexOf('#')))?.[0];
      if (digits === undefined || expected.replace('#', digits) !== word) return null;
      number = digits;
    } else if (word !== expected && !shareLemma(word, expected)) return null;
  }
  return number;
}

/** Whether the folded words are forms of one. */
export function shareLemma(a: string, b: string): boolean {
  const lemmas = lemmasOf(b);
  return lemmasOf(a).some((lemma) => lemmas.includes(lemma));
}

export interface FoldedText {
  /** One entry per text: ` word word word `, so that a phrase is a substring with spaces round it. */
  readonly phrases: readonly string[];
  /** The words of each text. */
  readonly words: readonly (readonly string[])[];
  /** The lemmas of all words. */
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
