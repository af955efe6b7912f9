/**
 * The texts of one property, folded once: which searched terms occur, and which phrases, exact or loose.
 * Everything is stamped with a generation instead of being cleared between properties.
 */

import { GAP_MAX } from '../../domain/word-phrases.ts';
import type { CodeTable } from '../code-table.ts';
import { isLooselyIn, type LoosePhraseTable } from './loose-phrase-table.ts';
import type { PhraseTable } from './phrase-table.ts';
import type { TermTable } from './term-table.ts';
import { TokenReader } from './token-reader.ts';

const GENERATION_MAX = 2 ** 30;
const TEXT_END = -1;
const NOWHERE: readonly number[] = [];

export class AdvertText {
  readonly #phrases: PhraseTable;
  readonly #loosePhrases: LoosePhraseTable;
  readonly #reader: TokenReader;
  #generation = 0;
  /** By code of a phrase: the generation in which it last occurred; and the generation for which it was made. */
  #phraseSeenIn = new Int32Array(1024);
  #phrasesReadIn = 0;
  /** By code of a loose phrase: twice the generation in which it was last looked for, plus one if it was there. */
  #looseVerdicts = new Int32Array(1024);
  /** By term of a loose phrase, where it stands; and the generation for which it was made. */
  readonly #places = new Map<number, number[]>();
  #placesReadIn = 0;
  /** What was last read, and with which words and terms. */
  #texts: readonly string[] = [];
  #revision = -1;

  constructor(words: CodeTable, phrases: PhraseTable, terms: TermTable, loosePhrases: LoosePhraseTable) {
    this.#phrases = phrases;
    this.#loosePhrases = loosePhrases;
    this.#reader = new TokenReader(words, phrases, terms);
  }

  /** Codes of the searched terms that occur, each once; lent until the next text. */
  get terms(): Int32Array {
    return this.#reader.terms;
  }

  /** Adverts are read before and after a change, and most changes leave the text alone; false when nothing is new. */
  read(texts: readonly string[]): boolean {
    // The code of a phrase may have been another's: what is marked holds for these phrases only.
    const revision = this.#reader.revision + this.#loosePhrases.revision;
    if (revision === this.#revision && sameTexts(texts, this.#texts)) return false;
    this.#revision = revision;
    this.#texts = texts;
    if (this.#generation === GENERATION_MAX) {
      this.#phraseSeenIn.fill(0);
      this.#phrasesReadIn = 0;
      this.#looseVerdicts.fill(0);
      this.#placesReadIn = 0;
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

  /** Whether the terms of the loose phrase stand in one text, in order and near each other. */
  hasLoosePhrase(code: number): boolean {
    const known = this.#looseVerdicts[code] ?? 0;
    if (known >= 2 * this.#generation) return known !== 2 * this.#generation;
    const steps = this.#loosePhrases.stepsOf(code);
    const holds = steps.every(({ term }) => this.hasTerm(term)) && isLooselyIn(steps, this.#placesOf);
    this.#looseVerdicts = withRoom(this.#looseVerdicts, this.#loosePhrases.end);
    this.#looseVerdicts[code] = 2 * this.#generation + (holds ? 1 : 0);
    return holds;
  }

  readonly #placesOf = (term: number): readonly number[] => {
    if (this.#placesReadIn !== this.#generation) this.#readPlaces();
    return this.#places.get(term) ?? NOWHERE;
  };

  #readPlaces(): void {
    this.#placesReadIn = this.#generation;
    this.#places.clear();
    let place = 0;
    this.#reader.tellPlaces((terms) => {
      // No phrase goes on in the next text.
      place += terms === null ? GAP_MAX + 1 : 1;
      for (let i = 0; i < (terms?.length ?? 0); i++) this.#addPlace(terms?.[i] as number, place);
    });
  }

  #addPlace(term: number, place: number): void {
    if (!this.#loosePhrases.hasTerm(term)) return;
    const known = this.#places.get(term);
    if (known === undefined) this.#places.set(term, [place]);
    // A word may tell a term twice.
    else if (known.at(-1) !== place) known.push(place);
  }
}

/** Codes below `end` have a place in what is returned; a longer list begins empty. */
function withRoom(seenIn: Int32Array<ArrayBuffer>, end: number): Int32Array<ArrayBuffer> {
  return seenIn.length < end ? new Int32Array(2 * end) : seenIn;
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, i) => text === b[i]);
}
