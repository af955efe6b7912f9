/**
 * All rows and the way from a property to those that pass: the places it lies in by key, the areas round it by R-tree,
 * then the kernel over the groups of every leaf that accepts its kind.
 */

import type { CircleRow } from './area-geometry.ts';
import { AreaTree, type LeafList } from './area-tree.ts';
import type { CodeTable } from './code-table.ts';
import { createKernel, GROUP_LIST, GROUP_LIST_MAX, KERNEL_BYTES, type Kernel } from './kernel/kernel.ts';
import { Leaf, type TreeNode } from './leaf.ts';
import { PlaceTable } from './place-table.ts';
import { type Codes, type PropertyView, writePlace, writeQuery } from './property-view.ts';
import { CHUNK_ROWS_MAX, GroupMemory, groupBytes, LANES, NEEDS_EXACT_CHECK, type Row } from './row-groups.ts';
import { RowTree } from './row-tree.ts';
import type { RowPlaces } from './search-rows.ts';

/** Receives the kernel's answers before the next call overwrites them. */
export type TakeAnswers = (sureCount: number) => void;

export class CandidateRows implements LeafList {
  readonly memory = new GroupMemory(KERNEL_BYTES);
  readonly kernel: Kernel;
  readonly #codes: Codes;
  readonly #insee = new PlaceTable(this.memory);
  readonly #departments = new PlaceTable(this.memory);
  readonly #zipcodes = new PlaceTable(this.memory);
  readonly #stems = new PlaceTable(this.memory);
  readonly #everywhere = new RowTree(this.memory, null);
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
    if (count === 0) this.#everywhere.insert(row);
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
    if (count === 0) this.#everywhere.remove(row);
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
    for (const code of view.inseeCodes) this.#visitTree(this.#insee.treeOf(code));
    this.#visitTree(this.#departments.treeOf(view.departmentCode));
    for (const code of view.zipcodes) this.#visitTree(this.#zipcodes.treeOf(code));
    if (this.#stems.size > 0) for (const stem of presentStems()) this.#visitTree(this.#stems.treeOf(stem));
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

  addLeaf({ firstChunk, chunks, rowCount }: Leaf): void {
    if (rowCount <= CHUNK_ROWS_MAX) {
      this.addRows(firstChunk, rowCount);
      return;
    }
    for (let i = 0, left = rowCount; i < chunks.length; i++, left -= CHUNK_ROWS_MAX) {
      this.addRows(chunks[i] as number, Math.min(CHUNK_ROWS_MAX, left));
    }
  }

  #visitTree(tree: RowTree | undefined): void {
    if (tree === undefined) return;
    const { typeBit, transactionBit } = this.#view as PropertyView;
    this.#visit(tree.root, typeBit, transactionBit);
  }

  #visit(node: TreeNode, typeBit: number, transactionBit: number): void {
    if ((node.accepts & typeBit) === 0 || (node.accepts & transactionBit) === 0) return;
    if (node instanceof Leaf) {
      this.addLeaf(node);
      return;
    }
    this.#visit(node.left, typeBit, transactionBit);
    this.#visit(node.right, typeBit, transactionBit);
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
