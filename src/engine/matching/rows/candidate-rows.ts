/**
 * Stores all rows, and finds those that a property passes. The property's places, words and location determine leaves
 * of rows. The kernel then tests the groups of each leaf that accepts the property's kind.
 */

import { KERNEL_BASE64 } from '../kernel/bytes.ts';
import { GROUP_LIST, GROUP_LIST_MAX, KERNEL_BYTES, LANES } from '../kernel/layout.ts';
import { mayLackText, type PropertyView, writePlace, writeQuery } from '../property-view.ts';
import type { CircleRow } from './area-geometry.ts';
import { AreaTree, type RowList } from './area-tree.ts';
import {
  GroupMemory,
  groupBytes,
  NEEDS_CONDITION_CHECK,
  NEEDS_EXACT_CHECK,
  NEEDS_SHAPE_CHECK,
  NEEDS_TEXT_CHECK,
  type Row,
} from './row-groups.ts';
import { RowTrees } from './row-tree.ts';
import { NO_TEXT, type PlaceCodes, type SearchRows } from './search-rows.ts';
import { compileKernel } from './shared-memory.ts';
import { AXIS, CHUNK, IS_LEAF, LEFT, NODE_ACCEPTS, RIGHT, ROWS } from './tree-nodes.ts';

type RowAct = 'insert' | 'remove';

/** The only code in the table of rows without a place, area or term. */
const EVERYWHERE = 1;

/** Tests the first `groupCount` listed groups, and returns the number of sure answers. */
export type KernelFilter = (groupCount: number, hasArea: boolean) => number;

/** Instantiates the SIMD kernel of `kernel/source.ts`, which tests one property against listed groups of rows. */
export function createKernel({ memory }: GroupMemory): KernelFilter {
  const { exports } = new WebAssembly.Instance(compileKernel(KERNEL_BASE64), { vigie: { memory } });
  const filter = exports.filter as (groupCount: number, hasArea: number) => number;
  return (groupCount, hasArea) => filter(groupCount, hasArea ? 1 : 0);
}

/** Called with the kernel's answers, which the next call of the kernel overwrites. */
export type TakeAnswers = (sureCount: number) => void;

export class CandidateRows implements RowList {
  readonly memory = new GroupMemory(KERNEL_BYTES);
  readonly #filter = createKernel(this.memory);
  /** The trees of rows without areas: one for each place, excluded place and term, and one for all other rows. */
  readonly #trees = new RowTrees(this.memory, null);
  readonly #places = new PlaceTables(this.#trees);
  readonly #terms = new PlaceTable(this.#trees);
  readonly #everywhere = new PlaceTable(this.#trees);
  /** For each place, the rows of the searches that exclude the place. */
  readonly #excluded = new PlaceTables(this.#trees);
  readonly #areas = new AreaTree(this.memory);
  /** The property that is being matched; null between two calls. */
  #view: PropertyView | null = null;
  #take: TakeAnswers | null = null;
  #hasArea = false;
  /** Number of listed groups. */
  #listed = 0;
  /** Number of groups that were tested for the last property. */
  #tested = 0;

  get testedGroups(): number {
    return this.#tested;
  }

  /** Inserts or removes the rows of a search. */
  change(rows: SearchRows, act: RowAct): void {
    const { row, places, terms, excluded, circles } = rows;
    this.#places.forEach(places, row, act);
    this.#excluded.forEach(excluded, row, act);
    for (let i = 0; i < terms.length; i++) this.#terms[act](terms.at(i), row);
    if (rows.isEverywhere) this.#everywhere[act](EVERYWHERE, row);
    const { attention } = row;
    for (const circle of circles) this.#areas[act](areaRow(row, circle, attention));
  }

  /**
   * Calls `exclude` for the rows of searches that exclude a place of the property, and then `take` for the candidates.
   * Calls `presentTerms` only if the table of terms has rows.
   */
  find(view: PropertyView, presentTerms: () => Int32Array, exclude: TakeAnswers, take: TakeAnswers): void {
    writeQuery(view, this.memory);
    this.#tested = 0;
    this.#view = view;
    const { facts } = view;
    this.#hasArea = false;
    this.#take = exclude;
    this.#visitPlaces(this.#excluded, view);
    this.#flush();
    this.#take = take;
    this.#visitPlaces(this.#places, view);
    if (this.#terms.size > 0) {
      for (const term of presentTerms()) this.#visitTree(this.#terms.rootOf(term));
      if (mayLackText(view)) this.#visitTree(this.#terms.rootOf(NO_TEXT));
    }
    this.#visitTree(this.#everywhere.rootOf(EVERYWHERE));
    this.#flush();
    if (facts.lat === null || facts.lon === null) return;
    this.#hasArea = true;
    for (const lon of this.#areas.longitudesOf(facts.lon)) {
      writePlace(facts.lat, lon, this.memory);
      this.#areas.list(facts.lat, lon, view.typeBit, view.transactionBit, this);
      this.#flush();
    }
  }

  addRows(chunk: number, rowCount: number): void {
    const step = groupBytes(this.#hasArea);
    for (let group = chunk, left = rowCount; left > 0; group += step, left -= LANES) {
      if (this.#listed === GROUP_LIST_MAX) this.#flush();
      this.memory.integers[(GROUP_LIST >> 2) + this.#listed++] = group;
    }
  }

  #visitPlaces({ insee, departments, zipcodes }: PlaceTables, view: PropertyView): void {
    for (const code of view.inseeCodes) this.#visitTree(insee.rootOf(code));
    this.#visitTree(departments.rootOf(view.departmentCode));
    for (const code of view.zipcodes) this.#visitTree(zipcodes.rootOf(code));
  }

  #visitTree(root: number): void {
    if (root === 0) return;
    const { typeBit, transactionBit } = this.#view as PropertyView;
    this.#visit(root, typeBit, transactionBit);
  }

  #visit(node: number, typeBit: number, transactionBit: number): void {
    const { integers } = this.memory;
    const accepts = integers[node + NODE_ACCEPTS] as number;
    if ((accepts & typeBit) === 0 || (accepts & transactionBit) === 0) return;
    if (integers[node + AXIS] === IS_LEAF) {
      this.addRows(integers[node + CHUNK] as number, integers[node + ROWS] as number);
      return;
    }
    this.#visit(integers[node + LEFT] as number, typeBit, transactionBit);
    this.#visit(integers[node + RIGHT] as number, typeBit, transactionBit);
  }

  #flush(): void {
    if (this.#listed === 0) return;
    const sureCount = this.#filter(this.#listed, this.#hasArea);
    this.#tested += this.#listed;
    this.#listed = 0;
    this.#take?.(sureCount);
  }
}

/** Writes one of the search's areas to `row`. `attention` is that of all rows of the search. */
function areaRow(row: Row, { latitude, longitude, reach, isDecisive, isPolygon }: CircleRow, attention: number): Row {
  row.latitude = latitude;
  row.longitude = longitude;
  row.reach = reach;
  // If the row also needs another check, its source must be the record, which has the addresses for both checks.
  const hasOther = (attention & (NEEDS_TEXT_CHECK | NEEDS_CONDITION_CHECK)) !== 0;
  const check = isPolygon && !hasOther ? NEEDS_SHAPE_CHECK : NEEDS_EXACT_CHECK;
  row.attention = isDecisive ? attention : attention | check;
  return row;
}

/** A table of rows for each kind of place that searches name. */
class PlaceTables {
  readonly insee: PlaceTable;
  readonly departments: PlaceTable;
  readonly zipcodes: PlaceTable;

  constructor(trees: RowTrees) {
    this.insee = new PlaceTable(trees);
    this.departments = new PlaceTable(trees);
    this.zipcodes = new PlaceTable(trees);
  }

  forEach({ inseeCodes, departments, zipcodes }: PlaceCodes, row: Row, act: RowAct): void {
    for (let i = 0; i < inseeCodes.length; i++) this.insee[act](inseeCodes.at(i), row);
    for (let i = 0; i < departments.length; i++) this.departments[act](departments.at(i), row);
    for (let i = 0; i < zipcodes.length; i++) this.zipcodes[act](zipcodes.at(i), row);
  }
}

class PlaceTable {
  readonly #trees: RowTrees;
  /** Roots of trees by code; 0 means no tree. */
  #roots = new Int32Array(1024);
  #size = 0;

  constructor(trees: RowTrees) {
    this.#trees = trees;
  }

  get size(): number {
    return this.#size;
  }

  /** The root of the tree for a code; 0 if it has no rows. */
  rootOf(code: number): number {
    return this.#roots[code] ?? 0;
  }

  insert(code: number, row: Row): void {
    this.#makeRoom(code);
    const root = this.#roots[code] as number;
    if (root === 0) this.#size += 1;
    this.#roots[code] = this.#trees.insert(root, row);
  }

  /** `row` must be in the table. */
  remove(code: number, row: Row): void {
    const root = this.#trees.remove(this.#roots[code] as number, row);
    this.#roots[code] = root;
    if (root === 0) this.#size -= 1;
  }

  #makeRoom(code: number): void {
    if (code < this.#roots.length) return;
    const longer = new Int32Array(2 * code);
    longer.set(this.#roots);
    this.#roots = longer;
  }
}
