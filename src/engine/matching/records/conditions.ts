/**
 * What no column and no place says of a search, each distinct one once, however many searches share it: bounds, codes
 * and letters, features, and of criteria that an unknown value satisfies too (`orMissing`) all of it. Like an
 * expression, it is judged when the first candidate asks.
 */

import type { Criteria } from '../../domain/criteria.ts';
import { bitOfCriterion } from '../../domain/unknown-criteria.ts';
import { needsAmong, needsOf } from '../needs.ts';
import type { StatedFacts } from '../stated-facts.ts';
import { RecordArena } from './arena.ts';
import { isRecorded, RANGE_CRITERIA, RANGES } from './layout.ts';
import { bytesSet, isInRow, SET_CRITERIA, setOf, UNKNOWN_IN_SET } from './value-sets.ts';

/** Integers before the bounds. The property of the last verdict and the verdict, and how many searches share it. */
const VERDICT = 0;
const USES = 1;
/** A bit for each bound that is set, minimum first, in the order of `RANGES`. */
const BOUNDS = 2;
/** Criteria of `RANGES` and features that an unknown value satisfies too. */
const OR_MISSING = 3;
/** Those that an unknown value satisfies too. */
const NEEDS = 4;
/** A byte for each of `SET_CRITERIA`. */
const SETS = 5;
const INCLUDED = 6;
const EXCLUDED = 7;
const HEAD_WORDS = 4;
const WORDS_MAX = HEAD_WORDS + 2 * RANGES.length;
/** Verdicts are told apart by so many properties. */
const PROPERTIES_MAX = 2 ** 30 - 1;
const FEATURES_CRITERION = bitOfCriterion('includedFeatures');
const OWN_OR_MISSING = RANGE_CRITERIA.reduce((all, criterion) => all | criterion, FEATURES_CRITERION);

const scratch = new Float64Array(WORDS_MAX);
const integers = new Int32Array(scratch.buffer);
const shorts = new Uint16Array(scratch.buffer);

export class Conditions {
  readonly #arena = new RecordArena(WORDS_MAX);
  /** By the words that say the same. */
  readonly #addresses = new Map<string, number>();
  #stated: StatedFacts | null = null;
  #property = 0;

  get size(): number {
    return this.#addresses.size;
  }

  get bytes(): number {
    return this.#arena.bytes;
  }

  /** The address of what `writeConditions` wrote, with one more use. */
  use(): number {
    const words = wordsOf(integers[BOUNDS] as number);
    const key = keyOf(words);
    let address = this.#addresses.get(key);
    if (address === undefined) {
      address = this.#arena.allocate(words);
      this.#addresses.set(key, address);
      const first = this.#arena.numberOffset(address);
      this.#arena.numbersAt(address).set(scratch.subarray(0, words), first);
    }
    const uses = this.#arena.integerOffset(address) + USES;
    const page = this.#arena.integersAt(address);
    page[uses] = (page[uses] as number) + 1;
    return address;
  }

  release(address: number): void {
    const page = this.#arena.integersAt(address);
    const head = this.#arena.integerOffset(address);
    const uses = (page[head + USES] as number) - 1;
    page[head + USES] = uses;
    if (uses > 0) return;
    const words = wordsOf(page[head + BOUNDS] as number);
    const first = this.#arena.numberOffset(address);
    scratch.set(this.#arena.numbersAt(address).subarray(first, first + words));
    this.#addresses.delete(keyOf(words));
    this.#arena.free(address, words);
  }

  /** The property that `holds` is about from now on. */
  read(stated: StatedFacts): void {
    this.#stated = stated;
    this.#property += 1;
    if (this.#property <= PROPERTIES_MAX) return;
    this.#property = 1;
    for (const address of this.#addresses.values()) {
      this.#arena.integersAt(address)[this.#arena.integerOffset(address) + VERDICT] = 0;
    }
  }

  touch(address: number): number {
    return this.#arena.touch(address);
  }

  /** Whether the property last read satisfies them. */
  hold(address: number): boolean {
    const page = this.#arena.integersAt(address);
    const at = this.#arena.integerOffset(address) + VERDICT;
    const verdict = page[at] as number;
    if (verdict >> 1 === this.#property) return (verdict & 1) !== 0;
    const holds = this.holdFor(address, this.#stated as StatedFacts);
    page[at] = (this.#property << 1) | (holds ? 1 : 0);
    return holds;
  }

  holdFor(address: number, stated: StatedFacts): boolean {
    const page = this.#arena.integersAt(address);
    const head = this.#arena.integerOffset(address);
    const needs = page[head + NEEDS] as number;
    if (needs !== 0 && (needs & stated.denied) !== 0) return false;
    const asked = page[head + SETS] as number;
    if (asked !== 0 && (bytesSet(asked) & ~bytesSet(asked & stated.sets)) !== 0) return false;
    const orMissing = page[head + OR_MISSING] as number;
    const { present, absent } = stated.features;
    const lacking = (orMissing & FEATURES_CRITERION) === 0 ? ~present : absent;
    if (((page[head + INCLUDED] as number) & lacking) !== 0) return false;
    if (((page[head + EXCLUDED] as number) & present) !== 0) return false;
    return this.#areBoundsKept(address, page[head + BOUNDS] as number, orMissing, stated);
  }

  #areBoundsKept(address: number, bounds: number, orMissing: number, stated: StatedFacts): boolean {
    const numbers = this.#arena.numbersAt(address);
    let next = this.#arena.numberOffset(address) + HEAD_WORDS;
    for (let rest = bounds; rest !== 0; ) {
      const range = (31 - Math.clz32(rest & -rest)) >> 1;
      const bits = (rest >> (2 * range)) & 3;
      rest &= ~(3 << (2 * range));
      const min = (bits & 1) === 0 ? -Infinity : (numbers[next++] as number);
      const max = (bits & 2) === 0 ? Infinity : (numbers[next++] as number);
      const values = stated.valuesOf(range);
      let isWithin = values.length === 0 && (orMissing & (RANGE_CRITERIA[range] as number)) !== 0;
      for (let i = 0; i < values.length; i++) isWithin ||= (values[i] as number) >= min && (values[i] as number) <= max;
      if (!isWithin) return false;
    }
    return true;
  }
}

/** For `use`. False without any; null where a value has no place in them. */
export function writeConditions(criteria: Criteria): boolean | null {
  const { orMissing, includedFeatures, excludedFeatures } = criteria;
  const needs = needsOf(criteria);
  const bounds = writeBounds(criteria);
  const sets = setsAsked(criteria);
  if (needs === null || bounds === null || sets === null) return null;
  integers[VERDICT] = integers[USES] = 0;
  integers[BOUNDS] = bounds;
  integers[OR_MISSING] = orMissing & OWN_OR_MISSING;
  integers[NEEDS] = needsAmong(needs, orMissing);
  integers[SETS] = sets;
  integers[INCLUDED] = includedFeatures;
  integers[EXCLUDED] = excludedFeatures;
  return (bounds | integers[NEEDS] | sets | includedFeatures | excludedFeatures) !== 0;
}

/** Null when one is not a number. */
function writeBounds(criteria: Criteria): number | null {
  let bits = 0;
  let top = HEAD_WORDS;
  for (const [position, { name }] of RANGES.entries()) {
    const { min, max } = criteria[name];
    if (Number.isNaN(min) || Number.isNaN(max)) return null;
    if (isRecorded(position, criteria.orMissing)) continue;
    if (min !== null) scratch[top++] = min;
    if (max !== null) scratch[top++] = max;
    bits |= ((min === null ? 0 : 1) | (max === null ? 0 : 2)) << (2 * position);
  }
  return bits;
}

/** Null with an unknown code or letter. */
function setsAsked(criteria: Criteria): number | null {
  let sets = 0;
  for (const { row, criterion, shift } of SET_CRITERIA) {
    const values = criteria[row.name];
    const set = setOf(row, values);
    if (set === null) return null;
    const acceptsUnknown = (criteria.orMissing & criterion) !== 0;
    if (set === 0 || isInRow(row, values.length, acceptsUnknown)) continue;
    sets |= (acceptsUnknown ? set | UNKNOWN_IN_SET : set) << shift;
  }
  return sets;
}

/** With as many bounds as have a bit. */
function wordsOf(bounds: number): number {
  let words = HEAD_WORDS;
  for (let rest = bounds; rest !== 0; rest &= rest - 1) words += 1;
  return words;
}

/** All that is written but the verdict and the uses. */
function keyOf(words: number): string {
  return String.fromCharCode(...shorts.subarray(4, 4 * words));
}
