/**
 * Reads the words of adverts as codes of searched words and terms. Adverts draw on some ten thousand words, so each is
 * folded and looked up once and then found again by its letters, without making a string and in one cache line. A text
 * with characters outside the plain Latin ones takes the way of `foldWords`.
 */

import {
  foldWords,
  IRREGULAR,
  isSeparatorPair,
  knownLetters,
  LIGATURE,
  letterOf,
  lettersOf,
  SEPARATOR,
  SILENT,
} from '../../domain/text.ts';
import type { CodeTable } from '../code-table.ts';
import type { TermTable } from './term-table.ts';

const TOKENS_MAX = 65_536;
const SLOTS = 2 * TOKENS_MAX;
/** Longer words are left to `foldWords`. */
const TOKEN_LENGTH_MAX = 64;

/** A token's integers, a cache line of them: all that it takes to know a word of usual length again and what it means. */
const HASH = 0;
const LENGTH = 1;
/** Of the tables, for which what follows holds. */
const REVISION = 2;
const WORD_CODE = 3;
/** Of the list when it is longer than `TERMS_MAX`: it is elsewhere. */
const TERM_COUNT = 4;
const FIRST_TERM = 5;
const TERMS_MAX = 3;
const FIRST_LETTERS = 8;
const TOKEN_INTEGERS = 16;
/** Four letters each; those of longer words go on elsewhere. */
const LETTER_INTEGERS = 8;
const TAIL_INTEGERS = TOKEN_LENGTH_MAX / 4 - LETTER_INTEGERS;
const HIGH_SURROGATES = 0xd800;
const LOW_SURROGATES = 0xdc00;
const SURROGATES_END = 0xe000;
/** No revision of the tables. */
const NEVER = 0;
const REVISION_MAX = 2 ** 31 - 1;
const HASH_SEED = 0x811c9dc5 | 0;
const HASH_PRIME = 0x01000193;

/** Receives each word: its code as a word, 0 where no search uses it, then those of the terms that it is a form of. */
export interface WordVisitor {
  addWord(wordCode: number): void;
  addTerm(termCode: number): void;
}

export class TokenReader {
  readonly #words: CodeTable;
  readonly #terms: TermTable;
  readonly #slots = new Int32Array(SLOTS);
  readonly #tokens = new Int32Array(TOKEN_INTEGERS * (TOKENS_MAX + 1));
  readonly #tails = new Int32Array(TAIL_INTEGERS * (TOKENS_MAX + 1));
  /** By token, of those with more terms than there is room for. */
  readonly #longLists = new Map<number, readonly number[]>();
  /** The letters of the word at hand, and the same as integers. */
  readonly #letters = new Uint8Array(TOKEN_LENGTH_MAX + 4);
  readonly #letterIntegers = new Int32Array(this.#letters.buffer);
  /** Tokens of the text at hand. */
  #found = new Int32Array(1024);
  #tokenCount = 0;
  /** Of the tables at the last text, and its number as tokens keep it. */
  #tablesRevision = -1;
  #revision = NEVER;

  constructor(words: CodeTable, terms: TermTable) {
    this.#words = words;
    this.#terms = terms;
  }

  /** Of both tables: neither ever goes back. */
  get revision(): number {
    return this.#words.revision + this.#terms.revision;
  }

  read(text: string, visitor: WordVisitor): void {
    this.#countRevision();
    const count = this.#tokenise(text);
    if (count === null) {
      for (const word of foldWords(text)) {
        visitor.addWord(this.#words.codeOf(word));
        for (const term of this.#terms.codesOf(word)) visitor.addTerm(term);
      }
      return;
    }
    const tokens = this.#tokens;
    for (let i = 0; i < count; i++) {
      const token = this.#found[i] as number;
      const at = TOKEN_INTEGERS * token;
      if (tokens[at + REVISION] !== this.#revision) this.#resolve(token);
      visitor.addWord(tokens[at + WORD_CODE] as number);
      const termCount = tokens[at + TERM_COUNT] as number;
      if (termCount > TERMS_MAX) for (const term of this.#longLists.get(token) ?? []) visitor.addTerm(term);
      else for (let k = 0; k < termCount; k++) visitor.addTerm(tokens[at + FIRST_TERM + k] as number);
    }
  }

  /** Tokens whose codes were looked up before a change of the tables have another number than this from now on. */
  #countRevision(): void {
    const { revision } = this;
    if (revision === this.#tablesRevision) return;
    this.#tablesRevision = revision;
    if (this.#revision === REVISION_MAX) {
      this.#clear();
      this.#revision = NEVER;
    }
    this.#revision += 1;
  }

  /** Finds the tokens of the text; null when it takes `foldWords` to tell its words. */
  #tokenise(text: string): number | null {
    if (this.#tokenCount + text.length > TOKENS_MAX) {
      if (text.length > TOKENS_MAX / 2) return null;
      this.#clear();
    }
    if (text.length >= this.#found.length) this.#found = new Int32Array(2 * text.length);
    const token = this.#letters;
    const found = this.#found;
    let count = 0;
    let length = 0;
    let hash = HASH_SEED;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      const letter = (knownLetters[unit] as number) || letterOf(unit);
      if (letter > IRREGULAR) {
        if (length === TOKEN_LENGTH_MAX) return null;
        token[length++] = letter;
        hash = Math.imul(hash ^ letter, HASH_PRIME);
      } else if (letter === LIGATURE) {
        const letters = lettersOf(unit);
        if (length + letters.length > TOKEN_LENGTH_MAX) return null;
        for (let k = 0; k < letters.length; k++) {
          token[length++] = letters.charCodeAt(k);
          hash = Math.imul(hash ^ letters.charCodeAt(k), HASH_PRIME);
        }
      } else if (letter !== SILENT) {
        if (length > 0) found[count++] = this.#find(hash, length);
        length = 0;
        hash = HASH_SEED;
        if (letter === SEPARATOR) continue;
        if (!isSurrogate(unit)) return null;
        // Half a character on its own ends a word like any other sign.
        if (unit >= LOW_SURROGATES || !isLowSurrogate(text.charCodeAt(i + 1))) continue;
        if (!isSeparatorPair(unit, text.charCodeAt(i + 1))) return null;
        i += 1;
      }
    }
    if (length > 0) found[count++] = this.#find(hash, length);
    return count;
  }

  /** The token of the first `length` letters; there is room for it. */
  #find(hash: number, length: number): number {
    // Letters are compared four at a time.
    this.#letters.fill(0, length, (length + 3) & ~3);
    let slot = (hash ^ (hash >>> 15)) & (SLOTS - 1);
    for (let found = this.#slots[slot] as number; found !== 0; found = this.#slots[slot] as number) {
      if (this.#tokens[TOKEN_INTEGERS * found + HASH] === hash && this.#equals(found, length)) return found;
      slot = (slot + 1) & (SLOTS - 1);
    }
    const added = ++this.#tokenCount;
    const at = TOKEN_INTEGERS * added;
    this.#slots[slot] = added;
    this.#tokens[at + HASH] = hash;
    this.#tokens[at + LENGTH] = length;
    this.#tokens[at + REVISION] = NEVER;
    const letters = this.#letterIntegers;
    this.#tokens.set(letters.subarray(0, LETTER_INTEGERS), at + FIRST_LETTERS);
    this.#tails.set(letters.subarray(LETTER_INTEGERS, LETTER_INTEGERS + TAIL_INTEGERS), TAIL_INTEGERS * added);
    return added;
  }

  #equals(found: number, length: number): boolean {
    const tokens = this.#tokens;
    const at = TOKEN_INTEGERS * found;
    if (tokens[at + LENGTH] !== length) return false;
    const letters = this.#letterIntegers;
    const integers = (length + 3) >> 2;
    const near = integers < LETTER_INTEGERS ? integers : LETTER_INTEGERS;
    for (let i = 0; i < near; i++) if (tokens[at + FIRST_LETTERS + i] !== letters[i]) return false;
    const tail = TAIL_INTEGERS * found - LETTER_INTEGERS;
    for (let i = near; i < integers; i++) if (this.#tails[tail + i] !== letters[i]) return false;
    return true;
  }

  #resolve(token: number): void {
    const tokens = this.#tokens;
    const at = TOKEN_INTEGERS * token;
    const letters = new Int32Array(TOKEN_LENGTH_MAX / 4);
    letters.set(tokens.subarray(at + FIRST_LETTERS, at + FIRST_LETTERS + LETTER_INTEGERS));
    letters.set(this.#tails.subarray(TAIL_INTEGERS * token, TAIL_INTEGERS * (token + 1)), LETTER_INTEGERS);
    const word = String.fromCharCode(...new Uint8Array(letters.buffer, 0, tokens[at + LENGTH]));
    const terms = this.#terms.codesOf(word);
    tokens[at + WORD_CODE] = this.#words.codeOf(word);
    tokens[at + TERM_COUNT] = terms.length;
    if (terms.length > TERMS_MAX) this.#longLists.set(token, terms);
    else tokens.set(terms, at + FIRST_TERM);
    tokens[at + REVISION] = this.#revision;
  }

  #clear(): void {
    this.#slots.fill(0);
    this.#longLists.clear();
    this.#tokenCount = 0;
  }
}

function isSurrogate(unit: number): boolean {
  return unit >= HIGH_SURROGATES && unit < SURROGATES_END;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= LOW_SURROGATES && unit < SURROGATES_END;
}
