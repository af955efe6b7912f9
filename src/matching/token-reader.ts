/**
 * Reads the words of adverts as codes of searched words and terms. Adverts draw on some ten thousand words, so each is
 * folded and looked up once and then found again by its letters, without making a string: an advert of a hundred words
 * takes two microseconds instead of fifty. A text with characters outside the plain Latin ones takes the way of
 * `foldWords`.
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
} from '../domain/text.ts';
import type { CodeTable } from './code-table.ts';
import type { TermTable } from './term-table.ts';

const TOKENS_MAX = 65_536;
const SLOTS = 2 * TOKENS_MAX;
const LETTERS_MAX = 16 * TOKENS_MAX;
/** Longer words are left to `foldWords`. */
const TOKEN_LENGTH_MAX = 64;
const HIGH_SURROGATES = 0xd800;
const LOW_SURROGATES = 0xdc00;
const SURROGATES_END = 0xe000;
/** No revision of the tables. */
const NEVER = -1;
const HASH_SEED = 0x811c9dc5 | 0;
const HASH_PRIME = 0x01000193;

/** Receives each word: its code as a word, 0 where no search uses it, and those of the terms that it is a form of. */
export type WordVisitor = (wordCode: number, termCodes: readonly number[]) => void;

export class TokenReader {
  readonly #words: CodeTable;
  readonly #terms: TermTable;
  readonly #slots = new Int32Array(SLOTS);
  readonly #hashes = new Int32Array(TOKENS_MAX + 1);
  readonly #starts = new Int32Array(TOKENS_MAX + 1);
  readonly #lengths = new Uint8Array(TOKENS_MAX + 1);
  readonly #letters = new Uint8Array(LETTERS_MAX);
  readonly #wordCodes = new Int32Array(TOKENS_MAX + 1);
  /** Lists of the term table's own where they can be. */
  readonly #termCodes: (readonly number[])[] = [];
  /** Revision of the tables for which the codes hold. */
  readonly #revisions = new Float64Array(TOKENS_MAX + 1);
  readonly #token = new Uint8Array(TOKEN_LENGTH_MAX);
  /** Tokens of the text at hand. */
  #found = new Int32Array(1024);
  #tokenCount = 0;
  #letterCount = 0;

  constructor(words: CodeTable, terms: TermTable) {
    this.#words = words;
    this.#terms = terms;
  }

  /** Of both tables: neither ever goes back. */
  get revision(): number {
    return this.#words.revision + this.#terms.revision;
  }

  read(text: string, visit: WordVisitor): void {
    const count = this.#tokenise(text);
    if (count === null) {
      for (const word of foldWords(text)) visit(this.#words.codeOf(word), this.#terms.codesOf(word));
      return;
    }
    const { revision } = this;
    for (let i = 0; i < count; i++) {
      const token = this.#found[i] as number;
      if (this.#revisions[token] !== revision) this.#resolve(token, revision);
      visit(this.#wordCodes[token] as number, this.#termCodes[token] as readonly number[]);
    }
  }

  /** Finds the tokens of the text; null when it takes `foldWords` to tell its words. */
  #tokenise(text: string): number | null {
    if (this.#tokenCount + text.length > TOKENS_MAX || this.#letterCount + 2 * text.length > LETTERS_MAX) {
      if (text.length > TOKENS_MAX / 2) return null;
      this.#clear();
    }
    if (text.length >= this.#found.length) this.#found = new Int32Array(2 * text.length);
    const token = this.#token;
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
    let slot = (hash ^ (hash >>> 15)) & (SLOTS - 1);
    for (let found = this.#slots[slot] as number; found !== 0; found = this.#slots[slot] as number) {
      if (this.#hashes[found] === hash && this.#equals(found, length)) return found;
      slot = (slot + 1) & (SLOTS - 1);
    }
    const added = ++this.#tokenCount;
    this.#slots[slot] = added;
    this.#hashes[added] = hash;
    this.#starts[added] = this.#letterCount;
    this.#lengths[added] = length;
    this.#letters.set(this.#token.subarray(0, length), this.#letterCount);
    this.#letterCount += length;
    this.#revisions[added] = NEVER;
    return added;
  }

  #equals(found: number, length: number): boolean {
    if (this.#lengths[found] !== length) return false;
    const letters = this.#letters;
    const token = this.#token;
    const start = this.#starts[found] as number;
    for (let i = 0; i < length; i++) if (letters[start + i] !== token[i]) return false;
    return true;
  }

  #resolve(token: number, revision: number): void {
    const start = this.#starts[token] as number;
    const letters = this.#letters.subarray(start, start + (this.#lengths[token] as number));
    const word = String.fromCharCode(...letters);
    this.#wordCodes[token] = this.#words.codeOf(word);
    this.#termCodes[token] = this.#terms.codesOf(word);
    this.#revisions[token] = revision;
  }

  #clear(): void {
    this.#slots.fill(0);
    this.#termCodes.length = 0;
    this.#tokenCount = 0;
    this.#letterCount = 0;
  }
}

function isSurrogate(unit: number): boolean {
  return unit >= HIGH_SURROGATES && unit < SURROGATES_END;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= LOW_SURROGATES && unit < SURROGATES_END;
}
