/**
 * A grid of cells over a polygon with many corners. A cell is outside, inside or *mixed*. A mixed cell has a list of
 * the edges and corners that decide in this cell. The test casts a ray to the east and counts the edges that it
 * crosses. The ray never crosses an edge that is clearly west of the cell. It crosses an edge clearly to the east if
 * exactly one corner of the edge is north of the location. So each northern corner counts once per edge, and a corner
 * between two eastern edges cancels out. A corner *turns* if only one of its edges is east of the cell. Such a corner
 * counts if it is north of the location, which is known in advance unless the corner is within the cell's row. Edges in
 * the cell are tested as in `isInPolygon` of `domain/geo`, so the answers are exactly the same.
 */

import { ON_EDGE, sideOfEdge, WEST_OF_EDGE } from '../../domain/geo.ts';
import type { PolygonBox } from '../rows/area-geometry.ts';
import { NumberList } from './number-list.ts';

/** Minimum number of positions for which a grid pays. Rings are closed, so each first position counts twice. */
export const GRID_POSITIONS_MIN = 65;
/** Maximum number of positions, because the head of a list stores twice the number of its edges in sixteen bits. */
export const GRID_POSITIONS_MAX = 0x7fff;
const SIDE_MIN = 4;
const SIDE_MAX = 64;
/** Number of corners per cell of a side. A coastline then has about five edges in each cell that it crosses. */
const CORNERS_PER_SIDE = 16;
/** Maximum number of cells that an edge crosses on average. If edges would cross more, the grid is coarser. */
const PASSED_CELLS_PER_POSITION = 48;
/** A margin in degrees, far above every rounding error and above `EDGE_TOLERANCE_DEGREES`. */
const MARGIN = 1e-7;
/**
 * In degrees. An edge that spans less latitude counts with its full width in every row that it meets. The point where
 * it crosses a latitude cannot be computed within the margin. Cells are at least this high and wide, except in the
 * coarsest grid.
 */
const CLIMB_MIN = 1e-4;
const FLAT_ROWS_MAX = 3;

export const CELL_OUTSIDE = -1;
export const CELL_INSIDE = -2;

const LIST_HEAD_SHORTS = 2;

/** The rings of a polygon: the longitude and latitude of all positions, and where each ring ends. */
export interface Rings {
  readonly coordinates: Float64Array;
  /** The position at which each ring ends. */
  readonly ends: readonly number[];
}

export interface Grid {
  /** Number of rows, and number of cells in each row. */
  readonly side: number;
  /** `CELL_OUTSIDE`, `CELL_INSIDE`, or the offset of the cell's list. */
  readonly cells: Int32Array;
  /**
   * A list begins with twice the number of its edges, plus one if locations are inside as long as no listed edge or
   * corner counts. Then follow the number of turning corners, the first corner of each edge, and the turning corners.
   */
  readonly lists: Uint16Array;
}

/** `at` is the offset of the cell's list. */
export function isInMixedCell(lists: Uint16Array, at: number, corners: Corners, lat: number, lon: number): boolean {
  const head = lists[at] as number;
  let isInside = (head & 1) === 1;
  const edgesEnd = at + LIST_HEAD_SHORTS + (head >> 1);
  for (let entry = at + LIST_HEAD_SHORTS; entry < edgesEnd; entry++) {
    const corner = lists[entry] as number;
    const side = sideOfEdge(
      corners.longitudeOf(corner),
      corners.latitudeOf(corner),
      corners.longitudeOf(corner + 1),
      corners.latitudeOf(corner + 1),
      lat,
      lon,
    );
    if (side === ON_EDGE) return true;
    if (side === WEST_OF_EDGE) isInside = !isInside;
  }
  const end = edgesEnd + (lists[at + 1] as number);
  for (let entry = edgesEnd; entry < end; entry++) {
    if (corners.latitudeOf(lists[entry] as number) > lat) isInside = !isInside;
  }
  return isInside;
}

/** The cell that contains `at`, of `side` cells from `low` to `high`. Values just outside are in the outer cells. */
export function cellOf(at: number, low: number, high: number, side: number): number {
  if (high <= low) return 0;
  const cell = Math.floor(((at - low) / (high - low)) * side);
  return cell < 0 ? 0 : cell >= side ? side - 1 : cell;
}

/** The number of cells per side. An edge is in one cell, and in one more per line of the grid that it crosses. */
function sideOf({ coordinates, ends }: Rings, { west, south, east, north }: PolygonBox): number {
  const [width, height] = [east - west, north - south];
  const finest = Math.floor(Math.min(width, height) / CLIMB_MIN);
  if (finest <= SIDE_MIN) return SIDE_MIN;
  let linesPerSide = 0;
  let start = 0;
  for (const end of ends) {
    for (let at = 2 * start + 2; at < 2 * end; at += 2) {
      const across = Math.abs((coordinates[at] as number) - (coordinates[at - 2] as number));
      const climb = Math.abs((coordinates[at + 1] as number) - (coordinates[at - 1] as number));
      linesPerSide += (climb < CLIMB_MIN ? FLAT_ROWS_MAX * across : across) / width + climb / height;
    }
    start = end;
  }
  const positions = coordinates.length / 2;
  const affordable = Math.floor(((PASSED_CELLS_PER_POSITION - 1) * positions) / linesPerSide);
  const wanted = Math.round(positions / CORNERS_PER_SIDE);
  return Math.max(SIDE_MIN, Math.min(SIDE_MAX, finest, affordable, wanted));
}

/** During the build, an entry of a list packs the number of its cell and a corner. */
const CELL_SHIFT = 16;
const CORNER_MASK = 2 ** CELL_SHIFT - 1;

/** Builds grids, one at a time, in reused memory. */
export class GridBuilder {
  #coordinates: Float64Array = new Float64Array();
  #box: PolygonBox = { west: 0, south: 0, east: 0, north: 0 };
  #side = 0;
  #rowHeight = 0;
  /** For each cell, the edges near it, by their first corner. */
  readonly #edges = new NumberList();
  /** For each cell, the turning corners at its latitudes. */
  readonly #corners = new NumberList();
  /** For each cell, 1 if corners north of the row invert the verdict for this cell and the cells to its east. */
  #turns = new Uint8Array();
  /** The columns of the edge that was last passed to `#meet`. */
  #firstColumn = 0;
  #lastColumn = 0;

  /** Every ring must end where it begins. */
  build(rings: Rings, box: PolygonBox): Grid {
    const side = sideOf(rings, box);
    this.#coordinates = rings.coordinates;
    this.#box = box;
    this.#side = side;
    this.#rowHeight = (box.north - box.south) / side;
    this.#edges.clear();
    this.#corners.clear();
    this.#turns = new Uint8Array(side * side);
    let start = 0;
    for (const end of rings.ends) {
      for (let edge = start; edge + 1 < end; edge++) {
        this.#addEdge(edge);
        this.#addCorner(edge === start ? end - 2 : edge - 1, edge);
      }
      start = end;
    }
    return { side, ...this.#gathered() };
  }

  #addEdge(edge: number): void {
    const latA = this.#latitudeOf(edge);
    const latB = this.#latitudeOf(edge + 1);
    const last = this.#rowOf(Math.max(latA, latB) + 2 * MARGIN);
    for (let row = this.#rowOf(Math.min(latA, latB) - 2 * MARGIN); row <= last; row++) {
      this.#meet(row, edge);
      for (let column = this.#firstColumn; column <= this.#lastColumn; column++)
        this.#add(this.#edges, row, column, edge);
      const north = this.#northOf(row);
      if (latA > north === latB > north) continue;
      this.#turn(row, 0);
      this.#turn(row, this.#firstColumn);
    }
  }

  /** The corner between edges `before` and `edge` turns in the cells for which only one of the two is to the east. */
  #addCorner(before: number, edge: number): void {
    const lat = this.#latitudeOf(edge);
    const last = this.#rowOf(lat + 2 * MARGIN);
    for (let row = this.#rowOf(lat - 2 * MARGIN); row <= last; row++) {
      if (lat < this.#southOf(row) || lat > this.#northOf(row)) continue;
      this.#meet(row, before);
      const one = this.#firstColumn;
      this.#meet(row, edge);
      const end = Math.max(one, this.#firstColumn);
      for (let column = Math.min(one, this.#firstColumn); column < end; column++) {
        this.#add(this.#corners, row, column, edge);
      }
    }
  }

  /** Sets `#firstColumn` and `#lastColumn` to the range of columns in the row that the edge is near. */
  #meet(row: number, edge: number): void {
    const coordinates = this.#coordinates;
    const lonA = coordinates[2 * edge] as number;
    const latA = coordinates[2 * edge + 1] as number;
    const lonB = coordinates[2 * edge + 2] as number;
    const latB = coordinates[2 * edge + 3] as number;
    let from = lonA;
    let to = lonB;
    if (Math.abs(latB - latA) >= CLIMB_MIN) {
      const slope = (lonB - lonA) / (latB - latA);
      const south = this.#southOf(row);
      const north = this.#northOf(row);
      from = lonA + (Math.max(south, Math.min(north, latA)) - latA) * slope;
      to = lonA + (Math.max(south, Math.min(north, latB)) - latA) * slope;
    }
    this.#firstColumn = this.#columnOf(Math.min(from, to) - 2 * MARGIN);
    this.#lastColumn = this.#columnOf(Math.max(from, to) + 2 * MARGIN);
  }

  #add(entries: NumberList, row: number, column: number, corner: number): void {
    entries.add(((row * this.#side + column) << CELL_SHIFT) | corner);
  }

  #turn(row: number, column: number): void {
    const at = row * this.#side + column;
    this.#turns[at] = (this.#turns[at] as number) ^ 1;
  }

  #latitudeOf(corner: number): number {
    return this.#coordinates[2 * corner + 1] as number;
  }

  /** The southern border of the row, with a margin. */
  #southOf(row: number): number {
    return this.#box.south + row * this.#rowHeight - MARGIN;
  }

  #northOf(row: number): number {
    return this.#box.south + (row + 1) * this.#rowHeight + MARGIN;
  }

  #rowOf(lat: number): number {
    return cellOf(lat, this.#box.south, this.#box.north, this.#side);
  }

  #columnOf(lon: number): number {
    return cellOf(lon, this.#box.west, this.#box.east, this.#side);
  }

  /** Groups edges and turning corners by cell. Every list has an edge: cells without edges have no turning corners. */
  #gathered(): Pick<Grid, 'cells' | 'lists'> {
    const side = this.#side;
    const edges = this.#edges.view();
    const corners = this.#corners.view();
    const sizes = new Int32Array(side * side);
    for (let i = 0; i < edges.length; i++) count(sizes, (edges[i] as number) >> CELL_SHIFT);
    for (let i = 0; i < corners.length; i++) count(sizes, (corners[i] as number) >> CELL_SHIFT);
    const cells = new Int32Array(side * side);
    const lists = new Uint16Array(LIST_HEAD_SHORTS * cells.length + edges.length + corners.length);
    let end = 0;
    for (let row = 0; row < side; row++) {
      let inside = 0;
      for (let cell = row * side; cell < (row + 1) * side; cell++) {
        inside ^= this.#turns[cell] as number;
        const size = sizes[cell] as number;
        cells[cell] = size > 0 ? end : inside === 1 ? CELL_INSIDE : CELL_OUTSIDE;
        if (size === 0) continue;
        lists[end] = inside;
        end += LIST_HEAD_SHORTS + size;
      }
    }
    for (let i = 0; i < edges.length; i++) {
      const list = cells[(edges[i] as number) >> CELL_SHIFT] as number;
      const head = lists[list] as number;
      lists[list + LIST_HEAD_SHORTS + (head >> 1)] = (edges[i] as number) & CORNER_MASK;
      lists[list] = head + 2;
    }
    for (let i = 0; i < corners.length; i++) {
      const list = cells[(corners[i] as number) >> CELL_SHIFT] as number;
      const listed = ((lists[list] as number) >> 1) + (lists[list + 1] as number);
      lists[list + LIST_HEAD_SHORTS + listed] = (corners[i] as number) & CORNER_MASK;
      count(lists, list + 1);
    }
    return { cells, lists: lists.subarray(0, end) };
  }
}

function count(counts: Int32Array | Uint16Array, at: number): void {
  counts[at] = (counts[at] as number) + 1;
}

/** Number of words of a corner: longitude and latitude. */
export const CORNER_WORDS = 2;

/** A view of a polygon's corners in its record. The view is reused for the next polygon. */
export class Corners {
  #numbers: Float64Array = new Float64Array(0);
  #first = 0;

  /** `first` is the word of the first corner. */
  moveTo(numbers: Float64Array, first: number): this {
    this.#numbers = numbers;
    this.#first = first;
    return this;
  }

  longitudeOf(corner: number): number {
    return this.#numbers[this.#first + CORNER_WORDS * corner] as number;
  }

  latitudeOf(corner: number): number {
    return this.#numbers[this.#first + CORNER_WORDS * corner + 1] as number;
  }

  /** Whether the rings contain the location. The integers from `at` on are the corners at which the rings end. */
  hold(ends: Int32Array, at: number, ringCount: number, lat: number, lon: number): boolean {
    let isInside = false;
    let corner = 0;
    for (let ring = at; ring < at + ringCount; ring++) {
      const end = ends[ring] as number;
      let lonA = 0;
      let latA = 0;
      for (const first = corner; corner < end; corner++) {
        const lonB = this.longitudeOf(corner);
        const latB = this.latitudeOf(corner);
        const side = corner === first ? 0 : sideOfEdge(lonA, latA, lonB, latB, lat, lon);
        if (side === ON_EDGE) return true;
        if (side === WEST_OF_EDGE) isInside = !isInside;
        lonA = lonB;
        latA = latB;
      }
    }
    return isInside;
  }
}
