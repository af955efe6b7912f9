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
  /** Likewise by word code. */
  #wordSeenIn = new Int32Array(1024);
  #generation = 0;
  #words = new Int32Array(1024);
  #wordCount = 0;
  #stems: number[] = [];
  /** What was last read, and with which terms. */
  #texts: readonly string[] = [];
  #revision = -1;

  constructor(terms: CodeTable) {
    this.#terms = terms;
    this.#reader = new TokenReader(terms);
  }

  /** Codes of the searched stems that occur, each once. */
  get stems(): readonly number[] {
    return this.#stems;
  }

  /** Adverts are read before and after a change, and most changes leave the text alone; false when nothing is new. */
  read(texts: readonly string[]): boolean {
    const { revision } = this.#terms;
    if (revision === this.#revision && sameTexts(texts, this.#texts)) return false;
    this.#revision = revision;
    this.#texts = texts;
    if (this.#generation === GENERATION_MAX) {
      this.#seenIn.fill(0);
      this.#wordSeenIn.fill(0);
      this.#generation = 0;
    }
    this.#generation += 1;
    if (this.#seenIn.length < this.#terms.end) {
      this.#seenIn = new Int32Array(2 * this.#terms.end);
      this.#wordSeenIn = new Int32Array(2 * this.#terms.end);
    }
    this.#wordCount = 0;
    this.#stems = [];
    for (const text of texts) {
      this.#reader.read(text, this.#visit);
      this.#append(TEXT_END);
    }
    return true;
  }

  hasStem(code: number): boolean {
    return this.#seenIn[code] === this.#generation;
  }

  /** Whether the words from `start` to `end` of `codes` stand next to each other, in order, in one text. */
  hasPhrase(codes: Int32Array, start: number, end: number): boolean {
    for (let i = start; i < end; i++) if (this.#wordSeenIn[codes[i] as number] !== this.#generation) return false;
    const length = end - start;
    if (length === 1) return true;
    const last = this.#wordCount - length;
    for (let first = 0; first <= last; first++) {
      let same = 0;
      while (same < length && this.#words[first + same] === codes[start + same]) same += 1;
      if (same === length) return true;
    }
    return false;
  }

  readonly #visit = (wordCode: number, stemCode: number): void => {
    this.#append(wordCode);
    this.#wordSeenIn[wordCode] = this.#generation;
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

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, i) => text === b[i]);
}
