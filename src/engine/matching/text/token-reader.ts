/**
 * Reads the words of adverts as codes of searched words and terms. Letters are folded one by one. Texts with letters
 * that do not fold to ASCII, or with very long words, are read by `foldWordsJoined`.
 */

import {
  isDeniedBefore,
  mayNegate,
  NEGATION,
  negatedUpTo,
  numberAt,
  PLAIN,
  type WordSequence,
} from '../../domain/lenient-words.ts';
import {
  BREAK,
  foldWordsJoined,
  IRREGULAR,
  isSeparatorPair,
  joinAfter,
  joinOfUnit,
  LETTERS,
  LIGATURE,
  letterOf,
  lettersOf,
  NOTHING,
  SEPARATOR,
  SILENT,
} from '../../domain/text.ts';
import type { CodeTable } from '../code-table.ts';
import type { PhraseTable } from './phrase-table.ts';
import type { TermTable } from './term-table.ts';
import { HASH_START, hashed, TokenTable, WORD_INTEGERS, WORD_LENGTH_MAX } from './token-table.ts';

const GENERATION_MAX = 2 ** 30 - 1;

/** A list of integers, whose memory is reused for the next text. */
class IntegerList {
  integers = new Int32Array(1024);
  length = 0;

  /** Makes room for `more` integers, and returns the array. */
  reserve(more: number): Int32Array {
    const needed = this.length + more;
    if (needed > this.integers.length) {
      const longer = new Int32Array(2 * needed);
      longer.set(this.view);
      this.integers = longer;
    }
    return this.integers;
  }

  push(integer: number): void {
    if (this.length === this.integers.length) this.reserve(1);
    this.integers[this.length] = integer;
    this.length += 1;
  }

  get view(): Int32Array {
    return this.integers.subarray(0, this.length);
  }
}

/** Number of integers per entry of `occurrences`: four times a word's position plus the marks below, and a term. */
export const OCCURRENCE = 2;
/** Mark of a word that follows a negation. */
export const NEGATED = 1;
/** Mark of a word before *: non* or *: 0*. */
export const DENIED = 2;

export class TokenReader implements WordSequence {
  readonly #table: TokenTable;
  readonly #terms: TermTable;
  readonly #word = new Int32Array(WORD_INTEGERS);
  readonly #letters = new Uint8Array(this.#word.buffer);
  /** Words of the current text. */
  readonly #tokens = new IntegerList();
  readonly #joins = new IntegerList();
  readonly #codes = new IntegerList();
  readonly #starts = new IntegerList();
  readonly #termList = new IntegerList();
  readonly #occurrences = new IntegerList();
  #place = 0;
  /** By term, twice the generation in which it last occurred, plus one if it occurred without a negation. */
  #termSeenIn = new Int32Array(1024);
  #generation = 0;

  constructor(words: CodeTable, phrases: PhraseTable, terms: TermTable) {
    this.#table = new TokenTable(words, phrases, terms);
    this.#terms = terms;
  }

  /** Changes whenever a text may be read differently from before. */
  get revision(): number {
    return this.#table.revision;
  }

  /** Codes of the words in order, 0 for words in no strict entry, and each text's `end`. Valid until the next text. */
  get codes(): Int32Array {
    return this.#codes.view;
  }

  /** For each word that begins a phrase, its position in `codes` and the code of the phrase. */
  get starts(): Int32Array {
    return this.#starts.view;
  }

  /** Codes of the terms that occur, negated or not, and of the single words in numbers, without duplicates. */
  get terms(): Int32Array {
    return this.#termList.view;
  }

  get occurrences(): Int32Array {
    return this.#occurrences.view;
  }

  /** Whether the term occurs without a negation. */
  hasTerm(code: number): boolean {
    return this.#termSeenIn[code] === 2 * this.#generation + 1;
  }

  /** Forgets the texts that were read. */
  restart(): void {
    if (this.#terms.end > this.#termSeenIn.length) this.#termSeenIn = new Int32Array(2 * this.#terms.end);
    if (this.#generation === GENERATION_MAX) {
      this.#termSeenIn.fill(0);
      this.#generation = 0;
    }
    this.#generation += 1;
    for (const list of [this.#codes, this.#starts, this.#termList, this.#occurrences]) list.length = 0;
    this.#place = 0;
  }

  /** Adds the words of a text, and `end`, which is no word's code. No phrase with gaps up to `gapMax` crosses it. */
  read(text: string, end: number, gapMax: number): void {
    this.#table.prepare();
    this.#tokens.length = 0;
    this.#joins.length = 0;
    if (!this.#spell(text)) this.#fold(text);
    this.#collectWords();
    this.#codes.push(end);
    this.#collectPlaces();
    this.#place += gapMax + 1;
  }

  get length(): number {
    return this.#tokens.length;
  }

  wordAt(at: number): string {
    return at < this.#tokens.length ? this.#table.spellingOf(this.#tokens.integers[at] as number) : '';
  }

  kindAt(at: number): number {
    return at < this.#tokens.length ? this.#table.kindOf(this.#tokens.integers[at] as number) : PLAIN;
  }

  joinAt(at: number): number {
    return at < this.#joins.length ? (this.#joins.integers[at] as number) : BREAK;
  }

  /** Reads the words of a text. False if only `foldWordsJoined` can read them. */
  #spell(text: string): boolean {
    const known = LETTERS;
    const letters = this.#letters;
    let length = 0;
    let join = BREAK;
    for (let at = 0; at <= text.length; at++) {
      const unit = at < text.length ? text.charCodeAt(at) : TEXT_END;
      const letter = (known[unit] as number) || letterOf(unit);
      if (letter > IRREGULAR) {
        if (length === WORD_LENGTH_MAX) return false;
        letters[length] = letter;
        length += 1;
      } else if (letter === SEPARATOR || (letter === IRREGULAR && isSeparatorAt(text, at))) {
        if (length > 0) {
          this.#addWord(length, join);
          length = 0;
          join = NOTHING;
        }
        join = joinAfter(join, letter === SEPARATOR ? joinOfUnit(unit) : BREAK);
      } else if (letter === LIGATURE) {
        const several = lettersOf(unit);
        if (length + several.length > WORD_LENGTH_MAX) return false;
        for (let i = 0; i < several.length; i++) letters[length + i] = several.charCodeAt(i);
        length += several.length;
      } else if (letter !== SILENT) return false;
    }
    return true;
  }

  #fold(text: string): void {
    this.#tokens.length = 0;
    this.#joins.length = 0;
    const { words, joins } = foldWordsJoined(text);
    for (const [i, word] of words.entries()) {
      this.#tokens.push(this.#tokenOfString(word));
      this.#joins.push(joins[i] as number);
    }
  }

  /** Adds the word whose letters are in `#letters`. */
  #addWord(length: number, join: number): void {
    this.#tokens.push(this.#tokenOfLetters(length));
    this.#joins.push(join);
  }

  #tokenOfLetters(length: number): number {
    const integers = this.#word;
    // Pads the last integer with zeros.
    for (let at = length; (at & 3) !== 0; at++) this.#letters[at] = 0;
    let hash = HASH_START;
    for (let at = 0; 4 * at < length; at++) hash = hashed(hash, integers[at] as number);
    return this.#table.tokenOf(integers, length, hash);
  }

  #tokenOfString(word: string): number {
    if (word.length > WORD_LENGTH_MAX || !IS_ASCII.test(word)) return this.#table.tokenOfString(word);
    for (let i = 0; i < word.length; i++) this.#letters[i] = word.charCodeAt(i);
    return this.#tokenOfLetters(word.length);
  }

  /** Collects the codes of words, for strict entries. */
  #collectWords(): void {
    const { length, integers: tokens } = this.#tokens;
    const codes = this.#codes.reserve(length);
    for (let at = 0; at < length; at++) {
      const token = tokens[at] as number;
      const phrase = this.#table.phraseOf(token);
      if (phrase !== 0) {
        this.#starts.push(this.#codes.length + at);
        this.#starts.push(phrase);
      }
      codes[this.#codes.length + at] = this.#table.wordOf(token);
    }
    this.#codes.length += length;
  }

  /** Collects the occurrences of terms, for all other entries. */
  #collectPlaces(): void {
    const { length, integers: tokens } = this.#tokens;
    let negatedEnd = -1;
    for (let at = 0; at < length; ) {
      const token = tokens[at] as number;
      const kind = this.#table.kindOf(token);
      const number = kind === PLAIN || kind === NEGATION ? null : numberAt(this, at);
      const isDenied = isDeniedBefore(this, at + (number?.length ?? 1));
      const marks = (at <= negatedEnd ? NEGATED : 0) + (isDenied ? DENIED : 0);
      if (mayNegate(kind, number?.word)) negatedEnd = Math.max(negatedEnd, negatedUpTo(this, at));
      if (number === null) {
        this.#addTerms(token, marks);
        at += 1;
      } else {
        // Also notes the single words, by which the index finds searches with strict entries.
        for (const end = at + number.length; at < end; at++) this.#noteTerms(tokens[at] as number);
        this.#addTerms(this.#tokenOfString(number.word), marks);
        for (const word of number.others) this.#addTerms(this.#tokenOfString(word), marks);
      }
      this.#place += 1;
    }
  }

  #addTerms(token: number, marks: number): void {
    const term = this.#table.termOf(token);
    if (term > 0) this.#addTerm(term, marks);
    else if (term < 0) for (const one of this.#table.termsOf(token)) this.#addTerm(one, marks);
  }

  #addTerm(term: number, marks: number): void {
    this.#noteTerm(term);
    if (marks === 0) this.#termSeenIn[term] = 2 * this.#generation + 1;
    this.#occurrences.push(4 * this.#place + marks);
    this.#occurrences.push(term);
  }

  #noteTerms(token: number): void {
    const term = this.#table.termOf(token);
    if (term > 0) this.#noteTerm(term);
    else if (term < 0) for (const one of this.#table.termsOf(token)) this.#noteTerm(one);
  }

  #noteTerm(term: number): void {
    if ((this.#termSeenIn[term] as number) >= 2 * this.#generation) return;
    this.#termSeenIn[term] = 2 * this.#generation;
    this.#termList.push(term);
  }
}

/** A space, which ends the last word. */
const TEXT_END = 0x20;
const IS_ASCII = /^[\x20-\x7e]*$/;
const HIGH_SURROGATES = 0xd800;
const LOW_SURROGATES = 0xdc00;
const SURROGATES_END = 0xe000;

/** Whether a surrogate ends a word. An unpaired surrogate does, and so does a pair that is a sign, such as an emoji. */
function isSeparatorAt(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  if (unit < HIGH_SURROGATES || unit >= SURROGATES_END) return false;
  const next = text.charCodeAt(at + 1);
  const isPair = unit < LOW_SURROGATES && next >= LOW_SURROGATES && next < SURROGATES_END;
  return !isPair || isSeparatorPair(unit, next);
}
