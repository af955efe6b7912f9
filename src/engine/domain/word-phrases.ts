/**
 * The phrases that an expression finds if it is not strict (decisions, section 2). The first phrase has the words as
 * written, in order and in any form, with at most two other words between neighbours. Other phrases have other
 * spellings, or allow one more word (`WIDER_WITH`). The words of a spelling must be adjacent.
 */

import { LRUCache } from 'lru-cache';
import { lemmasOf } from './inflection/lemmas.ts';
import {
  isDeniedBefore,
  isNegationAt,
  kindOf,
  mayNegate,
  NEGATION,
  negatedUpTo,
  numberAt,
  PLAIN,
  type WordSequence,
} from './lenient-words.ts';
import { SPELLINGS, WIDER_WITH } from './spellings.ts';
import { BREAK, foldWordsJoined } from './text.ts';

export interface PhraseWord {
  readonly word: string;
  /** Number of other words allowed between the previous word and this one. */
  readonly gapMax: number;
  /** True for the conjunction that `WIDER_WITH` allows between two words of the entry. */
  readonly isLink?: boolean;
}

export interface Phrase {
  /** The words in order, at least one. */
  readonly words: readonly PhraseWord[];
  /** True if the entry itself has a negation, so that the phrase is also found after negations. */
  readonly isNegation: boolean;
}

/** Other words allowed between neighbours: *vue mer* is found in "vue sur la mer". */
export const GAP_MAX = 2;

const SPLIT_SPELLINGS: readonly (readonly (readonly string[])[])[] = SPELLINGS.map((spellings) =>
  spellings.map((spelling) => spelling.split(/[ ']/)),
);

/** Maximum number of phrases of one entry. */
const PHRASES_MAX = 16;

/** A cache: searches share a few thousand phrases. Its size is counted in words, because an entry may have hundreds. */
const known = new LRUCache<string, readonly Phrase[]>({
  maxSize: 100_000,
  sizeCalculation: (phrases) => phrases.reduce((size, { words }) => size + words.length, 1),
});

/** The phrases of an entry's text, of which one must be found. Empty if the text has no word. */
export function phrasesOf(text: string): readonly Phrase[] {
  let phrases = known.get(text);
  if (phrases === undefined) {
    phrases = alternativesOf(text);
    known.set(text, phrases);
  }
  return phrases;
}

function alternativesOf(text: string): readonly Phrase[] {
  const sequence = sequenceOf(text);
  const places = positionsIn(sequence);
  let phrases: PhraseWord[][] = places.length === 0 ? [] : [[]];
  for (let at = 0; at < places.length; ) {
    const spelled = spellingsAt(places, at) ?? { parts: partsOf(places[at] as Place), length: 1 };
    const adjacent = spelled.parts.map((part) => part.map((word, i) => ({ word, gapMax: i > 0 ? 0 : GAP_MAX })));
    const { parts, length } = widerAt(places, at) ?? { parts: adjacent, length: spelled.length };
    // A text may fold to thousands of words, so phrases are copied only where they branch.
    const [only = [], ...others] = parts;
    if (others.length === 0) for (const phrase of phrases) phrase.push(...only);
    else phrases = phrases.flatMap((phrase) => parts.map((part) => [...phrase, ...part])).slice(0, PHRASES_MAX);
    at += length;
  }
  const isNegation = hasNegation(sequence);
  return phrases.map((words) => ({ words, isNegation }));
}

function hasNegation(words: WordSequence): boolean {
  for (let at = 0; at < words.length; at++) {
    if (isNegationAt(words, at)) return true;
  }
  return false;
}

/** Allows one more word between these words if a link is among them: *cuisine aménagée et bien équipée*. */
function widerAt(
  places: readonly Place[],
  at: number,
): { readonly parts: readonly PhraseWord[][]; readonly length: number } | null {
  const [first = '', second = ''] = places.slice(at, at + 2).map(({ words }) => words[0]);
  const wider = WIDER_WITH.find(({ words: [a, b] }) => shareLemma(a, first) && shareLemma(b, second));
  if (wider === undefined) return null;
  const head = { word: first, gapMax: GAP_MAX };
  const linked = Array.from({ length: GAP_MAX + 1 }, (_, before) => [
    head,
    { word: wider.link, gapMax: before, isLink: true },
    { word: second, gapMax: GAP_MAX - before },
  ]);
  return { parts: [[head, { word: second, gapMax: GAP_MAX }], ...linked], length: 2 };
}

/** A word of a text, or several folded words that count as one, such as a number and its unit. */
export interface Place {
  /** The readings of this position. In a text, each of them is found; of an entry, only the first is searched for. */
  readonly words: readonly string[];
  /** See `NumberRead`. */
  readonly apart: string | null;
  /** Position among the folded words. */
  readonly first: number;
  readonly length: number;
  readonly isNegated: boolean;
  /** True if *: non* or *: 0* follows. */
  readonly isDenied: boolean;
}

interface FoldedWords extends WordSequence {
  readonly words: readonly string[];
}

function sequenceOf(text: string): FoldedWords {
  const { words, joins } = foldWordsJoined(text);
  const kinds = words.map(kindOf);
  return {
    words,
    length: words.length,
    wordAt: (at) => words[at] ?? '',
    kindAt: (at) => kinds[at] ?? PLAIN,
    joinAt: (at) => joins[at] ?? BREAK,
  };
}

export function positionsOf(text: string): readonly Place[] {
  return positionsIn(sequenceOf(text));
}

function positionsIn(words: WordSequence): readonly Place[] {
  const places: Place[] = [];
  let negatedEnd = -1;
  for (let at = 0; at < words.length; ) {
    const kind = words.kindAt(at);
    const isNegated = at <= negatedEnd;
    const number = kind === PLAIN || kind === NEGATION ? null : numberAt(words, at);
    if (mayNegate(kind, number?.word)) negatedEnd = Math.max(negatedEnd, negatedUpTo(words, at));
    const alternatives = number === null ? [words.wordAt(at)] : [number.word, ...number.others];
    const length = number?.length ?? 1;
    const isDenied = isDeniedBefore(words, at + length);
    places.push({ words: alternatives, apart: number?.apart ?? null, first: at, length, isNegated, isDenied });
    at += length;
  }
  return places;
}

function partsOf({ words, apart }: Place): readonly (readonly string[])[] {
  const word = words.slice(0, 1);
  return apart === null ? [word] : [word, [apart]];
}

interface Spelled {
  /** The words as written, then in other spellings. */
  readonly parts: readonly (readonly string[])[];
  /** Number of positions in the entry that a spelling covers. */
  readonly length: number;
}

let startLemmas: ReadonlySet<string> | null = null;

/** Whether a spelling may begin with this word. Few words begin one, and trying all spellings takes 100 lookups. */
function startsSpelling(word: string): boolean {
  startLemmas ??= new Set(SPLIT_SPELLINGS.flat().flatMap(([first = '']) => lemmasOf(first)));
  return lemmasOf(word).some((lemma) => startLemmas?.has(lemma));
}

function spellingsAt(places: readonly Place[], at: number): Spelled | null {
  if (!startsSpelling(places[at]?.words[0] ?? '')) return null;
  for (const spellings of SPLIT_SPELLINGS) {
    for (const spelling of spellings) {
      const spelled = places.slice(at, at + spelling.length).map(({ words }) => words[0] as string);
      const number = numberIn(spelled, spelling);
      if (number === null) continue;
      const others = spellings.filter((other) => other !== spelling);
      const parts = [spelled, ...others.map((other) => other.map((word) => word.replace('#', number)))];
      return { parts, length: spelling.length };
    }
  }
  return null;
}

/** The number in place of `#`; empty if the spelling has no `#`; null if the words do not have this spelling. */
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

/** Whether the folded words are forms of the same word. */
export function shareLemma(a: string, b: string): boolean {
  const lemmas = lemmasOf(b);
  return lemmasOf(a).some((lemma) => lemmas.includes(lemma));
}

interface FoldedPosition extends Pick<Place, 'first' | 'isNegated' | 'isDenied'> {
  /** Lemmas of all words read at this position. */
  readonly lemmas: readonly string[];
}

export interface FoldedText {
  /** One entry per text: ` word word word `, so that a phrase is a substring between spaces. */
  readonly phrases: readonly string[];
  readonly places: readonly (readonly FoldedPosition[])[];
  readonly lemmas: ReadonlySet<string>;
}

export function foldTexts(texts: readonly string[]): FoldedText {
  const sequences = texts.map(sequenceOf);
  const places = sequences.map((words) =>
    positionsIn(words).map(({ words, ...place }) => ({ ...place, lemmas: words.flatMap(lemmasOf) })),
  );
  return {
    phrases: sequences.map(({ words }) => ` ${words.join(' ')} `),
    places,
    lemmas: new Set(places.flatMap((ofText) => ofText.flatMap(({ lemmas }) => lemmas))),
  };
}

/**
 * Whether a text has the words in order, in any form, with no more words between them than allowed. If the first word
 * is negated or the last is denied (`isDenied`), this counts only for a phrase that itself has a negation.
 */
export function hasPhrase({ lemmas, places }: FoldedText, phrase: Phrase): boolean {
  if (!phrase.words.every(({ word }) => lemmasOf(word).some((lemma) => lemmas.has(lemma)))) return false;
  return places.some((ofText) => endsOf(phrase, ofText).length > 0);
}

/** Positions where the phrase ends. */
export function endsOf({ words, isNegation }: Phrase, places: readonly FoldedPosition[]): readonly number[] {
  let ends: readonly number[] = [];
  for (const [i, { word, gapMax }] of words.entries()) {
    const before = new Set(ends);
    const wanted = lemmasOf(word);
    const follows = (at: number) => {
      for (let gap = 0; gap <= gapMax; gap++) if (before.has(at - 1 - gap)) return true;
      return false;
    };
    const isSaid = (place: FoldedPosition) =>
      isNegation || !((i === 0 && place.isNegated) || (i === words.length - 1 && place.isDenied));
    const mayBeHere = (place: FoldedPosition, at: number) => isSaid(place) && (i === 0 || follows(at));
    ends = places.flatMap((place, at) =>
      mayBeHere(place, at) && wanted.some((lemma) => place.lemmas.includes(lemma)) ? [at] : [],
    );
  }
  return ends;
}
