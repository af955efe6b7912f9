/**
 * Reads the words of adverts as codes of searched terms. Adverts draw on some ten thousand words, so each is folded
 * and stemmed once and then found again by its letters, without making a string: an advert of a hundred words takes
 * two microseconds instead of fifty. A text with characters outside the plain Latin ones takes the way of `foldWords`.
 */

import {
  foldWords,
  IRREGULAR,
  isSeparatorPair,
  LIGATURE,
  letterOf,
  lettersOf,
  SEPARATOR,
  SILENT,
  stem,
} from '../domain/text.ts';
import type { CodeTable } from './code-table.ts';

const TOKENS_MAX = 65_536;
const SLOTS = 4 * TOKENS_MAX;
const LETTERS_MAX = 16 * TOKENS_MAX;
/** Longer words are left to `foldWords`. */
const TOKEN_LENGTH_MAX = 64;
const LIGATURE_LENGTH_MAX = 4;
const HASH_SEED = 0x811c9dc5 | 0;
const HASH_PRIME = 0x01000193;

/** Receives each word: its code as a word and the code of its stem, 0 where no search uses it. */
export type WordVisitor = (wordCode: number, stemCode: number) => void;

export class TokenReader {
  readonly #terms: CodeTable;
  readonly #slots = new Int32Array(SLOTS);
  readonly #hashes = new Int32Array(TOKENS_MAX + 1);
  readonly #starts = new Int32Array(TOKENS_MAX + 1);
  readonly #lengths = new Uint8Array(TOKENS_MAX + 1);
  readonly #letters = new Uint8Array(LETTERS_MAX);
  readonly #wordCodes = new Int32Array(TOKENS_MAX + 1);
  readonly #stemCodes = new Int32Array(TOKENS_MAX + 1);
  /** Revision of the terms for which the two codes hold. */
  readonly #revisions = new Float64Array(TOKENS_MAX + 1);
  readonly #token = new Uint8Array(TOKEN_LENGTH_MAX);
  #tokenCount = 0;
  #letterCount = 0;

  constructor(terms: CodeTable) {
    this.#terms = terms;
  }

  read(text: string, visit: WordVisitor): void {
    if (!isPlain(text)) {
      for (const word of foldWords(text)) visit(this.#terms.codeOf(word), this.#terms.codeOf(stem(word)));
      return;
    }
    const token = this.#token;
    let length = 0;
    let hash = HASH_SEED;
    for (let i = 0; i <= text.length; i++) {
      const letter = i === text.length ? SEPARATOR : letterOf(text.charCodeAt(i));
      if (letter > IRREGULAR) {
        token[length++] = letter;
        hash = Math.imul(hash ^ letter, HASH_PRIME);
      } else if (letter === LIGATURE) {
        const letters = lettersOf(text.charCodeAt(i));
        for (let k = 0; k < letters.length; k++) {
          token[length++] = letters.charCodeAt(k);
          hash = Math.imul(hash ^ letters.charCodeAt(k), HASH_PRIME);
        }
      } else if (letter !== SILENT && length > 0) {
        const found = this.#find(hash, length);
        visit(this.#wordCodes[found] as number, this.#stemCodes[found] as number);
        length = 0;
        hash = HASH_SEED;
      }
    }
  }

  /** The token of the first `length` letters, with codes that hold now. */
  #find(hash: number, length: number): number {
    let slot = (hash ^ (hash >>> 15)) & (SLOTS - 1);
    for (let found = this.#slots[slot] as number; found !== 0; found = this.#slots[slot] as number) {
      if (this.#hashes[found] === hash && this.#equals(found, length)) {
        if (this.#revisions[found] !== this.#terms.revision) this.#resolve(found);
        return found;
      }
      slot = (slot + 1) & (SLOTS - 1);
    }
    if (this.#tokenCount === TOKENS_MAX || this.#letterCount + length > LETTERS_MAX) {
      this.#clear();
      slot = (hash ^ (hash >>> 15)) & (SLOTS - 1);
    }
    const added = ++this.#tokenCount;
    this.#slots[slot] = added;
    this.#hashes[added] = hash;
    this.#starts[added] = this.#letterCount;
    this.#lengths[added] = length;
    this.#letters.set(this.#token.subarray(0, length), this.#letterCount);
    this.#letterCount += length;
    this.#resolve(added);
    return added;
  }

  #equals(found: number, length: number): boolean {
    if (this.#lengths[found] !== length) return false;
    const start = this.#starts[found] as number;
    for (let i = 0; i < length; i++) if (this.#letters[start + i] !== this.#token[i]) return false;
    return true;
  }

  #resolve(token: number): void {
    const start = this.#starts[token] as number;
    const letters = this.#letters.subarray(start, start + (this.#lengths[token] as number));
    const word = String.fromCharCode(...letters);
    this.#wordCodes[token] = this.#terms.codeOf(word);
    this.#stemCodes[token] = this.#terms.codeOf(stem(word));
    this.#revisions[token] = this.#terms.revision;
  }

  #clear(): void {
    this.#slots.fill(0);
    this.#tokenCount = 0;
    this.#letterCount = 0;
  }
}

/** Whether every character folds on its own, or ends a word, and no word is too long. */
function isPlain(text: string): boolean {
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    const letter = letterOf(text.charCodeAt(i));
    if (letter > IRREGULAR) length += 1;
    else if (letter === SEPARATOR) length = 0;
    else if (letter === LIGATURE) length += LIGATURE_LENGTH_MAX;
    else if (letter === IRREGULAR) {
      if (i + 1 === text.length || !isSeparatorPair(text.charCodeAt(i), text.charCodeAt(i + 1))) return false;
      length = 0;
      i += 1;
    }
    if (length > TOKEN_LENGTH_MAX) return false;
  }
  return true;
}
