/**
 * All polygons of a search as a raster of one cache line: which cells lie inside some polygon and which outside all. The
 * border comes near the others, which the polygons themselves decide. It is cheap to make: an edge marks the cells that
 * it comes near, and turns over what lies west of them in the row, as the ray to the east would (`domain/geo`).
 */

import type { PolygonBox, Rings } from './polygon-grid.ts';

const COLUMNS = 16;
const ROWS = 12;
const ALL_COLUMNS = 2 ** COLUMNS - 1;
/** In floats: the corner in the south-west, degrees, and cells a degree, longitude first. */
const ORIGIN = 0;
const CELLS_PER_DEGREE = 2;
/** Then an integer a row: the columns that the border comes near, and from bit `COLUMNS` on those inside. */
const FIRST_ROW = 4;
export const RASTER_WORDS = (FIRST_ROW + ROWS) / 2;

export const RASTER_OUTSIDE = 0;
export const RASTER_INSIDE = 1;
export const RASTER_UNDECIDED = 2;

/** Far above every rounding and `EDGE_TOLERANCE_DEGREES`, degrees. */
const MARGIN = 1e-7;
/** Round the box; rounding to single precision takes less. */
const PADDING = 1e-4;
/** An edge that climbs less is taken at its full width: where it meets a latitude cannot be known to the margin. */
const CLIMB_MIN = 1e-4;
/** Nothing that may be met from beyond the date line, and no pole. */
const LONGITUDE_MAX = 179;
const LATITUDE_MAX = 89;

/** `start`: of the record, in integers. Longitudes beyond ±180° are undecided. */
export function rasterVerdict(floats: Float32Array, integers: Int32Array, start: number, lat: number, lon: number) {
  if (!(lon >= -180 && lon <= 180)) return RASTER_UNDECIDED;
  const x = (lon - (floats[start + ORIGIN] as number)) * (floats[start + CELLS_PER_DEGREE] as number);
  const y = (lat - (floats[start + ORIGIN + 1] as number)) * (floats[start + CELLS_PER_DEGREE + 1] as number);
  if (!(x >= 0 && x < COLUMNS && y >= 0 && y < ROWS)) return RASTER_OUTSIDE;
  const row = (integers[start + FIRST_ROW + (y | 0)] as number) >>> (x | 0);
  return (row & 1) !== 0 ? RASTER_UNDECIDED : (row >>> COLUMNS) & 1;
}

/** Makes rasters, one after the other. */
export class ShapeRaster {
  readonly #header = new Float32Array(FIRST_ROW);
  readonly #near = new Int32Array(ROWS);
  readonly #inside = new Int32Array(ROWS);
  /** Of the polygon at hand. */
  readonly #itsNear = new Int32Array(ROWS);
  readonly #itsInside = new Int32Array(ROWS);

  /** Begins one over the box round all polygons; false, and all of it is undecided, for null and what has no raster. */
  begin(box: PolygonBox | null): boolean {
    this.#inside.fill(0);
    this.#header.fill(0);
    if (box === null || !isRegular(box)) {
      this.#near.fill(ALL_COLUMNS);
      return false;
    }
    this.#near.fill(0);
    const { west, south, east, north } = box;
    this.#header[ORIGIN] = west - PADDING;
    this.#header[ORIGIN + 1] = south - PADDING;
    this.#header[CELLS_PER_DEGREE] = COLUMNS / (east - west + 4 * PADDING);
    this.#header[CELLS_PER_DEGREE + 1] = ROWS / (north - south + 4 * PADDING);
    return true;
  }

  /** Every ring ends where it began. */
  add({ coordinates, ends }: Rings): void {
    this.#itsNear.fill(0);
    this.#itsInside.fill(0);
    let corner = 0;
    for (const end of ends) {
      for (; corner + 1 < end; corner++) {
        this.#addEdge(
          coordinates[2 * corner] as number,
          coordinates[2 * corner + 1] as number,
          coordinates[2 * corner + 2] as number,
          coordinates[2 * corner + 3] as number,
        );
      }
      corner = end;
    }
    for (let row = 0; row < ROWS; row++) {
      const near = this.#itsNear[row] as number;
      this.#near[row] = (this.#near[row] as number) | near;
      this.#inside[row] = (this.#inside[row] as number) | ((this.#itsInside[row] as number) & ~near);
    }
  }

  #addEdge(lonA: number, latA: number, lonB: number, latB: number): void {
    const rowsPerDegree = this.#header[CELLS_PER_DEGREE + 1] as number;
    const south = this.#header[ORIGIN + 1] as number;
    const isFlat = Math.abs(latB - latA) < CLIMB_MIN;
    const slope = isFlat ? 0 : (lonB - lonA) / (latB - latA);
    const last = Math.floor((Math.max(latA, latB) + MARGIN - south) * rowsPerDegree);
    for (let row = Math.floor((Math.min(latA, latB) - MARGIN - south) * rowsPerDegree); row <= last; row++) {
      const low = south + row / rowsPerDegree - MARGIN;
      const high = south + (row + 1) / rowsPerDegree + MARGIN;
      const from = isFlat ? lonA : lonA + (Math.max(low, Math.min(high, latA)) - latA) * slope;
      const to = isFlat ? lonB : lonA + (Math.max(low, Math.min(high, latB)) - latA) * slope;
      const first = this.#columnOf(Math.min(from, to) - MARGIN);
      const end = this.#columnOf(Math.max(from, to) + MARGIN) + 1;
      this.#itsNear[row] = (this.#itsNear[row] as number) | ((1 << end) - (1 << first));
      const middle = south + (row + 0.5) / rowsPerDegree;
      if (latA > middle !== latB > middle) this.#itsInside[row] = (this.#itsInside[row] as number) ^ ((1 << first) - 1);
    }
  }

  #columnOf(lon: number): number {
    return Math.floor((lon - (this.#header[ORIGIN] as number)) * (this.#header[CELLS_PER_DEGREE] as number));
  }

  /** `start`: of the record, in integers. */
  writeTo(floats: Float32Array, integers: Int32Array, start: number): void {
    floats.set(this.#header, start);
    for (let row = 0; row < ROWS; row++) {
      const inside = this.#inside[row] as number;
      integers[start + FIRST_ROW + row] = ((this.#near[row] as number) & ~inside) | (inside << COLUMNS);
    }
  }
}

/** Not that of nothing either. */
function isRegular({ west, south, east, north }: PolygonBox): boolean {
  const isRegularAcross = west > -LONGITUDE_MAX && west <= east && east < LONGITUDE_MAX;
  return isRegularAcross && south > -LATITUDE_MAX && south <= north && north < LATITUDE_MAX;
}
