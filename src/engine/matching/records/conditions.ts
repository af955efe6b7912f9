/**
 * The conditions of a search: the criteria that neither columns nor places cover (limits, codes, letters, features,
 * site categories, publishers and points of interest). They include all criteria, except areas, that an unknown value
 * also satisfies (`orMissing`). If a search has conditions, they also include its expressions. Equal conditions are
 * stored once, and evaluated when the first candidate needs them.
 */

import type { Criteria } from '../../domain/criteria.ts';
import { EXPRESSIONS } from '../../domain/expression-criterion.ts';
import { excludesAdverts } from '../../domain/site-category-criteria.ts';
import { bitOfCriterion } from '../../domain/unknown-criteria.ts';
import { type CategoryBits, UNKNOWN_CATEGORY } from '../category-bits.ts';
import { CodeTable } from '../code-table.ts';
import { NEEDS_OF_ADVERTS, needsAmong, needsOf } from '../needs.ts';
import { TermLists } from '../points/term-lists.ts';
import { type PropertyView, readTexts } from '../property-view.ts';
import { PublisherLists } from '../publisher-lists.ts';
import type { StatedFacts } from '../stated-facts.ts';
import type { ExpressionTable } from '../text/expression-table.ts';
import { RecordArena } from './arena.ts';
import { isRecorded, RANGE_CRITERIA, RANGES } from './layout.ts';
import { bytesSet, isInRow, SET_CRITERIA, setOf, UNKNOWN_IN_SET } from './value-sets.ts';

/** Positions of integers. The first has the last verdict and its property's number, the second the content's code. */
const VERDICT = 0;
const CONTENT = 1;
/** A bit for each limit of these conditions, in the order of `RANGES`, each minimum before its maximum. */
const BOUNDS = 2;
/**
 * The criteria among `RANGES`, features, publishers, points of interest and expressions that an unknown value also
 * satisfies.
 */
const OR_MISSING = 3;
/** Needs that an unknown value also satisfies. */
const NEEDS = 4;
/** A byte for each of `SET_CRITERIA`. */
const SETS = 5;
const INCLUDED = 6;
const EXCLUDED = 7;
/** Site categories as bits (see `category-bits`). */
const INCLUDED_CATEGORIES = 8;
const EXCLUDED_CATEGORIES = 9;
/** If adverts are excluded, the needs that the other adverts must meet. */
const NEEDS_OF_OTHERS = 10;
const EXPRESSION = 11;
/** Ids of lists, see `publisher-lists`. */
const INCLUDED_PUBLISHERS = 12;
const EXCLUDED_PUBLISHERS = 13;
/** Id of a list, see `term-lists`. */
const POINTS = 14;
const HEAD_WORDS = 8;
const WORDS_MAX = HEAD_WORDS + 2 * RANGES.length;
/** The largest number of a property in `VERDICT`. After it, numbers restart. */
const PROPERTIES_MAX = 2 ** 29 - 1;
const FEATURES_CRITERION = bitOfCriterion('includedFeatures');
const EXPRESSIONS_CRITERION = bitOfCriterion('expressions');
const PUBLISHERS_CRITERION = bitOfCriterion('includedPublishers');
const POINTS_CRITERION = bitOfCriterion('pointsOfInterest');
const CATEGORIES_CRITERION = bitOfCriterion('includedSiteCategories');
const OWN_OR_MISSING = RANGE_CRITERIA.reduce(
  (all, criterion) => all | criterion,
  FEATURES_CRITERION | PUBLISHERS_CRITERION | POINTS_CRITERION | EXPRESSIONS_CRITERION,
);

/** Verdicts. `AWAIT_TEXT`: all conditions but the expressions hold, and these need the text of only some adverts. */
export const FAIL = 0;
export const HOLD = 1;
export const AWAIT_TEXT = 2;

const scratch = new Float64Array(WORDS_MAX);
const integers = new Int32Array(scratch.buffer);
const shorts = new Uint16Array(scratch.buffer);

export class Conditions {
  readonly #arena = new RecordArena(WORDS_MAX);
  /** The contents of conditions, as strings. */
  readonly #contents = new CodeTable();
  /** Addresses by the code of the content. */
  readonly #addresses: (number | undefined)[] = [];
  readonly #categories: CategoryBits;
  readonly #expressions: ExpressionTable;
  readonly #publishers = new PublisherLists();
  readonly #points = new TermLists();
  /** Lists of the conditions that were written last. */
  #includedPublishers: readonly string[] = [];
  #excludedPublishers: readonly string[] = [];
  #pointTerms: Criteria['pointsOfInterest'] = [];
  #view: PropertyView | null = null;
  #property = 0;

  constructor(categories: CategoryBits, expressions: ExpressionTable) {
    this.#categories = categories;
    this.#expressions = expressions;
  }

  get size(): number {
    return this.#contents.size;
  }

  get combinations(): Iterable<string> {
    return this.#points.combinations;
  }

  get bytes(): number {
    return this.#arena.bytes;
  }

  /** Prepares the conditions for `use`. Returns false if the criteria have none, null if a value cannot be stored. */
  write(criteria: Criteria): boolean | null {
    const { orMissing, includedFeatures, excludedFeatures, expressions } = criteria;
    const needs = needsOf(criteria);
    const bounds = writeBounds(criteria);
    const sets = requestedSets(criteria);
    const included = this.#categories.add(criteria.includedSiteCategories);
    const excluded = this.#categories.add(criteria.excludedSiteCategories);
    if (needs === null || bounds === null || sets === null || included === null || excluded === null) return null;
    this.#includedPublishers = criteria.includedPublishers;
    this.#excludedPublishers = criteria.excludedPublishers;
    this.#pointTerms = criteria.pointsOfInterest;
    const listed = this.#includedPublishers.length + this.#excludedPublishers.length + this.#pointTerms.length;
    const acceptsNoCategory = included !== 0 && (orMissing & CATEGORIES_CRITERION) !== 0;
    const needsAccepted = needsAmong(needs, orMissing);
    integers[VERDICT] = 0;
    integers[BOUNDS] = bounds;
    integers[OR_MISSING] = orMissing & OWN_OR_MISSING;
    integers[NEEDS] = needsAccepted;
    integers[SETS] = sets;
    integers[INCLUDED] = includedFeatures;
    integers[EXCLUDED] = excludedFeatures;
    integers[INCLUDED_CATEGORIES] = acceptsNoCategory ? included | UNKNOWN_CATEGORY : included;
    integers[EXCLUDED_CATEGORIES] = excluded;
    integers[NEEDS_OF_OTHERS] = excludesAdverts(criteria) ? needs & NEEDS_OF_ADVERTS & ~needsAccepted : 0;
    const acceptsNoText = expressions.length > 0 && (orMissing & EXPRESSIONS_CRITERION) !== 0;
    const bits = bounds | needsAccepted | sets | includedFeatures | excludedFeatures | included | excluded;
    return bits !== 0 || listed > 0 || acceptsNoText;
  }

  /**
   * Stores the last written conditions with this expression, unless equal conditions are stored. Increments the use
   * count and returns the address. The caller keeps the expression in use while it asks for verdicts.
   */
  use(expression: number): number {
    integers[EXPRESSION] = expression;
    integers[INCLUDED_PUBLISHERS] = this.#publishers.use(this.#includedPublishers);
    integers[EXCLUDED_PUBLISHERS] = this.#publishers.use(this.#excludedPublishers);
    integers[POINTS] = this.#points.use(this.#pointTerms);
    const words = wordsOf(integers[BOUNDS] as number);
    // All integers except `VERDICT` and `CONTENT`.
    const content = this.#contents.use(String.fromCharCode(...shorts.subarray(4, 4 * words)));
    const known = this.#addresses[content];
    if (known !== undefined) return known;
    integers[CONTENT] = content;
    const address = this.#arena.allocate(words);
    this.#addresses[content] = address;
    this.#arena.numbersAt(address).set(scratch.subarray(0, words), this.#arena.numberOffset(address));
    return address;
  }

  release(address: number): void {
    const page = this.#arena.integersAt(address);
    const head = this.#arena.integerOffset(address);
    this.#publishers.release(page[head + INCLUDED_PUBLISHERS] as number);
    this.#publishers.release(page[head + EXCLUDED_PUBLISHERS] as number);
    this.#points.release(page[head + POINTS] as number);
    const content = page[head + CONTENT] as number;
    if (!this.#contents.release(content)) return;
    this.#addresses[content] = undefined;
    this.#arena.free(address, wordsOf(page[head + BOUNDS] as number));
  }

  /** Sets the property of the next verdicts. */
  read(view: PropertyView): void {
    this.#view = view;
    this.#publishers.read(view.facts.adverts);
    this.#property += 1;
    if (this.#property <= PROPERTIES_MAX) return;
    this.#property = 1;
    for (const address of this.#addresses) {
      if (address === undefined) continue;
      this.#arena.integersAt(address)[this.#arena.integerOffset(address) + VERDICT] = 0;
    }
  }

  /** The verdict on the last read property: `FAIL`, `HOLD` or `AWAIT_TEXT`. */
  verdictOf(address: number): number {
    const page = this.#arena.integersAt(address);
    const at = this.#arena.integerOffset(address) + VERDICT;
    const known = page[at] as number;
    if (known >> 2 === this.#property) return known & 3;
    const verdict = this.#judge(address, page, this.#arena.integerOffset(address));
    page[at] = (this.#property << 2) | verdict;
    return verdict;
  }

  /** The facts of the property without the adverts that these conditions exclude. */
  statedTo(address: number): StatedFacts {
    return this.#statedTo(this.#arena.integersAt(address), this.#arena.integerOffset(address));
  }

  #statedTo(page: Int32Array, head: number): StatedFacts {
    let { stated } = this.#view as PropertyView;
    const categories = page[head + EXCLUDED_CATEGORIES] as number;
    if (categories !== 0) stated = stated.without(categories);
    const publishers = page[head + EXCLUDED_PUBLISHERS] as number;
    return publishers === 0 ? stated : stated.withoutPublishers(this.#publishers.setOf(publishers), this.#publishers);
  }

  /** Whether the expressions hold, for conditions that await a text. The expression table must have read the text. */
  holdInText(address: number): boolean {
    const expression = this.#arena.integersAt(address)[this.#arena.integerOffset(address) + EXPRESSION];
    return this.#expressions.holds(expression as number);
  }

  #judge(address: number, page: Int32Array, head: number): number {
    const view = this.#view as PropertyView;
    let { stated } = view;
    const orMissing = page[head + OR_MISSING] as number;
    const list = page[head + INCLUDED_PUBLISHERS] as number;
    const publishers = list === 0 ? 0 : this.#publishers.setOf(list);
    const acceptsNoPublisher = (orMissing & PUBLISHERS_CRITERION) !== 0;
    // This test is the cheapest, and decides most searches with a list of included publishers.
    if (list !== 0 && publishers === 0 && !acceptsNoPublisher) return FAIL;
    if (((page[head + EXCLUDED_CATEGORIES] as number) | (page[head + EXCLUDED_PUBLISHERS] as number)) !== 0) {
      stated = this.#statedTo(page, head);
      if (stated.adverts.length === 0) return FAIL;
      if (((page[head + NEEDS_OF_OTHERS] as number) & stated.lacking) !== 0) return FAIL;
    }
    const needs = page[head + NEEDS] as number;
    if (needs !== 0 && (needs & stated.denied) !== 0) return FAIL;
    const requested = page[head + SETS] as number;
    if (requested !== 0 && (bytesSet(requested) & ~bytesSet(requested & stated.sets)) !== 0) return FAIL;
    const categories = page[head + INCLUDED_CATEGORIES] as number;
    if (categories !== 0 && (categories & stated.categories) === 0) return FAIL;
    const { present, absent } = stated.features;
    const lacking = (orMissing & FEATURES_CRITERION) === 0 ? ~present : absent;
    if (((page[head + INCLUDED] as number) & lacking) !== 0) return FAIL;
    if (((page[head + EXCLUDED] as number) & present) !== 0) return FAIL;
    if (!this.#areBoundsKept(address, page[head + BOUNDS] as number, orMissing, stated)) return FAIL;
    const isBy = list === 0 || stated.isBy(publishers, this.#publishers);
    if (!isBy && !(acceptsNoPublisher && stated.isPublisherUnknown)) return FAIL;
    const points = page[head + POINTS] as number;
    if (points !== 0 && !this.#points.hold(points, view.facts.distances, (orMissing & POINTS_CRITERION) !== 0))
      return FAIL;
    const expression = page[head + EXPRESSION] as number;
    if (expression === 0 || ((orMissing & EXPRESSIONS_CRITERION) !== 0 && EXPRESSIONS.isUnknown(stated))) return HOLD;
    if (stated !== view.stated) return AWAIT_TEXT;
    readTexts(view, this.#expressions);
    return this.#expressions.holds(expression) ? HOLD : FAIL;
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

/** Writes the limits that the record lacks, and returns their bits; null if a limit is NaN. */
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

/** The bits of the requested values that no column or need represents; null if a code or letter is unknown. */
function requestedSets(criteria: Criteria): number | null {
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

/** The length of conditions in words. Each bit of `bounds` is one limit. */
function wordsOf(bounds: number): number {
  let words = HEAD_WORDS;
  for (let rest = bounds; rest !== 0; rest &= rest - 1) words += 1;
  return words;
}
