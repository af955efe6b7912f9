/** The words of a search, looked for in title and description of a property and of the adverts that count. */

import { type Considered, type Evaluated, keyed, member } from './criterion-kinds.ts';
import type { InLanguages, Language } from './criterion-words.ts';
import { type ExpressionEntry, type Expressions, entryHolds, expressionsHold, isDenied } from './expressions.ts';
import type { AdvertFacts, PropertyFacts } from './property-facts.ts';
import { foldWords, isBlank } from './text.ts';
import { type FoldedText, foldTexts, type Place, phrasesOf, placesOf, shareLemma } from './word-phrases.ts';

type Asked = Readonly<Record<'expressions', Expressions>>;
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
        'the same nested, or a flat array of {word, includes, strict}. Groups are alternatives. What ' +
        'is not strict finds other forms, 100 m² for 100m2, and nothing behind a negation (sans ascenseur).',
      'Text conditions, as a bracketed query string.',
    ),
  },
  reads: ['texts'],
  isSet: ({ expressions }: Asked) => expressions.length > 0,
  holds: ({ expressions }: Asked, considered: Considered) => expressionsHold(expressions, foldedTextsOf(considered)),
  isUnknown: ({ facts, adverts }: Considered) => [facts, ...adverts].every(({ texts }) => texts.every(isBlank)),
  expected: ({ expressions }: Asked) => expressions,
  actual: textsOf,
  reason: expressionsReason,
  /** The texts are in the property's document; this finds the matching words, in their sentence, or else denied ones. */
  shown: ({ expected, actual }: ExpressionsEvaluated) => {
    const shown = (entry: ExpressionEntry) => {
      const found = foundWords(entry, actual);
      return { word: entry.word, found: found !== null, ...(found ?? deniedWords(entry, actual)) };
    };
    return { expected, actual: expected.map((group) => group.map(shown)) };
  },
} as const;

function textsOf({ facts, adverts }: Considered): readonly string[] {
  return [...facts.texts, ...adverts.flatMap((advert) => advert.texts)];
}

/** One property is evaluated against many searches, and folding takes longer than all the rest. */
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
  readonly holds: string;
  /** The text contains none of these; at least one is given. */
  readonly lacks: (quoted: readonly string[]) => string;
  readonly has: (quoted: readonly string[]) => string;
  /** The sentences in which it denies what is asked for. */
  readonly denies: (quoted: readonly string[]) => string;
  readonly quote: (word: string) => string;
}

const WORDS: InLanguages<Words> = {
  fr: {
    holds: "Le texte de l'annonce répond à ce qui est demandé.",
    lacks: (quoted) =>
      `Le texte de l'annonce ne contient ${quoted.length === 1 ? `pas ${quoted[0]}` : `ni ${quoted.join(', ni ')}`}.`,
    has: (quoted) => `Le texte de l'annonce contient ${listed(quoted, 'et')}, que la recherche exclut.`,
    denies: (quoted) => `Il dit le contraire : ${listed(quoted, 'et')}.`,
    quote: (word) => `«\u00a0${word}\u00a0»`,
  },
  en: {
    holds: 'The text of the advert says what is asked for.',
    lacks: (quoted) => `The text of the advert does not contain ${listed(quoted, 'or')}.`,
    has: (quoted) => `The text of the advert contains ${listed(quoted, 'and')}, which the search excludes.`,
    denies: (quoted) => `It says the contrary: ${listed(quoted, 'and')}.`,
    quote: (word) => `“${word}”`,
  },
};

function listed(quoted: readonly string[], last: string): string {
  return [quoted.slice(0, -1).join(', '), quoted.at(-1)].filter(Boolean).join(` ${last} `);
}

/** Enough to know what to change. */
const WORDS_SHOWN_MAX = 5;

function expressionsReason({ holds, expected, actual }: ExpressionsEvaluated, language: Language): string {
  const words = WORDS[language];
  const text = foldTexts(actual);
  if (holds) {
    const satisfied = expected.find((group) => group.every((entry) => entryHolds(entry, text))) ?? [];
    const sentences = sentencesOf(satisfied, (entry) =>
      entry.includes ? foundWords(entry, actual) : deniedWords(entry, actual),
    );
    return words.holds.replace(/\.$/, sentences.map((sentence) => ` ${words.quote(sentence)}`).join('') + '.');
  }
  // The alternative in which the fewest entries fail.
  const [nearest = []] = expected
    .map((group) => group.filter((entry) => !entryHolds(entry, text)))
    .sort((a, b) => a.length - b.length);
  const quoted = (entries: readonly ExpressionEntry[]): readonly string[] =>
    entries.slice(0, WORDS_SHOWN_MAX).map(({ word }) => words.quote(word));
  const [lacking, excluded] = [nearest.filter((entry) => entry.includes), nearest.filter((entry) => !entry.includes)];
  const denied = sentencesOf(lacking, (entry) => deniedWords(entry, actual)).map(words.quote);
  return [
    ...(lacking.length === 0 ? [] : [words.lacks(quoted(lacking))]),
    ...(denied.length === 0 ? [] : [words.denies(denied)]),
    ...(excluded.length === 0 ? [] : [words.has(quoted(excluded))]),
  ].join(' ');
}

interface FoundWords {
  readonly sentence: string;
  /** In the spelling of the text. */
  readonly words: readonly string[];
}

/** Full stops in abbreviations and numbers do not end a sentence. */
const SENTENCE = /[^\n]+?(?:[.!?]+(?=\s)|(?<=\p{Ll}{2}[.!?])(?=\p{Lu})|$)/gmu;
const WORD = /[\p{L}\p{M}\p{N}\p{Default_Ignorable_Code_Point}²]+/gu;
/** A sentence without an end is cut to this length around the first found word. */
const SENTENCE_LENGTH_MAX = 240;

function sentencesOf(
  entries: readonly ExpressionEntry[],
  find: (entry: ExpressionEntry) => FoundWords | null,
): readonly string[] {
  const sentences = entries.flatMap((entry) => find(entry)?.sentence ?? []);
  return [...new Set(sentences)].slice(0, WORDS_SHOWN_MAX);
}

/** The first occurrence; null without one. A phrase may continue across the end of a sentence. */
export function foundWords(entry: ExpressionEntry, texts: readonly string[]): FoundWords | null {
  const wanted = { ...entry, includes: true };
  return findWords(entry, texts, (text) => entryHolds(wanted, foldTexts([text])));
}

/** The first occurrence behind a negation, of a word that occurs nowhere else. */
function deniedWords(entry: ExpressionEntry, texts: readonly string[]): FoundWords | null {
  return isDenied(entry, foldTexts(texts))
    ? findWords(entry, texts, (text) => isDenied(entry, foldTexts([text])))
    : null;
}

function findWords(
  entry: ExpressionEntry,
  texts: readonly string[],
  isIn: (text: string) => boolean,
): FoundWords | null {
  const text = texts.find(isIn);
  if (text === undefined) return null;
  const sentences = text.match(SENTENCE) ?? [];
  const pairs = sentences.map((sentence, i) => sentence + (sentences[i + 1] ?? ''));
  return wordsIn([...sentences, ...pairs, text].find(isIn) as string, entry);
}

function wordsIn(sentence: string, { word, strict }: ExpressionEntry): FoundWords {
  const found = [...new Set(strict ? exactIn(sentence, foldWords(word)) : placesIn(sentence, word))];
  const start = Math.max(0, (found[0]?.index ?? 0) - SENTENCE_LENGTH_MAX / 2);
  const isLong = sentence.length > SENTENCE_LENGTH_MAX;
  const shown = isLong ? sentence.slice(start, start + SENTENCE_LENGTH_MAX).toWellFormed() : sentence;
  const within = isLong ? found.filter(({ index }) => index >= start && index < start + SENTENCE_LENGTH_MAX) : found;
  return { sentence: shown.trim(), words: [...new Set(within.map(([spelt]) => spelt))] };
}

function exactIn(sentence: string, words: readonly string[]): readonly RegExpExecArray[] {
  return [...sentence.matchAll(WORD)].filter(([spelt]) => foldWords(spelt).some((folded) => words.includes(folded)));
}

function placesIn(sentence: string, word: string): readonly RegExpExecArray[] {
  const searched = phrasesOf(word).flatMap(({ words }) => words.map((step) => step.word));
  // Of each folded word where it was.
  const spelt = [...sentence.matchAll(WORD)].flatMap((match) => foldWords(match[0]).map(() => match));
  const isFound = ({ words }: Place) => words.some((said) => searched.some((one) => shareLemma(one, said)));
  return placesOf(sentence)
    .filter(isFound)
    .flatMap(({ first, length }) => spelt.slice(first, first + length));
}
