/**
 * The texts of one property, folded once: which searched stems occur, and the searched words in order for phrases.
 * Everything is stamped with a generation instead of being cleared between properties.
 */

import type { CodeTable } from './code-table.ts';
import { TokenReader } from './token-reader.ts';

const GENERATION_MAX = 2 ** 30;
const TEXT_END = -1;

export class AdvertText {
  readonly #terms: CodeTable;
  readonly #reader: TokenReader;
  /** By stem code: the generation in which it last occurred. */
  #seenIn = new Int32Array(1024);
  #generation = 0;
  #words = new Int32Array(1024);
  #wordCount = 0;
  #stems: number[] = [];

  constructor(terms: CodeTable) {
    this.#terms = terms;
    this.#reader = new TokenReader(terms);
  }

  /** Codes of the searched stems that occur, each once. */
  get stems(): readonly number[] {
    return this.#stems;
  }

  read(texts: readonly string[]): void {
    if (this.#generation === GENERATION_MAX) {
      this.#seenIn.fill(0);
      this.#generation = 0;
    }
    this.#generation += 1;
    if (this.#seenIn.length < this.#terms.end) this.#seenIn = new Int32Array(2 * this.#terms.end);
    this.#wordCount = 0;
    this.#stems = [];
    for (const text of texts) {
      this.#reader.read(text, this.#visit);
      this.#append(TEXT_END);
    }
  }

  hasStem(code: number): boolean {
    return this.#seenIn[code] === this.#generation;
  }

  /** Whether the words stand next to each other, in order, in one text. */
  hasPhrase(codes: readonly number[]): boolean {
    const first = codes[0] as number;
    const last = this.#wordCount - codes.length;
    for (let start = 0; start <= last; start++) {
      if (this.#words[start] !== first) continue;
      let length = 1;
      while (length < codes.length && this.#words[start + length] === codes[length]) length += 1;
      if (length === codes.length) return true;
    }
    return false;
  }

  readonly #visit = (wordCode: number, stemCode: number): void => {
    this.#append(wordCode);
    if (stemCode === 0 || this.#seenIn[stemCode] === this.#generation) return;
    this.#seenIn[stemCode] = this.#generation;
    this.#stems.push(stemCode);
  };

  #append(wordCode: number): void {
    if (this.#wordCount === this.#words.length) {
      const longer = new Int32Array(2 * this.#wordCount);
      longer.set(this.#words);
      this.#words = longer;
    }
    this.#words[this.#wordCount++] = wordCode;
  }
}
