/**
 * The texts of one property, folded once: which searched terms occur, and which phrases, exact or loose.
 * Everything is stamped with a generation instead of being cleared between properties.
 */

import { GAP_MAX } from '../../domain/word-phrases.ts';
import type { CodeTable } from '../code-table.ts';
import type { LoosePhrase, LoosePhraseTable, PhraseTable } from './phrase-table.ts';
import type { TermTable } from './term-table.ts';
import { DENIED, NEGATED, OCCURRENCE, TokenReader } from './token-reader.ts';

const GENERATION_MAX = 2 ** 30 - 1;
const TEXT_END = -1;

export class AdvertText {
  readonly #phrases: PhraseTable;
  readonly #loosePhrases: LoosePhraseTable;
  readonly #reader: TokenReader;
  #generation = 0;
  /** By code of a phrase: the generation in which it last occurred. Then the generation for which this was computed. */
  #phraseSeenIn = new Int32Array(1024);
  #phrasesReadIn = 0;
  /** By code of a loose phrase: twice the generation in which it was last looked for, plus one if it was there. */
  #looseVerdicts = new Int32Array(1024);
  /** By term of a loose phrase: its first and last entry in `#places`, and the generation for which these are valid. */
  #firstPlaces = new Int32Array(1024);
  #lastPlaces = new Int32Array(1024);
  #placesSeenIn = new Int32Array(1024);
  /** Entries of two integers: an occurrence of a term (see the reader's `occurrences`), and the term's next entry. */
  #places = new Int32Array(1024);
  #placesEnd = 0;
  #placesReadIn = 0;
  /** Positions at which the steps of a loose phrase so far may end, and space for those of the next step. */
  #ends = new Int32Array(512);
  #nextEnds = new Int32Array(512);
  /** The texts last read, and the revision of the words and terms they were read with. */
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

  /** False if the texts are the last ones: adverts are read before and after a change, which rarely changes texts. */
  read(texts: readonly string[]): boolean {
    // Codes are reused: marks are valid only for this revision of the phrases.
    const revision = this.#reader.revision + this.#loosePhrases.revision;
    if (revision === this.#revision && sameTexts(texts, this.#texts)) return false;
    this.#revision = revision;
    this.#texts = texts;
    if (this.#generation === GENERATION_MAX) {
      this.#phraseSeenIn.fill(0);
      this.#phrasesReadIn = 0;
      this.#looseVerdicts.fill(0);
      this.#placesSeenIn.fill(0);
      this.#placesReadIn = 0;
      this.#generation = 0;
    }
    this.#generation += 1;
    this.#reader.restart();
    for (const text of texts) this.#reader.read(text, TEXT_END, GAP_MAX);
    return true;
  }

  /** Whether the term occurs, other than after a negation. */
  hasTerm(code: number): boolean {
    return this.#reader.hasTerm(code);
  }

  /** Whether the words of the phrase are next to each other, in order, in one text. */
  hasPhrase(code: number): boolean {
    if (this.#phrasesReadIn !== this.#generation) {
      this.#phrasesReadIn = this.#generation;
      const { codes, starts } = this.#reader;
      this.#phraseSeenIn = withRoom(this.#phraseSeenIn, this.#phrases.end);
      this.#phrases.read(codes, starts, this.#generation, this.#phraseSeenIn);
    }
    return this.#phraseSeenIn[code] === this.#generation;
  }

  /** Whether the terms of the loose phrase occur in one text, in order and near each other. */
  hasLoosePhrase(code: number): boolean {
    const known = this.#looseVerdicts[code] ?? 0;
    if (known >= 2 * this.#generation) return known !== 2 * this.#generation;
    const phrase = this.#loosePhrases.phraseOf(code);
    let holds = true;
    for (const { term } of phrase.steps) holds &&= this.#reader.mayHaveTerm(term);
    holds &&= this.#areInOrder(phrase);
    this.#looseVerdicts = withRoom(this.#looseVerdicts, this.#loosePhrases.end);
    this.#looseVerdicts[code] = 2 * this.#generation + (holds ? 1 : 0);
    return holds;
  }

  /** Whether the terms, each of which occurs, are in order, with at most `gapMax` other words before each. */
  #areInOrder({ steps, isNegation }: LoosePhrase): boolean {
    if (this.#placesReadIn !== this.#generation) this.#readPlaces();
    let count = -1;
    for (let step = 0; step < steps.length; step++) {
      const { term, gapMax } = steps[step] as LoosePhrase['steps'][number];
      const excluded = isNegation ? 0 : (step === 0 ? NEGATED : 0) + (step === steps.length - 1 ? DENIED : 0);
      const [ends, next] = [this.#ends, this.#nextEnds];
      let found = 0;
      for (let at = this.#firstPlaceOf(term), end = 0; at >= 0; at = this.#places[at + 1] as number) {
        const occurrence = this.#places[at] as number;
        const place = occurrence >> 2;
        while (end < count && (ends[end] as number) + 1 + gapMax < place) end += 1;
        if ((occurrence & excluded) !== 0) continue;
        if (count < 0 || (end < count && (ends[end] as number) < place)) next[found++] = place;
      }
      if (found === 0) return false;
      count = found;
      this.#ends = next;
      this.#nextEnds = ends;
    }
    return true;
  }

  /** Negative for a term that only strict entries may find in this text, as it has no occurrence. */
  #firstPlaceOf(term: number): number {
    return this.#placesSeenIn[term] === this.#generation ? (this.#firstPlaces[term] as number) : -1;
  }

  #readPlaces(): void {
    this.#placesReadIn = this.#generation;
    this.#placesEnd = 0;
    const { occurrences } = this.#reader;
    for (let at = 0; at < occurrences.length; at += OCCURRENCE) {
      this.#addPlace(occurrences[at + 1] as number, occurrences[at] as number);
    }
  }

  #addPlace(term: number, place: number): void {
    if (!this.#loosePhrases.hasTerm(term)) return;
    if (term >= this.#firstPlaces.length) this.#makeRoomForPlacesOf(term);
    const isKnown = this.#placesSeenIn[term] === this.#generation;
    const last = this.#lastPlaces[term] as number;
    // A position may have the same term twice.
    if (isKnown && this.#places[last] === place) return;
    const at = this.#placesEnd;
    if (at + 2 > this.#places.length) {
      this.#places = longer(this.#places, 2 * this.#places.length);
      this.#ends = new Int32Array(this.#places.length / 2);
      this.#nextEnds = new Int32Array(this.#places.length / 2);
    }
    if (isKnown) this.#places[last + 1] = at;
    else this.#firstPlaces[term] = at;
    this.#lastPlaces[term] = at;
    this.#placesSeenIn[term] = this.#generation;
    this.#places[at] = place;
    this.#places[at + 1] = -1;
    this.#placesEnd = at + 2;
  }

  #makeRoomForPlacesOf(term: number): void {
    this.#firstPlaces = longer(this.#firstPlaces, 2 * term);
    this.#lastPlaces = longer(this.#lastPlaces, 2 * term);
    this.#placesSeenIn = longer(this.#placesSeenIn, 2 * term);
  }
}

function longer(integers: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(length);
  copy.set(integers);
  return copy;
}

/** A list with room for all codes below `end`; if a longer one is needed, it is new and empty. */
function withRoom(seenIn: Int32Array<ArrayBuffer>, end: number): Int32Array<ArrayBuffer> {
  return seenIn.length < end ? new Int32Array(2 * end) : seenIn;
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, i) => text === b[i]);
}
