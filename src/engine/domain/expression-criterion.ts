/** The criterion `expressions`: text conditions on the titles and descriptions of a property and its adverts. */

import { type Considered, type Evaluated, keyed, member } from './criterion-kinds.ts';
import type { InLanguages, Language } from './criterion-words.ts';
import { type ExpressionEntry, type Expressions, entryHolds, expressionsHold, isDenied } from './expressions.ts';
import type { AdvertFacts, PropertyFacts } from './property-facts.ts';
import { foldWords, isBlank } from './text.ts';
import {
  endsOf,
  type FoldedText,
  foldTexts,
  type Phrase,
  type Place,
  phrasesOf,
  positionsOf,
  shareLemma,
} from './word-phrases.ts';

type Requested = Readonly<Record<'expressions', Expressions>>;
type ExpressionsEvaluated = Evaluated<Expressions, readonly string[]>;

export const EXPRESSIONS = {
  kind: 'expressions',
  name: 'expressions',
  key: 'expressions',
  unset: keyed<'expressions', Expressions>('expressions', []),
  members: {
    expressions: member(
      'expressions',
      null,
      'Text conditions: expressions[<group>][<index>][word]=<text> with [options][includes] and [options][strict], ' +
        'the same nested, or a flat array of {word, includes, strict}. Groups are alternatives. A word that is not ' +
        'strict also finds its other forms (100 m² for 100m2), but none after a negation (sans ascenseur).',
      'Text conditions, as a bracketed query string.',
    ),
  },
  reads: ['texts'],
  isSet: ({ expressions }: Requested) => expressions.length > 0,
  holds: ({ expressions }: Requested, considered: Considered) =>
    expressionsHold(expressions, foldedTextsOf(considered)),
  isUnknown: ({ facts, adverts }: Considered) => [facts, ...adverts].every(({ texts }) => texts.every(isBlank)),
  expected: ({ expressions }: Requested) => expressions,
  actual: textsOf,
  reason: expressionsReason,
  /** For each entry, the words that the texts contain, with their sentence, or else the negated words. */
  shown: ({ expected, actual }: ExpressionsEvaluated) => {
    const texts = actual.map(readText);
    const shown = (entry: ExpressionEntry) => {
      const found = foundWords(entry, texts);
      return { word: entry.word, found: found !== null, ...(found ?? deniedWords(entry, texts)) };
    };
    return { expected, actual: expected.map((group) => group.map(shown)) };
  },
} as const;

function textsOf({ facts, adverts }: Considered): readonly string[] {
  return [...facts.texts, ...adverts.flatMap((advert) => advert.texts)];
}

/** A cache: a property is evaluated against many searches, and folding its texts takes longer than all other work. */
const folded = new WeakMap<readonly AdvertFacts[], { readonly facts: PropertyFacts; readonly text: FoldedText }>();

function foldedTextsOf(considered: Considered): FoldedText {
  const { adverts, facts } = considered;
  const known = folded.get(adverts);
  if (known?.facts === facts) return known.text;
  const text = foldTexts(textsOf(considered));
  folded.set(adverts, { facts, text });
  return text;
}

interface Words {
  /** `quoted`: the sentences that satisfy the expressions. */
  readonly holds: (quoted: readonly string[]) => string;
  /** `quoted`: the words that the text does not contain, at least one. */
  readonly lacks: (quoted: readonly string[]) => string;
  readonly has: (quoted: readonly string[]) => string;
  /** `quoted`: the sentences that negate the requested words. */
  readonly denies: (quoted: readonly string[]) => string;
  readonly quote: (word: string) => string;
}

const WORDS: InLanguages<Words> = {
  fr: {
    holds: (quoted) =>
      `Le texte de l'annonce répond à ce qui est demandé${quoted.length === 0 ? '' : `\u00a0: ${quoted.join(' ')}`}.`,
    lacks: (quoted) =>
      `Le texte de l'annonce ne contient ${quoted.length === 1 ? `pas ${quoted[0]}` : `ni ${quoted.join(', ni ')}`}.`,
    has: (quoted) => `Le texte de l'annonce contient ${listed(quoted, 'et')}, que la recherche exclut.`,
    denies: (quoted) => `Il dit le contraire : ${listed(quoted, 'et')}.`,
    quote: (word) => `«\u00a0${word}\u00a0»`,
  },
  en: {
    holds: (quoted) =>
      `The text of the advert satisfies the requested expressions${quoted.length === 0 ? '' : `: ${quoted.join(' ')}`}.`,
    lacks: (quoted) => `The text of the advert does not contain ${listed(quoted, 'or')}.`,
    has: (quoted) => `The text of the advert contains ${listed(quoted, 'and')}, which the search excludes.`,
    denies: (quoted) => `It says the opposite: ${listed(quoted, 'and')}.`,
    quote: (word) => `“${word}”`,
  },
};

function listed(quoted: readonly string[], last: string): string {
  return [quoted.slice(0, -1).join(', '), quoted.at(-1)].filter(Boolean).join(` ${last} `);
}

/** Maximum number of words or sentences in a part of an explanation. Five are enough to show what to change. */
const WORDS_SHOWN_MAX = 5;

function expressionsReason({ holds, expected, actual }: ExpressionsEvaluated, language: Language): string {
  const words = WORDS[language];
  const texts = actual.map(readText);
  const isHeld = (entry: ExpressionEntry): boolean => {
    const isHeldBy = ({ folded }: ReadText) => entryHolds(entry, folded);
    return entry.includes ? texts.some(isHeldBy) : texts.every(isHeldBy);
  };
  if (holds) {
    const satisfied = expected.find((group) => group.every(isHeld)) ?? [];
    const sentences = sentencesOf(satisfied, (entry) =>
      entry.includes ? foundWords(entry, texts) : deniedWords(entry, texts),
    );
    return words.holds(sentences.map(words.quote));
  }
  // Chooses the group with the fewest failing entries.
  const [nearest = []] = expected
    .map((group) => group.filter((entry) => !isHeld(entry)))
    .sort((a, b) => a.length - b.length);
  const quoted = (entries: readonly ExpressionEntry[]): readonly string[] =>
    entries.slice(0, WORDS_SHOWN_MAX).map(({ word }) => words.quote(word));
  const [lacking, excluded] = [nearest.filter((entry) => entry.includes), nearest.filter((entry) => !entry.includes)];
  const denied = sentencesOf(lacking, (entry) => deniedWords(entry, texts)).map(words.quote);
  return [
    ...(lacking.length === 0 ? [] : [words.lacks(quoted(lacking))]),
    ...(denied.length === 0 ? [] : [words.denies(denied)]),
    ...(excluded.length === 0 ? [] : [words.has(quoted(excluded))]),
  ].join(' ');
}

interface FoundWords {
  readonly sentence: string;
  /** As written in the text. */
  readonly words: readonly string[];
}

/** A sentence ends at a new line, and at `.!?` before white space or between two lower-case letters and a capital. */
const SENTENCE_END = /(?<=[.!?])(?=\s)|(?<=\p{Ll}{2}[.!?])(?=\p{Lu})|(?<=\n)/u;
/** The sentence is searched for within this many characters around the words found. */
const SOUGHT_LENGTH = 1_000;
const WORD = /[\p{L}\p{M}\p{N}\p{Default_Ignorable_Code_Point}²]+/gu;
/** Spaces and ASCII punctuation always separate words, regardless of the characters next to them. */
const PIECES = /[^\s!-/:-@[-`{-~]+/g;
/** A longer sentence is cut to this many characters around the first word found. */
const SENTENCE_LENGTH_MAX = 240;

function sentencesOf(
  entries: readonly ExpressionEntry[],
  find: (entry: ExpressionEntry) => FoundWords | null,
): readonly string[] {
  const sentences = new Set<string>();
  for (const entry of entries) {
    const sentence = find(entry)?.sentence;
    if (sentence !== undefined) sentences.add(sentence);
    if (sentences.size === WORDS_SHOWN_MAX) break;
  }
  return [...sentences];
}

/** A text that is folded once for all entries, because the text may be long and the entries many. */
export interface ReadText {
  readonly text: string;
  readonly folded: FoldedText;
  /** Offset in `text` of the piece (see `PIECES`) that contains a folded word, by the word's number. */
  readonly startOf: (word: number) => number;
}

export function readText(text: string): ReadText {
  let starts: readonly number[] | null = null;
  const startOf = (word: number) => (starts ??= startsOf(text))[word] ?? 0;
  return { text, folded: foldTexts([text]), startOf };
}

function startsOf(text: string): readonly number[] {
  return [...text.matchAll(PIECES)].flatMap(({ 0: piece, index }) => foldWords(piece).map(() => index));
}

/** The first occurrence of an entry; null if there is none. It may span two sentences. */
export function foundWords(entry: ExpressionEntry, texts: readonly ReadText[]): FoundWords | null {
  const wanted = { ...entry, includes: true };
  return findWords(entry, texts, (text) => entryHolds(wanted, text));
}

/** The first negated occurrence, if every occurrence is negated; otherwise null. */
function deniedWords(entry: ExpressionEntry, texts: readonly ReadText[]): FoundWords | null {
  const isSaid = texts.some(({ folded }) => entryHolds({ ...entry, includes: true }, folded));
  return isSaid ? null : findWords(entry, texts, (text) => isDenied(entry, text));
}

function findWords(
  entry: ExpressionEntry,
  texts: readonly ReadText[],
  isIn: (text: FoldedText) => boolean,
): FoundWords | null {
  const read = texts.find(({ folded }) => isIn(folded));
  if (read === undefined) return null;
  const end = read.startOf(lastWordOf(entry, read.folded));
  const start = Math.max(0, end - SOUGHT_LENGTH / 2);
  const around = read.text.slice(start, start + SOUGHT_LENGTH);
  const sentences = around.split(SENTENCE_END);
  let length = start;
  const at = sentences.findIndex((sentence) => (length += sentence.length) > end);
  const candidates = [sentences[at] ?? '', `${sentences[at - 1] ?? ''}${sentences[at] ?? ''}`];
  return wordsIn(candidates.find((sentence) => isIn(foldTexts([sentence]))) ?? around, entry);
}

/** Number of the folded word that ends the first occurrence in the text. */
function lastWordOf(
  { word, strict }: ExpressionEntry,
  { phrases: [text = ''], places: [places = []] }: FoldedText,
): number {
  if (strict) {
    const exact = foldWords(word);
    return text.slice(0, text.indexOf(` ${exact.join(' ')} `)).split(' ').length + exact.length - 2;
  }
  const endsIn = (phrases: readonly Phrase[]) => phrases.flatMap((phrase) => endsOf(phrase, places).slice(0, 1));
  const found = endsIn(phrasesOf(word));
  const ends = found.length > 0 ? found : endsIn(phrasesOf(word).map((phrase) => ({ ...phrase, isNegation: true })));
  return places[Math.min(...ends)]?.first ?? 0;
}

function wordsIn(sentence: string, { word, strict }: ExpressionEntry): FoundWords {
  const found = [...new Set(strict ? exactIn(sentence, foldWords(word)) : positionsIn(sentence, word))];
  const start = Math.max(0, (found[0]?.index ?? 0) - SENTENCE_LENGTH_MAX / 2);
  const isLong = sentence.length > SENTENCE_LENGTH_MAX;
  const shown = isLong ? sentence.slice(start, start + SENTENCE_LENGTH_MAX).toWellFormed() : sentence;
  const within = isLong ? found.filter(({ index }) => index >= start && index < start + SENTENCE_LENGTH_MAX) : found;
  return { sentence: shown.trim(), words: [...new Set(within.map(([spelt]) => spelt))] };
}

function exactIn(sentence: string, words: readonly string[]): readonly RegExpExecArray[] {
  return [...sentence.matchAll(WORD)].filter(([spelt]) => foldWords(spelt).some((folded) => words.includes(folded)));
}

function positionsIn(sentence: string, word: string): readonly RegExpExecArray[] {
  const searched = phrasesOf(word).flatMap(({ words }) => words.flatMap(({ word, isLink }) => (isLink ? [] : word)));
  // For each folded word, its match in the sentence.
  const spelt = [...sentence.matchAll(WORD)].flatMap((match) => foldWords(match[0]).map(() => match));
  const isFound = ({ words }: Place) => words.some((found) => searched.some((one) => shareLemma(one, found)));
  return positionsOf(sentence)
    .filter(isFound)
    .flatMap(({ first, length }) => spelt.slice(first, first + length));
}
