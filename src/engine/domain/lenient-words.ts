/**
 * Reads the words of a text for expressions that are not strict (decisions, section 2). A number and its unit are one
 * word, regardless of grouping and spelling. Words after a negation count as absent.
 */

import {
  CONJUNCTIONS,
  DE,
  HORS,
  MEMBER_STARTS,
  NEGATED_BY_HORS,
  NEGATED_THROUGH,
  NEGATIONS_OF_TWO,
  NEGATIONS_WITH_DE,
  NON,
  NOT_NEGATED_BY_NON,
  NOT_ROOMS,
  NUMBER_PARTS,
  PAS,
  ROOM_LETTERS,
  ROOMS,
  STEPS_BEFORE,
  STEPS_BEHIND,
  UNITS,
  type Unit,
  WRITTEN_NUMBERS,
  ZERO,
  ZERO_DIGIT,
} from './spellings.ts';
import { BLANK, BLANKS, COLON, COMMA, HYPHEN, POINT } from './text.ts';

/** Folded words in order. */
export interface WordSequence {
  readonly length: number;
  /** The word at this position; empty after the last word. */
  wordAt(at: number): string;
  /** The kind of the word (see `kindOf`). */
  kindAt(at: number): number;
  /** The separator before the word (see `text.ts`). */
  joinAt(at: number): number;
}

/** A word of no other kind. */
export const PLAIN = 0;
export const NEGATION = 1;
const DIGITS = 2;
/** For example `100m2`. */
const DIGITS_WITH_UNIT = 3;
const WRITTEN = 4;
/** For example `t3`. */
const ROOM_COUNT = 5;
const ROOM_LETTER = 6;

/** A number with more digits is a plain word. No surface or price has as many, and the limit keeps reading linear. */
const DIGITS_MAX = 15;
const NUMBER = /^(\d{1,15})([a-z]\w*)?$/;
const NEGATIONS: ReadonlySet<string> = new Set([...NEGATIONS_OF_TWO, ...NEGATIONS_WITH_DE, NON, ZERO, HORS]);

export function kindOf(word: string): number {
  if (NEGATIONS.has(word)) return NEGATION;
  if (WRITTEN_NUMBERS.has(word)) return WRITTEN;
  if (ROOM_LETTERS.has(word)) return ROOM_LETTER;
  if (/^[tf]\d{1,2}$/.test(word)) return ROOM_COUNT;
  const [, digits, unit] = NUMBER.exec(word) ?? [];
  if (digits === undefined) return PLAIN;
  if (unit === undefined) return DIGITS;
  return unitOfWord.has(unit) ? DIGITS_WITH_UNIT : PLAIN;
}

interface Spelled {
  readonly unit: Unit;
  readonly words: readonly string[];
}

const unitOfWord = new Map<string, Unit>();
/** Spellings of units by their first word, the longest first. */
const unitsByWord = new Map<string, Spelled[]>();
for (const unit of UNITS) {
  for (const spelling of unit.spellings) {
    const words = spelling.split(' ');
    const [first = ''] = words;
    if (words.length === 1) unitOfWord.set(first, unit);
    const others = unitsByWord.get(first) ?? [];
    unitsByWord.set(
      first,
      [...others, { unit, words }].sort((a, b) => b.words.length - a.words.length),
    );
  }
}

export interface NumberRead {
  /** The number with its unit, such as `2chambre`. */
  readonly word: string;
  /** Other words at this position: the unit, or the number with the word that it counts (*2 belles chambres*). */
  readonly others: readonly string[];
  /** The word for the number if adjectives separate it from a counted unit (see `apartOf`); null if there is none. */
  readonly apart: string | null;
  /** Number of folded words of the number and its unit. */
  readonly length: number;
}

/** The number that begins at `at`. Null if there is none, or if the word is part of a larger number. */
export function numberAt(words: WordSequence, at: number): NumberRead | null {
  switch (words.kindAt(at)) {
    case ROOM_COUNT:
      return roomsOf(words.wordAt(at).slice(1), 1);
    case ROOM_LETTER: {
      const isCount = words.kindAt(at + 1) === DIGITS && isClose(words, at + 1) && words.wordAt(at + 1).length <= 2;
      return isCount ? roomsOf(words.wordAt(at + 1), 2) : null;
    }
    case WRITTEN:
      return isPart(words, at, at - 1) || isPart(words, at + 1, at + 1)
        ? null
        : withUnit(words, at, { value: WRITTEN_NUMBERS.get(words.wordAt(at)) as string, unit: null, end: at + 1 });
    case DIGITS:
    case DIGITS_WITH_UNIT: {
      const digits = digitsAt(words, at);
      return digits.count > DIGITS_MAX ? plainWord(words, at, digits.end) : withUnit(words, at, digits);
    }
    default:
      return null;
  }
}

function roomsOf(count: string, length: number): NumberRead {
  return { word: count + ROOMS, others: [], apart: null, length };
}

function plainWord(words: WordSequence, at: number, end: number): NumberRead {
  const parts = Array.from({ length: end - at }, (_, i) => words.wordAt(at + i));
  return { word: parts.join(''), others: [], apart: null, length: end - at };
}

/** Whether the word can be part of a number and only spaces or a hyphen (at `join`) separate it from the number. */
function isPart(words: WordSequence, join: number, at: number): boolean {
  return isClose(words, join) && NUMBER_PARTS.has(words.wordAt(at));
}

function isClose(words: WordSequence, at: number): boolean {
  const join = words.joinAt(at);
  return at > 0 && at < words.length && (join === BLANK || join === BLANKS || join === HYPHEN);
}

interface Digits {
  readonly value: string;
  readonly unit: Unit | null;
  readonly end: number;
}

const GROUP = 3;

/** `count`: the number of digits. */
function digitsAt(words: WordSequence, at: number): Digits & { readonly count: number } {
  let { value, unit } = partAt(words, at);
  let end = at + 1;
  const separator = words.joinAt(end);
  if (value.length <= GROUP && !value.startsWith('0') && [BLANK, POINT, COMMA].includes(separator)) {
    while (unit === null && words.joinAt(end) === separator && isNumeric(words, end)) {
      const group = partAt(words, end);
      if (group.value.length !== GROUP) break;
      value += group.value;
      ({ unit } = group);
      end += 1;
    }
  }
  const point = words.joinAt(end);
  if (unit === null && (point === COMMA || point === POINT) && isNumeric(words, end)) {
    const decimals = partAt(words, end);
    const count = value.length + decimals.value.length;
    value = `${value}.${decimals.value}`.replace(/\.?0{1,15}$/, '');
    return { value, unit: decimals.unit, end: end + 1, count };
  }
  return { value, unit, end, count: value.length };
}

function isNumeric(words: WordSequence, at: number): boolean {
  const kind = words.kindAt(at);
  return at < words.length && (kind === DIGITS || kind === DIGITS_WITH_UNIT);
}

function partAt(words: WordSequence, at: number): { value: string; unit: Unit | null } {
  const word = words.wordAt(at);
  if (words.kindAt(at) === DIGITS) return { value: word, unit: null };
  const [, value = '', unit = ''] = NUMBER.exec(word) ?? [];
  return { value, unit: unitOfWord.get(unit) ?? null };
}

function withUnit(words: WordSequence, at: number, { value, unit: glued, end }: Digits): NumberRead | null {
  const spelled = glued === null && isClose(words, end) ? unitAt(words, end) : null;
  const unit = glued ?? spelled?.unit ?? null;
  const last = end + (spelled?.words.length ?? 0);
  if (unit !== null && isUnit(words, unit, last)) {
    const apart = unit.isCounted ? apartOf(value, unit) : null;
    return { word: value + unit.name, others: [unit.word], apart, length: last - at };
  }
  return glued === null
    ? { word: value, others: countedBehind(words, end, value), apart: null, length: end - at }
    : null;
}

/** `next`: the position after the unit. */
function isUnit(words: WordSequence, { name }: Unit, next: number): boolean {
  if (name !== ROOMS) return true;
  return NOT_ROOMS.some((word, i) => words.wordAt(next + i) !== word || !isClose(words, next + i));
}

function unitAt(words: WordSequence, at: number): Spelled | null {
  const isHere = (spelled: Spelled) =>
    spelled.words.every((word, i) => words.wordAt(at + i) === word && (i === 0 || isClose(words, at + i)));
  return unitsByWord.get(words.wordAt(at))?.find(isHere) ?? null;
}

const ADJECTIVES_MAX = 2;

/** The number combined with the word that it counts (*2 belles chambres*); empty if it counts none. */
function countedBehind(words: WordSequence, end: number, value: string): readonly string[] {
  for (let at = end; at <= end + ADJECTIVES_MAX && isClose(words, at) && words.kindAt(at) === PLAIN; at++) {
    const unit = unitOfWord.get(words.wordAt(at));
    const isPlural = words.wordAt(at).endsWith('s');
    if (unit?.isCounted && isUnit(words, unit, at + 1) && isPlural === (value !== '1')) return [apartOf(value, unit)];
  }
  return [];
}

function apartOf(value: string, unit: Unit): string {
  return `${value}~${unit.name}`;
}

/** Whether a negation begins at this position. The word alone is not enough: *pas* also means a step. */
export function isNegationAt(words: WordSequence, at: number): boolean {
  return mayNegate(words.kindAt(at), words.wordAt(at)) && negatedUpTo(words, at) >= at;
}

/** Whether a negation may begin here (see `negatedUpTo`). `word`: the word or, if it begins a number, the number. */
export function mayNegate(kind: number, word: string | undefined): boolean {
  return kind === NEGATION || word === ZERO_DIGIT;
}

/** Position of the last word that the negation at `at` covers; less than `at` if no negation begins there. */
export function negatedUpTo(words: WordSequence, at: number): number {
  const word = words.wordAt(at);
  const next = words.wordAt(at + 1);
  if (word === HORS) return isJoined(words, at + 1) && NEGATED_BY_HORS.has(next) ? at + 1 : at - 1;
  if (word === NON && NOT_NEGATED_BY_NON.has(next) && isClose(words, at + 1)) return at - 1;
  if (word === NON && words.joinAt(at + 1) === HYPHEN) return throughFrom(words, at + 1);
  if (word === ZERO_DIGIT && (!isJoined(words, at + 1) || isNumberOrUnit(words, at + 1))) return at - 1;
  if (NEGATIONS_WITH_DE.has(word)) {
    const isStep = word === PAS && (isStepBefore(words, at) || isStepBehind(words, at + 2));
    return isStep || !isJoined(words, at + 1) || !DE.has(next) ? at - 1 : negatedFrom(words, at + 1);
  }
  const end = negatedFrom(words, at);
  return NEGATIONS_OF_TWO.has(word) ? secondMemberUpTo(words, end) : end;
}

/** Maximum number of `NEGATED_THROUGH` words in a row. No sentence has more, and a longer run takes quadratic time. */
const THROUGH_MAX = 8;

/** Position of the last word that a negation covers. `at`: position of the negation's own last word. */
function negatedFrom(words: WordSequence, at: number): number {
  return isJoined(words, at + 1) ? throughFrom(words, at + 1) : at;
}

/** `first`: position of the first negated word. */
function throughFrom(words: WordSequence, first: number): number {
  let end = first;
  while (end < first + THROUGH_MAX && NEGATED_THROUGH.has(words.wordAt(end)) && isJoined(words, end + 1)) end += 1;
  return end;
}

/**
 * Position of the last word that a negation of two members covers, such as *terrasse* in *sans balcon ni terrasse*. If
 * a number, an article or a preposition follows (*et 2 chambres*), this is `end`, the end of the first member.
 */
function secondMemberUpTo(words: WordSequence, end: number): number {
  const [conjunction, first] = [end + 1, end + 2];
  const isMember =
    isJoined(words, conjunction) &&
    CONJUNCTIONS.has(words.wordAt(conjunction)) &&
    isJoined(words, first) &&
    !MEMBER_STARTS.has(words.wordAt(first)) &&
    numberAt(words, first) === null;
  return isMember ? throughFrom(words, first) : end;
}

/** Whether *: non* or *: 0* follows the words that end before this position. */
export function isDeniedBefore(words: WordSequence, at: number): boolean {
  if (words.joinAt(at) !== COLON || at >= words.length) return false;
  return words.wordAt(at) === NON || (isNumeric(words, at) && digitsAt(words, at).value === ZERO_DIGIT);
}

function isNumberOrUnit(words: WordSequence, at: number): boolean {
  return numberAt(words, at) !== null || unitAt(words, at) !== null;
}

function isStepBefore(words: WordSequence, at: number): boolean {
  return isJoined(words, at) && (STEPS_BEFORE.has(words.wordAt(at - 1)) || words.kindAt(at - 1) === DIGITS);
}

function isStepBehind(words: WordSequence, at: number): boolean {
  return isJoined(words, at) && STEPS_BEHIND.has(words.wordAt(at));
}

/** Whether only spaces separate the words: a hyphen forms another word, and punctuation ends a negation. */
function isJoined(words: WordSequence, at: number): boolean {
  const join = words.joinAt(at);
  return at > 0 && at < words.length && (join === BLANK || join === BLANKS);
}
