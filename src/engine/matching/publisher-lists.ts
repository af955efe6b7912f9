/**
 * The lists of publishers that searches name; equal lists are stored once. For each property, one pass over the lists
 * that contain its publishers finds which of these publishers each list contains. A search then costs one array access,
 * however many names it lists.
 */

import type { AdvertFacts } from '../domain/property-facts.ts';
import { publisherKey, publisherKeysOf } from '../domain/publisher-criteria.ts';
import { CodeTable } from './code-table.ts';

/** The largest `#base`: with the number of sets of one property added, it still fits in a 32-bit integer. */
const BASE_MAX = 2 ** 30;

export class PublisherLists {
  readonly #table = new CodeTable();
  readonly #contents = new CodeTable();
  /** The publishers of each list, by the code of its content. */
  readonly #lists: (readonly number[] | undefined)[] = [];
  /** The ids of the lists that contain a code. */
  readonly #listsWith: number[][] = [];
  /** Known publishers of the property's adverts; null before the first query about the property. */
  #stated: Map<AdvertFacts, readonly number[]> | null = null;
  #adverts: readonly AdvertFacts[] = [];
  /** Sets of the property's publishers; the first set is empty. */
  #sets: number[][] = [[]];
  /** By list, `#base` plus the position in `#sets` of the publishers that it contains; at most `#base` if none. */
  #setOf = new Int32Array(1024);
  /** Grows with each property, so that the sets of the previous property need not be cleared. */
  #base = 0;

  /** Counts one more use of the list and returns its id; 0 for an empty list. */
  use(names: readonly string[]): number {
    if (names.length === 0) return 0;
    const codes = [...new Set(names.map(publisherKey))].map((key) => this.#table.use(key)).sort((a, b) => a - b);
    const id = this.#contents.use(codes.join());
    if (this.#lists[id] !== undefined) {
      for (const code of codes) this.#table.release(code);
      return id;
    }
    this.#lists[id] = codes;
    if (id >= this.#setOf.length) this.#setOf = resized(this.#setOf);
    for (const code of codes) {
      this.#listsWith[code] ??= [];
      this.#listsWith[code].push(id);
    }
    return id;
  }

  release(id: number): void {
    if (id === 0 || !this.#contents.release(id)) return;
    for (const code of this.#lists[id] as readonly number[]) {
      const lists = this.#listsWith[code] as number[];
      const last = lists.pop() as number;
      if (last !== id) lists[lists.indexOf(id)] = last;
      this.#table.release(code);
    }
    this.#lists[id] = undefined;
  }

  /** Sets the property for the next queries. */
  read(adverts: readonly AdvertFacts[]): void {
    this.#adverts = adverts;
    this.#stated = null;
  }

  /** The set of the property's publishers that the list contains; 0 if it contains none. */
  setOf(id: number): number {
    this.#stated ??= this.#mark();
    return Math.max(0, (this.#setOf[id] as number) - this.#base);
  }

  /** Whether the advert is by a publisher of the set. */
  isBy(set: number, advert: AdvertFacts): boolean {
    const codes = this.#sets[set] as number[];
    return this.#stated?.get(advert)?.some((code) => codes.includes(code)) ?? false;
  }

  #mark(): Map<AdvertFacts, readonly number[]> {
    this.#base += this.#sets.length;
    this.#sets = [[]];
    if (this.#base > BASE_MAX) {
      this.#setOf.fill(0);
      this.#base = 0;
    }
    const stated = new Map<AdvertFacts, readonly number[]>();
    for (const advert of this.#adverts) {
      const codes = publisherKeysOf(advert).map((key) => this.#table.codeOf(key));
      stated.set(
        advert,
        codes.filter((code) => code !== 0),
      );
    }
    for (const code of new Set([...stated.values()].flat())) this.#add(code);
    return stated;
  }

  /** Adds the publisher to the sets of the lists that contain it. */
  #add(code: number): void {
    const [sets, setOf, base] = [this.#sets, this.#setOf, this.#base];
    /** For each position in `sets`, that of the set that also contains the publisher; 0 until a list needs it. */
    const extended = new Int32Array(sets.length);
    for (const id of this.#listsWith[code] as number[]) {
      const set = Math.max(0, (setOf[id] as number) - base);
      if (extended[set] === 0) extended[set] = sets.push([...(sets[set] as number[]), code]) - 1;
      setOf[id] = base + (extended[set] as number);
    }
  }
}

function resized(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * array.length);
  larger.set(array);
  return larger;
}
