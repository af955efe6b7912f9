/**
 * What a non-strict entry looks for (decisions, section 2): its words in order, each in one of its forms, with at most
 * two others between neighbours; or another spelling of them, whose words are adjacent. Numbers and negations are read by
 * `lenient-words.ts`.
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
  /** Other words that may stand between the word before and this one. */
  readonly gapMax: number;
  /** No entry asks for it: it joins what stands between. */
  readonly isLink?: boolean;
}

export interface Phrase {
  /** At least one. */
  readonly words: readonly PhraseWord[];
  /** It is found behind negations too. */
  readonly isNegation: boolean;
}

/** Other words between neighbours: *vue mer* is in "vue sur la mer". */
export const GAP_MAX = 2;

const SPLIT_SPELLINGS: readonly (readonly (readonly string[])[])[] = SPELLINGS.map((spellings) =>
  spellings.map((spelling) => spelling.split(/[ ']/)),
);

/** Alternatives of one entry at most. */
const PHRASES_MAX = 16;

/** A cache: searches use the same few thousand phrases. */
const known = new LRUCache<string, readonly Phrase[]>({ max: 10_000 });

/** Any of them suffices; none for a text without a word. */
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
  const places = placesIn(sequence);
  let phrases: PhraseWord[][] = places.length === 0 ? [] : [[]];
  for (let at = 0; at < places.length; ) {
    const spelled = spellingsAt(places, at) ?? { parts: partsOf(places[at] as Place), length: 1 };
    const adjacent = spelled.parts.map((part) => part.map((word, i) => ({ word, gapMax: i > 0 ? 0 : GAP_MAX })));
    const { parts, length } = widerAt(places, at) ?? { parts: adjacent, length: spelled.length };
    phrases = phrases.flatMap((phrase) => parts.map((part) => [...phrase, ...part])).slice(0, PHRASES_MAX);
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

/** Words between which one more may stand where a link is among them: *cuisine aménagée et bien équipée*. */
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

/** The words of a text between which other words count as one. */
export interface Place {
  /** What is said here; the first is what an entry asks for. */
  readonly words: readonly string[];
  /** See `NumberRead`. */
  readonly apart: string | null;
  /** Among the folded words. */
  readonly first: number;
  readonly length: number;
  readonly isNegated: boolean;
  /** *: non* follows. */
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

export function placesOf(text: string): readonly Place[] {
  return placesIn(sequenceOf(text));
}

function placesIn(words: WordSequence): readonly Place[] {
  const places: Place[] = [];
  let negatedEnd = -1;
  for (let at = 0; at < words.length; ) {
    const kind = words.kindAt(at);
    const isNegated = at <= negatedEnd;
    const number = kind === PLAIN || kind === NEGATION ? null : numberAt(words, at);
    if (mayNegate(kind, number?.word)) negatedEnd = Math.max(negatedEnd, negatedUpTo(words, at));
    const said = number === null ? [words.wordAt(at)] : [number.word, ...number.others];
    const length = number?.length ?? 1;
    const isDenied = isDeniedBefore(words, at + length);
    places.push({ words: said, apart: number?.apart ?? null, first: at, length, isNegated, isDenied });
    at += length;
  }
  return places;
}

function partsOf({ words, apart }: Place): readonly (readonly string[])[] {
  const word = words.slice(0, 1);
  return apart === null ? [word] : [word, [apart]];
}

interface Spelled {
  /** The words as they are first, then in the other spellings. */
  readonly parts: readonly (readonly string[])[];
  /** Places that they stand for. */
  readonly length: number;
}

function spellingsAt(places: readonly Place[], at: number): Spelled | null {
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

interface FoldedPlace {
  /** Of all that is said there. */
  readonly lemmas: readonly string[];
  readonly first: number;
  readonly isNegated: boolean;
  readonly isDenied: boolean;
}

export interface FoldedText {
  /** One entry per text: ` word word word `, so that a phrase is a substring with spaces round it. */
  readonly phrases: readonly string[];
  /** Of each text. */
  readonly places: readonly (readonly FoldedPlace[])[];
  /** The lemmas of all places. */
  readonly lemmas: ReadonlySet<string>;
}

export function foldTexts(texts: readonly string[]): FoldedText {
  const sequences = texts.map(sequenceOf);
  const places = sequences.map((words) =>
    placesIn(words).map(({ words, ...place }) => ({ ...place, lemmas: words.flatMap(lemmasOf) })),
  );
  return {
    phrases: sequences.map(({ words }) => ` ${words.join(' ')} `),
    places,
    lemmas: new Set(places.flatMap((ofText) => ofText.flatMap(({ lemmas }) => lemmas))),
  };
}

/** Whether forms of the words are in one text, in order, with no more words between them than there may be. */
export function hasPhrase({ lemmas, places }: FoldedText, phrase: Phrase): boolean {
  if (!phrase.words.every(({ word }) => lemmasOf(word).some((lemma) => lemmas.has(lemma)))) return false;
  return places.some((ofText) => endsOf(phrase, ofText).length > 0);
}

/** Places with which the phrase ends. */
export function endsOf({ words, isNegation }: Phrase, places: readonly FoldedPlace[]): readonly number[] {
  let ends: readonly number[] = [];
  for (const [i, { word, gapMax }] of words.entries()) {
    const before = new Set(ends);
    const wanted = lemmasOf(word);
    const follows = (at: number) => {
      for (let gap = 0; gap <= gapMax; gap++) if (before.has(at - 1 - gap)) return true;
      return false;
    };
    const isSaid = (place: FoldedPlace) =>
      isNegation || !((i === 0 && place.isNegated) || (i === words.length - 1 && place.isDenied));
    const mayBeHere = (place: FoldedPlace, at: number) => isSaid(place) && (i === 0 || follows(at));
    ends = places.flatMap((place, at) =>
      mayBeHere(place, at) && wanted.some((lemma) => place.lemmas.includes(lemma)) ? [at] : [],
    );
  }
  return ends;
}
