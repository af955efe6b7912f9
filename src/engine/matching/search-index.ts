/**
 * Matches one property against all saved searches in memory, while searches are added and removed. The answer is
 * exactly that of `satisfies` in `domain/criteria`.
 *
 * The index filters and then refines. A search has rows of quantised columns, for example one for each area that it
 * names (`search-rows`). The kernel tests the rows that the property's places, location and words select
 * (`candidate-rows`). For the few rows that the columns leave open, the record (`criteria-record`) decides.
 */

import { branchesOf, type Criteria, satisfies } from '../domain/criteria.ts';
import type { SearchNumber } from '../domain/ids.ts';
import { requestedCombinations } from '../domain/point-distances.ts';
import { type PropertyFacts, sameFacts } from '../domain/property-facts.ts';
import { CategoryBits } from './category-bits.ts';
import { CodeTable } from './code-table.ts';
import { CHECK_ANSWERS, CHECK_COUNT, CHECK_INTEGERS, LANES, OPEN_ROW, SURE_ANSWERS } from './kernel/layout.ts';
import { type PropertyView, readTexts, textsOf, viewOf } from './property-view.ts';
import { RecordArena } from './records/arena.ts';
import { holdsInRecord } from './records/check.ts';
import { AWAIT_TEXT, Conditions, HOLD } from './records/conditions.ts';
import {
  conditionsAt,
  expressionAt,
  freeRecord,
  isPartial,
  type RecordTables,
  writeRecord,
} from './records/criteria-record.ts';
import { NumberList } from './records/number-list.ts';
import { PolygonShapes } from './records/polygon-shapes.ts';
import { CandidateRows } from './rows/candidate-rows.ts';
import {
  isOfRecord,
  NEEDS_CONDITION_CHECK,
  NEEDS_EXACT_CHECK,
  NEEDS_SHAPE_CHECK,
  NEEDS_TEXT_CHECK,
  REPEATS,
} from './rows/row-groups.ts';
import { SearchRows } from './rows/search-rows.ts';
import { SearchAddresses } from './search-addresses.ts';
import type { StatedFacts } from './stated-facts.ts';
import { ExpressionTable } from './text/expression-table.ts';

export interface SearchIndexStats {
  readonly searches: number;
  /** Number of groups of sixteen rows that are in use. */
  readonly blocks: number;
  readonly expressions: number;
  /** Number of different conditions. */
  readonly conditions: number;
  /** Number of rows, including unused lanes, that the kernel tested for the last property. */
  readonly testedRows: number;
  /** Bytes of rows, records and their addresses. All other objects of the index take about a twentieth of this. */
  readonly bytes: number;
}

export class SearchIndex {
  readonly #expressions = new ExpressionTable();
  readonly #shapes = new PolygonShapes();
  readonly #categories = new CategoryBits();
  readonly #conditions = new Conditions(this.#categories, this.#expressions);
  readonly #tables: RecordTables = {
    insee: new CodeTable(),
    departments: new CodeTable(),
    zipcodes: new CodeTable(),
    expressions: this.#expressions,
    shapes: this.#shapes,
    conditions: this.#conditions,
  };
  readonly #records = new RecordArena();
  /** The record of each search; of a search with alternatives, that of the first. */
  readonly #addresses = new SearchAddresses();
  /** The records of the other alternatives, for searches with more than one. */
  readonly #others = new Map<SearchNumber, readonly number[]>();
  /** Criteria of the searches with a partial record (`criteria-record`). */
  readonly #unusual = new Map<SearchNumber, Criteria>();
  readonly #rows = new CandidateRows();
  readonly #searchRows = new SearchRows(this.#records, this.#expressions, this.#shapes);
  /** The property that is being matched; null between two calls. */
  #view: PropertyView | null = null;
  readonly #matched = new NumberList<SearchNumber>();
  /**
   * The facts to which `#matched` is the answer; null after a search has changed. If a property changes several times
   * in a row, its facts before a change are those after the previous change.
   */
  #lastFacts: PropertyFacts | null = null;
  /** Rows that wait for the text of some adverts, by the facts with these adverts: number, conditions and attention. */
  readonly #awaiting = new Map<StatedFacts, number[]>();

  get size(): number {
    return this.#addresses.size;
  }

  /** Keys (`combinationKey`) of the combinations of facility and attributes that searches name. */
  get combinations(): readonly string[] {
    const unusual = [...this.#unusual.values()].flatMap(requestedCombinations);
    return [...new Set([...this.#conditions.combinations, ...unusual])];
  }

  has(number: SearchNumber): boolean {
    return this.#addresses.get(number) !== null;
  }

  /** Adds a search, or replaces its criteria. */
  upsert(number: SearchNumber, criteria: Criteria): void {
    this.delete(number);
    this.#lastFacts = null;
    const branches = branchesOf(criteria);
    this.#shapes.startSearch();
    const addresses = branches.map((branch) => writeRecord(branch, this.#records, this.#tables));
    if (addresses.some((address) => isPartial(address, this.#records))) this.#unusual.set(number, criteria);
    this.#addresses.add(number, addresses[0] as number);
    if (addresses.length > 1) this.#others.set(number, addresses.slice(1));
    for (const address of addresses) {
      this.#searchRows.read(number, address, addresses.length > 1);
      this.#rows.change(this.#searchRows, 'insert');
    }
  }

  /** Removes a search. False if it is not in the index. */
  delete(number: SearchNumber): boolean {
    const address = this.#addresses.get(number);
    if (address === null) return false;
    this.#lastFacts = null;
    const others = this.#others.get(number);
    this.#remove(number, address, others !== undefined);
    for (const other of others ?? []) this.#remove(number, other, true);
    this.#others.delete(number);
    this.#addresses.delete(number);
    this.#unusual.delete(number);
    return true;
  }

  #remove(number: SearchNumber, address: number, isOneOfSeveral: boolean): void {
    this.#searchRows.read(number, address, isOneOfSeveral);
    this.#rows.change(this.#searchRows, 'remove');
    freeRecord(address, this.#records, this.#tables);
  }

  /** The searches that the property satisfies, without duplicates and in no particular order. */
  match(facts: PropertyFacts): SearchNumber[] {
    if (facts.adverts.length === 0) return [];
    if (this.#lastFacts !== null && sameFacts(facts, this.#lastFacts)) return this.#matched.toArray();
    const view = viewOf(facts, this.#tables, this.#categories);
    this.#lastFacts = null;
    this.#view = view;
    this.#conditions.read(view);
    this.#addresses.startRound();
    this.#matched.clear();
    this.#rows.find(view, this.#presentTerms, this.#exclude, this.#takeAnswers);
    this.#readOtherTexts(view);
    this.#view = null;
    this.#lastFacts = facts;
    return this.#matched.toArray();
  }

  stats(): SearchIndexStats {
    const { memory, testedGroups } = this.#rows;
    return {
      searches: this.size,
      blocks: memory.groupsInUse,
      expressions: this.#expressions.size,
      conditions: this.#conditions.size,
      testedRows: testedGroups * LANES,
      bytes:
        memory.carvedBytes +
        this.#records.bytes +
        this.#shapes.bytes +
        this.#conditions.bytes +
        this.#expressions.bytes +
        this.#addresses.bytes,
    };
  }

  readonly #presentTerms = (): Int32Array => {
    readTexts(this.#view as PropertyView, this.#expressions);
    return this.#expressions.text.terms;
  };

  readonly #takeAnswers = (sureCount: number): void => {
    const first = SURE_ANSWERS >> 2;
    this.#matched.addAll(this.#rows.memory.integers, first, first + sureCount);
    this.#check(this.#view as PropertyView);
  };

  /** Marks searches that exclude a place of the property as already found. */
  readonly #exclude = (sureCount: number): void => {
    const { integers } = this.#rows.memory;
    const [sure, open] = [SURE_ANSWERS >> 2, CHECK_ANSWERS >> 2];
    const openEnd = open + CHECK_INTEGERS * (integers[CHECK_COUNT >> 2] as number);
    for (let at = sure; at < sure + sureCount; at++) this.#addresses.meet(integers[at] as SearchNumber);
    for (let at = open; at < openEnd; at += CHECK_INTEGERS) this.#addresses.meet(integers[at] as SearchNumber);
  };

  /** Decides the rows that the kernel has listed to be checked. */
  #check(view: PropertyView): void {
    const { integers } = this.#rows.memory;
    const { lat, lon } = view.facts;
    const end = (CHECK_ANSWERS >> 2) + CHECK_INTEGERS * (integers[CHECK_COUNT >> 2] as number);
    for (let at = CHECK_ANSWERS >> 2; at < end; at += CHECK_INTEGERS) {
      const number = integers[at] as SearchNumber;
      const attention = integers[at + 2] as number;
      let source = integers[at + 1] as number;
      if ((attention & EXACT_BITS) !== 0) {
        const address = isOfRecord(attention) ? source : (this.#addresses.get(number) as number);
        const others = isOfRecord(attention) ? undefined : this.#others.get(number);
        if (others !== undefined) {
          for (const one of [address, ...others]) this.#checkRecord(number, one, view);
          continue;
        }
        if (!this.#holds(number, address, view)) continue;
        source = conditionsAt(address, this.#records) || expressionAt(address, this.#records);
      } else if ((attention & NEEDS_SHAPE_CHECK) !== 0) {
        if (!this.#shapes.hold(source, lat as number, lon as number)) continue;
      }
      this.#decide(number, source, attention, view);
    }
  }

  /** Decides a row by one record of its search. Needed if the search has several, and the row does not name its own. */
  #checkRecord(number: SearchNumber, address: number, view: PropertyView): void {
    if (!this.#holds(number, address, view)) return;
    const conditions = conditionsAt(address, this.#records);
    const expression = expressionAt(address, this.#records);
    const attention = conditions !== 0 ? NEEDS_CONDITION_CHECK : expression !== 0 ? NEEDS_TEXT_CHECK : 0;
    this.#decide(number, conditions || expression, REPEATS | attention, view);
  }

  /** Adds the search unless its conditions or expressions fail or await a text; `source` is their address or id. */
  #decide(number: SearchNumber, source: number, attention: number, view: PropertyView): void {
    if ((attention & NEEDS_CONDITION_CHECK) !== 0) {
      const verdict = this.#conditions.verdictOf(source);
      if (verdict === AWAIT_TEXT) this.#await(number, source, attention);
      if (verdict !== HOLD) return;
    } else if ((attention & NEEDS_TEXT_CHECK) !== 0) {
      readTexts(view, this.#expressions);
      if (!this.#expressions.holds(source)) return;
    }
    this.#add(number, attention, view);
  }

  #holds(number: SearchNumber, address: number, view: PropertyView): boolean {
    if (isPartial(address, this.#records)) return satisfies(this.#unusual.get(number) as Criteria, view.facts);
    return holdsInRecord(address, this.#records, view, this.#shapes);
  }

  #add(number: SearchNumber, attention: number, { repeatBits }: PropertyView): void {
    if ((attention & repeatBits) === 0 || this.#addresses.meet(number)) this.#matched.add(number);
  }

  #await(number: SearchNumber, conditions: number, attention: number): void {
    const stated = this.#conditions.statedTo(conditions);
    const rows = this.#awaiting.get(stated);
    if (rows === undefined) this.#awaiting.set(stated, [number, conditions, attention]);
    else rows.push(number, conditions, attention);
  }

  /** Decides the rows that wait for the text of some adverts. Reads the texts of each set of adverts once. */
  #readOtherTexts(view: PropertyView): void {
    for (const [{ adverts }, rows] of this.#awaiting) {
      this.#expressions.readPart(textsOf(view.facts, adverts));
      for (let i = 0; i < rows.length; i += 3) {
        if (!this.#conditions.holdInText(rows[i + 1] as number)) continue;
        this.#add(rows[i] as SearchNumber, rows[i + 2] as number, view);
      }
    }
    this.#awaiting.clear();
  }
}

/** A row with one of these attention bits is decided by its record. */
const EXACT_BITS = OPEN_ROW | NEEDS_EXACT_CHECK;
