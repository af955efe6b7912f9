/**
 * Phrases of terms with possible other words between them. They are paths in one tree of terms, with use counts. A text
 * is compared with all phrases at once. Each beginning of a phrase that occurs in the text is continued from every
 * position where it ends.
 */

import { GAP_MAX } from '../../domain/word-phrases.ts';
import { NumberList } from '../records/number-list.ts';
import { PhraseTable } from './phrase-table.ts';
import { DENIED, NEGATED, OCCURRENCE } from './token-reader.ts';

/** A term of a phrase, and the maximum number of other words before it. */
export interface LooseStep {
  readonly term: number;
  readonly gapMax: number;
}

export interface LoosePhrase {
  readonly steps: readonly LooseStep[];
  /** True if the phrase is also found after a negation. */
  readonly isNegation: boolean;
}

const ROOT = 0;
/** An edge of the tree is four times the term, plus the gap before it. The first edge has the kind instead. */
const TERM_SHIFT = 2;
const PLAIN = 0;
const NEGATION = 1;

export class LoosePhraseTable {
  readonly #tree = new PhraseTable();
  /** The beginnings found so far, in the order of the text: node, position of the last term, and kind. */
  readonly #nodes = new NumberList();
  readonly #places = new NumberList();
  readonly #kinds = new NumberList();
  /** By node, one more than the last position where it was found in this text. */
  #lastPlaces = new Int32Array(1024);

  /** Changes whenever texts may contain more phrases than before. */
  get revision(): number {
    return this.#tree.revision;
  }

  /** One more than the largest code. */
  get end(): number {
    return this.#tree.end;
  }

  /** Returns the code of the phrase, which is positive, and increments its use count. */
  use({ steps, isNegation }: LoosePhrase): number {
    const kind = isNegation ? NEGATION : PLAIN;
    return this.#tree.use(steps.map(({ term, gapMax }, i) => (term << TERM_SHIFT) + (i === 0 ? kind : gapMax)));
  }

  /** Decrements the use count. If it becomes 0, another phrase may get the code. */
  release(code: number): void {
    this.#tree.release(code);
  }

  termsOf(code: number): readonly number[] {
    return this.#tree.wordsOf(code).map((edge) => edge >> TERM_SHIFT);
  }

  /**
   * Finds the phrases that occur, and marks their codes in `seenIn`. `occurrences` are those of the reader. Returns the
   * number of beginnings that were followed, counted once for each position where they end.
   */
  read(occurrences: Int32Array, generation: number, seenIn: Int32Array): number {
    const [nodes, places] = [this.#nodes, this.#places];
    for (const list of [nodes, places, this.#kinds]) list.clear();
    if (this.#lastPlaces.length < this.end) this.#lastPlaces = new Int32Array(2 * this.end);
    let first = 0;
    for (let at = 0; at < occurrences.length; at += OCCURRENCE) {
      const marked = occurrences[at] as number;
      const place = marked >> 2;
      const edge = (occurrences[at + 1] as number) << TERM_SHIFT;
      while (first < nodes.length && places.at(first) + GAP_MAX + 1 < place) first += 1;
      for (let i = first; i < nodes.length && places.at(i) < place; i++) {
        for (let gap = place - places.at(i) - 1; gap <= GAP_MAX; gap++) {
          this.#reach(this.#tree.childOf(nodes.at(i), edge + gap), marked, this.#kinds.at(i), generation, seenIn);
        }
      }
      if ((marked & NEGATED) === 0) {
        this.#reach(this.#tree.childOf(ROOT, edge + PLAIN), marked, PLAIN, generation, seenIn);
      }
      this.#reach(this.#tree.childOf(ROOT, edge + NEGATION), marked, NEGATION, generation, seenIn);
    }
    for (let i = 0; i < nodes.length; i++) this.#lastPlaces[nodes.at(i)] = 0;
    return nodes.length;
  }

  /** Adds a beginning, unless another path has led to it at the same position. */
  #reach(node: number, marked: number, kind: number, generation: number, seenIn: Int32Array): void {
    const place = marked >> 2;
    if (node === ROOT || this.#lastPlaces[node] === place + 1) return;
    this.#lastPlaces[node] = place + 1;
    if (kind === NEGATION || (marked & DENIED) === 0) seenIn[node] = generation;
    this.#nodes.add(node);
    this.#places.add(place);
    this.#kinds.add(kind);
  }
}
