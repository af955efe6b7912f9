/**
 * A polygon of many corners under a grid of cells: outside, inside, or *mixed*, with a list of what decides there. An
 * edge that a cell's rows of latitude meet surely west of the cell counts for nothing (the ray goes east), one surely
 * east of it counts when it straddles the latitude; a run of such edges counts as one from its first corner to its last,
 * and not at all where neither corner is among those latitudes. What is left are the edges in the cell itself. They are
 * judged as `isInPolygon` of `domain/geo` judges them, so the answer is the same to the last bit.
 */

import { ON_EDGE, sideOfEdge, WEST_OF_EDGE } from '../../domain/geo.ts';
import type { Corners } from './polygon-corners.ts';

/** Positions from which a grid pays. Its rings are closed. */
export const GRID_POSITIONS_MIN = 65;
/** Corners are numbered in sixteen bits. */
export const GRID_POSITIONS_MAX = 0xffff;
const SIDE_MIN = 4;
const SIDE_MAX = 64;
/** A coast of so many corners a cell of the grid's side has some five edges in each cell that it passes. */
const CORNERS_PER_SIDE = 16;
/** The lists of all cells, in shorts a corner; where shapes are too wild for that the grid is coarser. */
const LISTS_PER_POSITION = 64;
/** Far above every rounding and `EDGE_TOLERANCE_DEGREES`, degrees. */
const MARGIN = 1e-7;
/** An edge that climbs less is taken at its full width: where it meets a latitude cannot be told to the margin. */
const CLIMB_MIN = 1e-4;

export const CELL_OUTSIDE = -1;
export const CELL_INSIDE = -2;

export interface PolygonBox {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** Of any number of rings: all their positions, longitude and latitude in turn, and where each ring ends. */
export interface Rings {
  readonly coordinates: Float64Array;
  /** In positions. */
  readonly ends: readonly number[];
}

export interface Grid {
  /** Cells in a row, and rows. */
  readonly side: number;
  /** `CELL_OUTSIDE`, `CELL_INSIDE`, or where its list begins. */
  readonly cells: Int32Array;
  /**
   * Of each mixed cell: twice the number of edges, plus one when a place that nothing else counts for is inside; the
   * number of runs; the first corner of each edge; first and last corner of each run.
   */
  readonly lists: readonly number[];
}

export function gridOf(rings: Rings, box: PolygonBox): Grid {
  const positions = rings.coordinates.length / 2;
  const wanted = 2 ** Math.round(Math.log2(positions / CORNERS_PER_SIDE));
  let side = Math.min(SIDE_MAX, Math.max(SIDE_MIN, wanted));
  for (;;) {
    const builder = new GridBuilder(rings, box, side);
    if (builder.build(LISTS_PER_POSITION * positions) || side === SIDE_MIN) return builder.grid;
    side /= 2;
  }
}

/** `at`: where the list of the cell begins. */
export function isInMixedCell(lists: Uint16Array, at: number, corners: Corners, lat: number, lon: number): boolean {
  const head = lists[at] as number;
  let isInside = (head & 1) === 1;
  const edgesEnd = at + 2 + (head >> 1);
  for (let entry = at + 2; entry < edgesEnd; entry++) {
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
  const runsEnd = edgesEnd + 2 * (lists[at + 1] as number);
  for (let entry = edgesEnd; entry < runsEnd; entry += 2) {
    const start = corners.latitudeOf(lists[entry] as number);
    const end = corners.latitudeOf(lists[entry + 1] as number);
    if (start > lat !== end > lat) isInside = !isInside;
  }
  return isInside;
}

const NO_RUN = -1;

class GridBuilder {
  readonly #coordinates: Float64Array;
  readonly #ends: readonly number[];
  readonly #box: PolygonBox;
  readonly #side: number;
  readonly #cells: Int32Array;
  readonly #lists: number[] = [];
  /** The edges of the row at hand by first corner, -1 between rings, and the longitudes that they cross it at. */
  #edges: number[] = [];
  #wests: number[] = [];
  #easts: number[] = [];
  /** Latitudes of the row at hand. */
  #south = 0;
  #north = 0;
  /** Of the cell at hand. */
  #near: number[] = [];
  #runs: number[] = [];
  #runStart = NO_RUN;
  #runEnd = NO_RUN;
  #isInside = false;

  constructor({ coordinates, ends }: Rings, box: PolygonBox, side: number) {
    this.#coordinates = coordinates;
    this.#ends = ends;
    this.#box = box;
    this.#side = side;
    this.#cells = new Int32Array(side * side);
  }

  get grid(): Grid {
    return { side: this.#side, cells: this.#cells, lists: this.#lists };
  }

  /** False as soon as the lists become longer than `listsMax`, unless the grid cannot be coarser. */
  build(listsMax: number): boolean {
    const { west, south, east, north } = this.#box;
    const side = this.#side;
    const width = (east - west) / side;
    const height = (north - south) / side;
    for (let row = 0; row < side; row++) {
      this.#south = south + row * height - MARGIN;
      this.#north = south + (row + 1) * height + MARGIN;
      this.#readRow();
      for (let column = 0; column < side; column++) {
        const cellWest = west + column * width - MARGIN;
        this.#readCell(cellWest, cellWest + width + 2 * MARGIN);
        this.#cells[row * side + column] = this.#writeCell();
      }
      if (this.#lists.length > listsMax && side > SIDE_MIN) return false;
    }
    return true;
  }

  #readRow(): void {
    const coordinates = this.#coordinates;
    this.#edges = [];
    this.#wests = [];
    this.#easts = [];
    let start = 0;
    for (const end of this.#ends) {
      for (let corner = start; corner + 1 < end; corner++) {
        const latA = coordinates[2 * corner + 1] as number;
        const latB = coordinates[2 * corner + 3] as number;
        if (Math.max(latA, latB) < this.#south || Math.min(latA, latB) > this.#north) continue;
        this.#addEdge(corner, latA, latB);
      }
      this.#edges.push(-1);
      this.#wests.push(0);
      this.#easts.push(0);
      start = end;
    }
  }

  #addEdge(corner: number, latA: number, latB: number): void {
    let lonA = this.#coordinates[2 * corner] as number;
    let lonB = this.#coordinates[2 * corner + 2] as number;
    const climb = latB - latA;
    if (Math.abs(climb) >= CLIMB_MIN) {
      const slope = (lonB - lonA) / climb;
      const from = lonA;
      lonA = from + (this.#clamp(latA) - latA) * slope;
      lonB = from + (this.#clamp(latB) - latA) * slope;
    }
    this.#edges.push(corner);
    this.#wests.push(Math.min(lonA, lonB) - MARGIN);
    this.#easts.push(Math.max(lonA, lonB) + MARGIN);
  }

  #clamp(lat: number): number {
    return Math.max(this.#south, Math.min(this.#north, lat));
  }

  #readCell(west: number, east: number): void {
    this.#near = [];
    this.#runs = [];
    this.#runStart = NO_RUN;
    this.#isInside = false;
    for (let i = 0; i < this.#edges.length; i++) {
      const corner = this.#edges[i] as number;
      if (corner !== -1 && (this.#wests[i] as number) > east) {
        if (this.#runStart === NO_RUN) this.#runStart = corner;
        this.#runEnd = corner + 1;
        continue;
      }
      this.#endRun();
      if (corner !== -1 && (this.#easts[i] as number) >= west) this.#near.push(corner);
    }
  }

  #endRun(): void {
    if (this.#runStart === NO_RUN) return;
    const start = this.#latitudeOf(this.#runStart);
    const end = this.#latitudeOf(this.#runEnd);
    const isConstant = this.#isBeyond(start) && this.#isBeyond(end);
    if (!isConstant) this.#runs.push(this.#runStart, this.#runEnd);
    else if (start > this.#north !== end > this.#north) this.#isInside = !this.#isInside;
    this.#runStart = NO_RUN;
  }

  #isBeyond(lat: number): boolean {
    return lat < this.#south || lat > this.#north;
  }

  #latitudeOf(corner: number): number {
    return this.#coordinates[2 * corner + 1] as number;
  }

  #writeCell(): number {
    if (this.#near.length > 0) {
      const start = this.#lists.length;
      this.#lists.push(2 * this.#near.length + (this.#isInside ? 1 : 0), this.#runs.length / 2);
      for (const corner of this.#near) this.#lists.push(corner);
      for (const corner of this.#runs) this.#lists.push(corner);
      return start;
    }
    // No edge comes near the cell, so one of its latitudes speaks for all.
    const lat = (this.#south + this.#north) / 2;
    let isInside = this.#isInside;
    for (let run = 0; run < this.#runs.length; run += 2) {
      const start = this.#latitudeOf(this.#runs[run] as number);
      const end = this.#latitudeOf(this.#runs[run + 1] as number);
      if (start > lat !== end > lat) isInside = !isInside;
    }
    return isInside ? CELL_INSIDE : CELL_OUTSIDE;
  }
}
