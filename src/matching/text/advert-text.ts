/**
 * The texts of one property, folded once: which searched terms occur, and which phrases.
 * Everything is stamped with a generation instead of being cleared between properties.
 */

import type { CodeTable } from '../code-table.ts';
import type { PhraseTable } from './phrase-table.ts';
import type { TermTable } from './term-table.ts';
import { TokenReader } from './token-reader.ts';

const GENERATION_MAX = 2 ** 30;
const TEXT_END = -1;

export class AdvertText {
  readonly #phrases: PhraseTable;
  readonly #reader: TokenReader;
  #generation = 0;
  /** By code of a phrase: the generation in which it last occurred; and the generation for which it was made. */
  #phraseSeenIn = new Int32Array(1024);
  #phrasesReadIn = 0;
  /** What was last read, and with which words and terms. */
  #texts: readonly string[] = [];
  #revision = -1;

  constructor(words: CodeTable, phrases: PhraseTable, terms: TermTable) {
    this.#phrases = phrases;
    this.#reader = new TokenReader(words, phrases, terms);
  }

  /** Codes of the searched terms that occur, each once; lent until the next text. */
  get terms(): Int32Array {
    return this.#reader.terms;
  }

  /** Adverts are read before and after a change, and most changes leave the text alone; false when nothing is new. */
  read(texts: readonly string[]): boolean {
    // The code of a phrase may have been another's: what is marked holds for these phrases only.
    const { revision } = this.#reader;
    if (revision === this.#revision && sameTexts(texts, this.#texts)) return false;
    this.#revision = revision;
    this.#texts = texts;
    if (this.#generation === GENERATION_MAX) {
      this.#phraseSeenIn.fill(0);
      this.#phrasesReadIn = 0;
      this.#generation = 0;
    }
    this.#generation += 1;
    this.#reader.restart();
    for (const text of texts) this.#reader.read(text, TEXT_END);
    return true;
  }

  hasTerm(code: number): boolean {
    return this.#reader.hasTerm(code);
  }

  /** Whether the words of the phrase stand next to each other, in order, in one text. */
  hasPhrase(code: number): boolean {
    if (this.#phrasesReadIn !== this.#generation) {
      this.#phrasesReadIn = this.#generation;
      const { codes, starts } = this.#reader;
      this.#phraseSeenIn = withRoom(this.#phraseSeenIn, this.#phrases.end);
      this.#phrases.read(codes, starts, this.#generation, this.#phraseSeenIn);
    }
    return this.#phraseSeenIn[code] === this.#generation;
  }
}

/** Codes below `end` have a place in what is returned; a longer list begins empty. */
function withRoom(seenIn: Int32Array<ArrayBuffer>, end: number): Int32Array<ArrayBuffer> {
  return seenIn.length < end ? new Int32Array(2 * end) : seenIn;
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, i) => text === b[i]);
}
