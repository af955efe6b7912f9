/**
 * The words of all texts that were read, with their codes in the tables of searches. Adverts use about ten thousand
 * words. Most are found by their letters, without creating a string. Codes are looked up again if a table has changed.
 */

import { randomInt } from 'node:crypto';
import { kindOf } from '../../domain/lenient-words.ts';
import type { CodeTable } from '../code-table.ts';
import type { PhraseTable } from './phrase-table.ts';
import type { TermTable } from './term-table.ts';

/** If there are more words, all words are forgotten before the next text. */
const TOKENS_MAX = 65_536;
/** Four letters are packed into an integer, which is padded with zeros. */
const LETTERS_OF_INTEGER = 4;
/** Longer words, and words with non-ASCII letters, are found by their strings. */
export const WORD_LENGTH_MAX = 32;
export const WORD_INTEGERS = WORD_LENGTH_MAX / LETTERS_OF_INTEGER;
/** No searched word is longer, even if it is folded and in the plural. */
const SEARCHED_LENGTH_MAX = 4_096;
/** Maximum total length of the words that are found by strings. If it is exceeded, all words are forgotten. */
const STRINGS_LENGTH_MAX = 1 << 20;
/** The token of a word that is too long to be searched. */
const UNKNOWN = 0;

/** Random in each process, because an attacker who knew it could write adverts whose words collide. */
export const HASH_START = randomInt(2 ** 32) | 0;
const HASH_FACTOR = (2 * randomInt(2 ** 31) + 1) | 0;

/** Adds an integer of packed letters to a hash. */
export function hashed(hash: number, letters: number): number {
  const product = Math.imul(hash ^ letters, HASH_FACTOR);
  return product ^ (product >>> 15);
}

/** The number of integers in a token's line, which is a cache line. */
const LINE = 16;
const HASH = 0;
/** The length of the word; 0 if it is found by its string. */
const LENGTH = 1;
/** The revision of the tables for which `WORD`, `PHRASE` and `TERM` are valid. */
const REVISION = 2;
const WORD = 3;
/** The code of the word as a phrase; 0 if no phrase begins with it. */
const PHRASE = 4;
/** The word's term; 0 if it has none, negative if it has several. */
const TERM = 5;
const KIND = 6;
const LETTERS = LINE - WORD_INTEGERS;

export class TokenTable {
  readonly #words: CodeTable;
  readonly #phrases: PhraseTable;
  readonly #terms: TermTable;
  #lines = new Int32Array(1024 * LINE);
  /** A hash table of tokens. It uses open addressing and is at most half full. */
  #slots = new Int32Array(2048);
  /** The words by token. */
  #spellings: string[] = [''];
  readonly #termLists = new Map<number, readonly number[]>();
  readonly #byString = new Map<string, number>();
  #stringsLength = 0;
  #end = 1;
  #revision = 1;
  #tablesRevision = -1;

  constructor(words: CodeTable, phrases: PhraseTable, terms: TermTable) {
    this.#words = words;
    this.#phrases = phrases;
    this.#terms = terms;
  }

  /** The sum of the tables' revisions, which never decrease. */
  get revision(): number {
    return this.#words.revision + this.#phrases.revision + this.#terms.revision;
  }

  /** Must be called before each text. Forgets all words if there are too many, and codes if a table has changed. */
  prepare(): void {
    if (this.#end > TOKENS_MAX || this.#stringsLength > STRINGS_LENGTH_MAX) this.#clear();
    if (this.revision === this.#tablesRevision) return;
    this.#tablesRevision = this.revision;
    this.#revision += 1;
  }

  /** The token of a word of `length` letters, packed in integers. `hash` is the hash of these integers (`hashed`). */
  tokenOf(letters: Int32Array, length: number, hash: number): number {
    const slots = this.#slots;
    const lines = this.#lines;
    const mask = slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const token = slots[slot] as number;
      if (token === 0) return this.#resolved(this.#create(letters, length, hash));
      const line = token * LINE;
      if (lines[line + HASH] !== hash || lines[line + LENGTH] !== length) continue;
      let at = 0;
      for (let end = 0; end < length && lines[line + LETTERS + at] === letters[at]; end += LETTERS_OF_INTEGER) at += 1;
      if (at * LETTERS_OF_INTEGER < length) continue;
      return lines[line + REVISION] === this.#revision ? token : this.#resolved(token);
    }
  }

  tokenOfString(word: string): number {
    if (word.length > SEARCHED_LENGTH_MAX) return UNKNOWN;
    let token = this.#byString.get(word);
    if (token === undefined) {
      token = this.#add(word, 0, 0);
      this.#byString.set(word, token);
      this.#stringsLength += word.length;
    }
    return this.#resolved(token);
  }

  spellingOf(token: number): string {
    return this.#spellings[token] as string;
  }

  kindOf(token: number): number {
    return this.#lines[token * LINE + KIND] as number;
  }

  /** The code of the word; 0 if no strict entry has it. */
  wordOf(token: number): number {
    return this.#lines[token * LINE + WORD] as number;
  }

  phraseOf(token: number): number {
    return this.#lines[token * LINE + PHRASE] as number;
  }

  /** The word's term; 0 if it has none, negative if it has several (see `termsOf`). */
  termOf(token: number): number {
    return this.#lines[token * LINE + TERM] as number;
  }

  termsOf(token: number): readonly number[] {
    return this.#termLists.get(token) as readonly number[];
  }

  #resolved(token: number): number {
    if (this.#lines[token * LINE + REVISION] !== this.#revision) this.#resolve(token);
    return token;
  }

  #resolve(token: number): void {
    const word = this.#spellings[token] as string;
    const line = token * LINE;
    const terms = this.#terms.codesOf(word);
    const code = this.#words.codeOf(word);
    this.#lines[line + WORD] = code;
    this.#lines[line + PHRASE] = this.#phrases.startOf(code);
    this.#lines[line + TERM] = terms.length > 1 ? -1 : (terms[0] ?? 0);
    if (terms.length > 1) this.#termLists.set(token, terms);
    this.#lines[line + REVISION] = this.#revision;
  }

  #create(letters: Int32Array, length: number, hash: number): number {
    const codes = Array.from({ length }, (_, i) => ((letters[i >> 2] as number) >>> (8 * (i & 3))) & 0xff);
    const token = this.#add(String.fromCharCode(...codes), hash, length);
    this.#lines.set(letters.subarray(0, Math.ceil(length / LETTERS_OF_INTEGER)), token * LINE + LETTERS);
    if (2 * this.#end > this.#slots.length) this.#makeSlots(2 * this.#slots.length);
    else this.#fillSlot(token);
    return token;
  }

  #add(word: string, hash: number, length: number): number {
    const token = this.#end;
    this.#end += 1;
    const line = token * LINE;
    if (line === this.#lines.length) {
      const longer = new Int32Array(2 * this.#lines.length);
      longer.set(this.#lines);
      this.#lines = longer;
    }
    this.#lines[line + HASH] = hash;
    this.#lines[line + LENGTH] = length;
    this.#lines[line + REVISION] = 0;
    this.#lines[line + KIND] = kindOf(word);
    this.#spellings.push(word);
    return token;
  }

  #makeSlots(count: number): void {
    this.#slots = new Int32Array(count);
    for (let token = 1; token < this.#end; token++) if (this.#lines[token * LINE + LENGTH] !== 0) this.#fillSlot(token);
  }

  #fillSlot(token: number): void {
    const mask = this.#slots.length - 1;
    let slot = (this.#lines[token * LINE + HASH] as number) & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = token;
  }

  #clear(): void {
    this.#slots = new Int32Array(2048);
    this.#lines = new Int32Array(1024 * LINE);
    this.#spellings = [''];
    this.#termLists.clear();
    this.#byString.clear();
    this.#stringsLength = 0;
    this.#end = 1;
  }
}
