/**
 * All rows and the way from a property to those that pass: the places it lies in by key, the areas round it by R-tree,
 * then the kernel over the groups of every leaf that accepts its kind.
 */

import type { CircleRow } from './area-geometry.ts';
import { AreaTree, type RowList } from './area-tree.ts';
import type { CodeTable } from './code-table.ts';
import { createKernel, GROUP_LIST, GROUP_LIST_MAX, KERNEL_BYTES, type Kernel } from './kernel/kernel.ts';
import { PlaceTable } from './place-table.ts';
import { type Codes, type PropertyView, writePlace, writeQuery } from './property-view.ts';
import { GroupMemory, groupBytes, LANES, NEEDS_EXACT_CHECK, type Row } from './row-groups.ts';
import { RowTrees } from './row-tree.ts';
import type { RowPlaces } from './search-rows.ts';
import { AXIS, CHUNK, IS_LEAF, LEFT, NODE_ACCEPTS, RIGHT, ROWS } from './tree-nodes.ts';

/** Receives the kernel's answers before the next call overwrites them. */
export type TakeAnswers = (sureCount: number) => void;

export class CandidateRows implements RowList {
  readonly memory = new GroupMemory(KERNEL_BYTES);
  readonly kernel: Kernel;
  readonly #codes: Codes;
  /** Of places, and of what is everywhere. */
  readonly #trees = new RowTrees(this.memory, null);
  readonly #insee = new PlaceTable(this.#trees);
  readonly #departments = new PlaceTable(this.#trees);
  readonly #zipcodes = new PlaceTable(this.#trees);
  readonly #stems = new PlaceTable(this.#trees);
  #everywhere = 0;
  readonly #areas = new AreaTree(this.memory);
  #rowCount = 0;
  /** Of the property at hand. */
  #view: PropertyView | null = null;
  #take: TakeAnswers | null = null;
  #hasArea = false;
  #listed = 0;
  /** Groups tested for the last property. */
  #tested = 0;

  constructor(codes: Codes, simd: boolean | null) {
    this.#codes = codes;
    this.kernel = createKernel(this.memory, simd);
  }

  get counts(): { rows: number; areaLeaves: number; places: number; testedGroups: number } {
    const places = this.#insee.size + this.#departments.size + this.#zipcodes.size + this.#stems.size;
    return { rows: this.#rowCount, areaLeaves: this.#areas.leafCount, places, testedGroups: this.#tested };
  }

  insert(row: Row, places: RowPlaces): void {
    insertAll(this.#insee, this.#codes.insee, places.inseeCodes, row);
    insertAll(this.#departments, this.#codes.departments, places.departmentCodes, row);
    insertAll(this.#zipcodes, this.#codes.zipcodes, places.zipcodes, row);
    for (const stem of places.stems) this.#stems.insert(stem, row);
    const { attention } = row;
    for (const circle of places.circles) this.#areas.insert(areaRow(row, circle, attention));
    row.attention = attention;
    const count = rowCountOf(places);
    if (count === 0) this.#everywhere = this.#trees.insert(this.#everywhere, row);
    this.#rowCount += Math.max(count, 1);
  }

  remove(row: Row, places: RowPlaces): void {
    removeAll(this.#insee, this.#codes.insee, places.inseeCodes, row);
    removeAll(this.#departments, this.#codes.departments, places.departmentCodes, row);
    removeAll(this.#zipcodes, this.#codes.zipcodes, places.zipcodes, row);
    for (const stem of places.stems) this.#stems.remove(stem, row);
    const { attention } = row;
    for (const circle of places.circles) this.#areas.remove(areaRow(row, circle, attention));
    row.attention = attention;
    const count = rowCountOf(places);
    if (count === 0) this.#everywhere = this.#trees.remove(this.#everywhere, row);
    this.#rowCount -= Math.max(count, 1);
  }

  /** `presentStems` is asked for only when some search is kept by stem. */
  find(view: PropertyView, presentStems: () => readonly number[], take: TakeAnswers): void {
    writeQuery(view, this.memory);
    this.#tested = 0;
    this.#view = view;
    this.#take = take;
    const { facts } = view;
    this.#hasArea = false;
    for (const code of view.inseeCodes) this.#visitTree(this.#insee.rootOf(code));
    this.#visitTree(this.#departments.rootOf(view.departmentCode));
    for (const code of view.zipcodes) this.#visitTree(this.#zipcodes.rootOf(code));
    if (this.#stems.size > 0) for (const stem of presentStems()) this.#visitTree(this.#stems.rootOf(stem));
    this.#visitTree(this.#everywhere);
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
    const sureCount = this.kernel.filter(this.#listed, this.#hasArea);
    this.#tested += this.#listed;
    this.#listed = 0;
    this.#take?.(sureCount);
  }
}

/** Each row is one use of the code of its place. */
function insertAll(table: PlaceTable, codes: CodeTable, texts: readonly string[], row: Row): void {
  for (const text of texts) table.insert(codes.use(text), row);
}

function removeAll(table: PlaceTable, codes: CodeTable, texts: readonly string[], row: Row): void {
  for (const text of texts) {
    const code = codes.codeOf(text);
    table.remove(code, row);
    codes.release(code);
  }
}

function rowCountOf({ inseeCodes, departmentCodes, zipcodes, stems, circles }: RowPlaces): number {
  return inseeCodes.length + departmentCodes.length + zipcodes.length + stems.length + circles.length;
}

/** `row`, moved to one of its areas. `attention`: what all its rows need. */
function areaRow(row: Row, { latitude, longitude, reach, isDecisive }: CircleRow, attention: number): Row {
  row.latitude = latitude;
  row.longitude = longitude;
  row.reach = reach;
  row.attention = isDecisive ? attention : attention | NEEDS_EXACT_CHECK;
  return row;
}
