/**
 * Reads the texts of one property once, and finds the terms, exact phrases and loose phrases in them. Results have the
 * number of a generation, so that nothing has to be cleared between properties.
 */

import { GAP_MAX } from '../../domain/word-phrases.ts';
import type { CodeTable } from '../code-table.ts';
import type { LoosePhraseTable } from './loose-phrase-table.ts';
import type { PhraseTable } from './phrase-table.ts';
import type { TermTable } from './term-table.ts';
import { TokenReader } from './token-reader.ts';

const GENERATION_MAX = 2 ** 30 - 1;
const TEXT_END = -1;

export class AdvertText {
  readonly #phrases: PhraseTable;
  readonly #loosePhrases: LoosePhraseTable;
  readonly #reader: TokenReader;
  #generation = 0;
  /** By code of a phrase, the generation in which it last occurred. Up to date for generation `#phrasesReadIn`. */
  #phraseSeenIn = new Int32Array(1024);
  #phrasesReadIn = 0;
  /** Like `#phraseSeenIn` and `#phrasesReadIn`, for loose phrases. */
  #looseSeenIn = new Int32Array(1024);
  #looseReadIn = 0;
  /** The last read texts, and the revision of the tables with which they were read. */
  #texts: readonly string[] = [];
  #revision = -1;

  constructor(words: CodeTable, phrases: PhraseTable, terms: TermTable, loosePhrases: LoosePhraseTable) {
    this.#phrases = phrases;
    this.#loosePhrases = loosePhrases;
    this.#reader = new TokenReader(words, phrases, terms);
  }

  /** Codes of the terms that occur, without duplicates. Valid until the next text is read. */
  get terms(): Int32Array {
    return this.#reader.terms;
  }

  /** Reads texts. False if the last results still apply, which is frequent: most changes keep the texts. */
  read(texts: readonly string[]): boolean {
    // Codes are reused, so results are valid only for one revision of the tables.
    const revision = this.#reader.revision + this.#loosePhrases.revision;
    if (revision === this.#revision && sameTexts(texts, this.#texts)) return false;
    this.#revision = revision;
    this.#texts = texts;
    if (this.#generation === GENERATION_MAX) {
      this.#phraseSeenIn.fill(0);
      this.#phrasesReadIn = 0;
      this.#looseSeenIn.fill(0);
      this.#looseReadIn = 0;
      this.#generation = 0;
    }
    this.#generation += 1;
    this.#reader.restart();
    for (const text of texts) this.#reader.read(text, TEXT_END, GAP_MAX);
    return true;
  }

  /** Whether the term occurs without a negation. */
  hasTerm(code: number): boolean {
    return this.#reader.hasTerm(code);
  }

  /** Whether the words of the phrase occur in one text, adjacent and in order. */
  hasPhrase(code: number): boolean {
    if (this.#phrasesReadIn !== this.#generation) {
      this.#phrasesReadIn = this.#generation;
      const { codes, starts } = this.#reader;
      this.#phraseSeenIn = withRoom(this.#phraseSeenIn, this.#phrases.end);
      this.#phrases.read(codes, starts, this.#generation, this.#phraseSeenIn);
    }
    return this.#phraseSeenIn[code] === this.#generation;
  }

  /** Whether a text has the phrase's terms in order and close together. Negated terms count only if `isNegation`. */
  hasLoosePhrase(code: number): boolean {
    if (this.#looseReadIn !== this.#generation) {
      this.#looseReadIn = this.#generation;
      this.#looseSeenIn = withRoom(this.#looseSeenIn, this.#loosePhrases.end);
      this.#loosePhrases.read(this.#reader.occurrences, this.#generation, this.#looseSeenIn);
    }
    return this.#looseSeenIn[code] === this.#generation;
  }
}

/** Returns a list with room for all codes below `end`: the given list or, if that is too short, a new list of zeros. */
function withRoom(seenIn: Int32Array<ArrayBuffer>, end: number): Int32Array<ArrayBuffer> {
  return seenIn.length < end ? new Int32Array(2 * end) : seenIn;
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, i) => text === b[i]);
}
