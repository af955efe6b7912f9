/**
 * The texts of one property, folded once: which searched terms occur, and which phrases.
 * Everything is stamped with a generation instead of being cleared between properties.
 */

import type { CodeTable } from '../code-table.ts';
import type { PhraseTable } from './phrase-table.ts';
import type { TermTable } from './term-table.ts';
import { TokenReader, type WordVisitor } from './token-reader.ts';

const GENERATION_MAX = 2 ** 30;
const TEXT_END = -1;

export class AdvertText implements WordVisitor {
  readonly #searchedTerms: TermTable;
  readonly #phrases: PhraseTable;
  readonly #reader: TokenReader;
  /** By code of a term: the generation in which it last occurred. */
  #termSeenIn = new Int32Array(1024);
  #generation = 0;
  /** Searched words in order, 0 for others. */
  #words = new Int32Array(1024);
  #wordCount = 0;
  /** By code of a phrase, like that of terms; and the generation for which it was made. */
  #phraseSeenIn = new Int32Array(1024);
  #phrasesReadIn = 0;
  #terms: number[] = [];
  /** What was last read, and with which words and terms. */
  #texts: readonly string[] = [];
  #revision = -1;

  constructor(words: CodeTable, phrases: PhraseTable, terms: TermTable) {
    this.#phrases = phrases;
    this.#searchedTerms = terms;
    this.#reader = new TokenReader(words, terms);
  }

  /** Codes of the searched terms that occur, each once. */
  get terms(): readonly number[] {
    return this.#terms;
  }

  /** Adverts are read before and after a change, and most changes leave the text alone; false when nothing is new. */
  read(texts: readonly string[]): boolean {
    // The code of a phrase may have been another's: what is marked holds for these phrases only.
    const revision = this.#reader.revision + this.#phrases.revision;
    if (revision === this.#revision && sameTexts(texts, this.#texts)) return false;
    this.#revision = revision;
    this.#texts = texts;
    if (this.#generation === GENERATION_MAX) {
      this.#termSeenIn.fill(0);
      this.#phraseSeenIn.fill(0);
      this.#phrasesReadIn = 0;
      this.#generation = 0;
    }
    this.#generation += 1;
    this.#termSeenIn = withRoom(this.#termSeenIn, this.#searchedTerms.end);
    this.#wordCount = 0;
    this.#terms = [];
    for (const text of texts) {
      this.#reader.read(text, this);
      this.addWord(TEXT_END);
    }
    return true;
  }

  hasTerm(code: number): boolean {
    return this.#termSeenIn[code] === this.#generation;
  }

  /** Whether the words of the phrase stand next to each other, in order, in one text. */
  hasPhrase(code: number): boolean {
    if (this.#phrasesReadIn !== this.#generation) {
      this.#phrasesReadIn = this.#generation;
      this.#phraseSeenIn = withRoom(this.#phraseSeenIn, this.#phrases.end);
      this.#phrases.read(this.#words, this.#wordCount, this.#generation, this.#phraseSeenIn);
    }
    return this.#phraseSeenIn[code] === this.#generation;
  }

  addTerm(term: number): void {
    if (this.#termSeenIn[term] === this.#generation) return;
    this.#termSeenIn[term] = this.#generation;
    this.#terms.push(term);
  }

  addWord(wordCode: number): void {
    if (this.#wordCount === this.#words.length) {
      const longer = new Int32Array(2 * this.#wordCount);
      longer.set(this.#words);
      this.#words = longer;
    }
    this.#words[this.#wordCount++] = wordCode;
  }
}

/** Codes below `end` have a place in what is returned; a longer list begins empty. */
function withRoom(seenIn: Int32Array<ArrayBuffer>, end: number): Int32Array<ArrayBuffer> {
  return seenIn.length < end ? new Int32Array(2 * end) : seenIn;
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, i) => text === b[i]);
}
