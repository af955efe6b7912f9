/**
 * All rows and the way from a property to those that pass: the places it lies in by key, the areas round it by R-tree,
 * then the kernel over the groups of every leaf that accepts its kind.
 */

import { AreaTree } from './area-tree.ts';
import { createKernel, GROUP_LIST, GROUP_LIST_MAX, KERNEL_BYTES, type Kernel } from './kernel/kernel.ts';
import { PlaceTable } from './place-table.ts';
import { type PropertyView, writePlace, writeQuery } from './property-view.ts';
import { GroupMemory, NEEDS_EXACT_CHECK, type Row } from './row-groups.ts';
import { Leaf, RowTree, type TreeNode } from './row-tree.ts';
import type { RowPlaces } from './search-rows.ts';

/** Receives the kernel's answers before the next call overwrites them. */
export type TakeAnswers = (sureCount: number) => void;

export class CandidateRows {
  readonly memory = new GroupMemory(KERNEL_BYTES);
  readonly kernel: Kernel;
  readonly #insee = new PlaceTable<string>(this.memory);
  readonly #departments = new PlaceTable<string>(this.memory);
  readonly #zipcodes = new PlaceTable<string>(this.memory);
  readonly #stems = new PlaceTable<number>(this.memory);
  readonly #everywhere = new RowTree(this.memory, null);
  readonly #areas = new AreaTree(this.memory);
  #rowCount = 0;
  #listed = 0;
  /** Groups tested for the last property. */
  #tested = 0;

  constructor(simd: boolean | null) {
    this.kernel = createKernel(this.memory, simd);
  }

  get counts(): { rows: number; areaLeaves: number; places: number; testedGroups: number } {
    const places = this.#insee.size + this.#departments.size + this.#zipcodes.size + this.#stems.size;
    return { rows: this.#rowCount, areaLeaves: this.#areas.leafCount, places, testedGroups: this.#tested };
  }

  insert(row: Row, places: RowPlaces): void {
    let rows = 0;
    const insertAt = <Key>(table: PlaceTable<Key>, keys: readonly Key[]): void => {
      for (const key of keys) table.insert(key, row);
      rows += keys.length;
    };
    insertAt(this.#insee, places.inseeCodes);
    insertAt(this.#departments, places.departmentCodes);
    insertAt(this.#zipcodes, places.zipcodes);
    insertAt(this.#stems, places.stems);
    this.#eachArea(row, places, (area) => this.#areas.insert(area));
    rows += places.circles.length;
    if (rows === 0) this.#everywhere.insert(row);
    this.#rowCount += Math.max(rows, 1);
  }

  remove(row: Row, places: RowPlaces): void {
    let rows = 0;
    const removeAt = <Key>(table: PlaceTable<Key>, keys: readonly Key[]): void => {
      for (const key of keys) mustRemove(table.remove(key, row), row);
      rows += keys.length;
    };
    removeAt(this.#insee, places.inseeCodes);
    removeAt(this.#departments, places.departmentCodes);
    removeAt(this.#zipcodes, places.zipcodes);
    removeAt(this.#stems, places.stems);
    this.#eachArea(row, places, (area) => mustRemove(this.#areas.remove(area), area));
    rows += places.circles.length;
    if (rows === 0) mustRemove(this.#everywhere.remove(row), row);
    this.#rowCount -= Math.max(rows, 1);
  }

  /** `presentStems` is asked for only when some search is kept by stem. */
  find(view: PropertyView, presentStems: () => readonly number[], take: TakeAnswers): void {
    writeQuery(view, this.memory);
    this.#tested = 0;
    const { facts } = view;
    const visit = (tree: RowTree | undefined): void => {
      if (tree !== undefined) this.#visit(tree.root, view, take);
    };
    for (const code of facts.inseeCodes) visit(this.#insee.treeOf(code));
    if (facts.departmentCode !== null) visit(this.#departments.treeOf(facts.departmentCode));
    for (const zipcode of facts.zipcodes) visit(this.#zipcodes.treeOf(zipcode));
    if (this.#stems.size > 0) for (const stem of presentStems()) visit(this.#stems.treeOf(stem));
    visit(this.#everywhere);
    this.#flush(false, take);
    if (facts.lat !== null && facts.lon !== null) this.#findAreas(facts.lat, facts.lon, view, take);
  }

  #findAreas(lat: number, lon: number, view: PropertyView, take: TakeAnswers): void {
    let written = Number.NaN;
    this.#areas.visit(lat, lon, (leaf, leafLon) => {
      if (!accepts(leaf, view)) return;
      if (leafLon !== written) {
        this.#flush(true, take);
        writePlace(lat, leafLon, this.memory);
        written = leafLon;
      }
      this.#list(leaf, true, take);
    });
    this.#flush(true, take);
  }

  #visit(node: TreeNode, view: PropertyView, take: TakeAnswers): void {
    if (!(node instanceof Leaf)) {
      this.#visit(node.left, view, take);
      this.#visit(node.right, view, take);
    } else if (accepts(node, view)) {
      this.#list(node, false, take);
    }
  }

  #list({ groups }: Leaf, hasArea: boolean, take: TakeAnswers): void {
    for (let i = 0; i < groups.length; i++) {
      if (this.#listed === GROUP_LIST_MAX) this.#flush(hasArea, take);
      this.memory.integers[(GROUP_LIST >> 2) + this.#listed++] = groups[i] as number;
    }
  }

  #flush(hasArea: boolean, take: TakeAnswers): void {
    if (this.#listed === 0) return;
    const sureCount = this.kernel.filter(this.#listed, hasArea);
    this.#tested += this.#listed;
    this.#listed = 0;
    take(sureCount);
  }

  #eachArea(row: Row, { circles }: RowPlaces, act: (row: Row) => void): void {
    if (circles.length === 0) return;
    const { attention } = row;
    for (const { latitude, longitude, reach, isDecisive } of circles) {
      row.latitude = latitude;
      row.longitude = longitude;
      row.reach = reach;
      row.attention = isDecisive ? attention : attention | NEEDS_EXACT_CHECK;
      act(row);
    }
    row.attention = attention;
  }
}

function accepts(leaf: Leaf, view: PropertyView): boolean {
  return (leaf.accepts & view.typeBit) !== 0 && (leaf.accepts & view.transactionBit) !== 0;
}

function mustRemove(isRemoved: boolean, row: Row): void {
  if (!isRemoved) throw new Error(`search ${row.number} has lost a row`);
}
