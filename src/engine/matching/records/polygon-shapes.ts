/**
 * The polygons of searches, each search's in one record: a raster first that decides most places in one cache line
 * (`shape-raster`), then their boxes, then rings, and a grid for those with many corners (`polygon-grid`). `isInPolygon`
 * of `domain/geo` is the definition that every answer agrees with.
 */

import { EDGE_TOLERANCE_DEGREES, type Polygon, type Position } from '../../domain/geo.ts';
import { type CircleRow, polygonRow } from '../rows/area-geometry.ts';
import { LINE_WORDS as CACHE_LINE_WORDS, RecordArena } from './arena.ts';
import {
  arePackable,
  CELL_INSIDE,
  CELL_OUTSIDE,
  Corners,
  cellOf,
  cornerWords,
  GRID_POSITIONS_MAX,
  GRID_POSITIONS_MIN,
  type Grid,
  GridBuilder,
  isInMixedCell,
  type PolygonBox,
  type Rings,
} from './polygon-grid.ts';

const COLUMNS = 16;
const ROWS = 12;
const ALL_COLUMNS = 2 ** COLUMNS - 1;
/** In floats: the corner in the south-west, degrees, and cells a degree, longitude first. */
const ORIGIN = 0;
const CELLS_PER_DEGREE = 2;
/** Then an integer a row: the columns that the border comes near, and from bit `COLUMNS` on those inside. */
const FIRST_ROW = 4;
const RASTER_WORDS = (FIRST_ROW + ROWS) / 2;

const RASTER_OUTSIDE = 0;
const RASTER_INSIDE = 1;
const RASTER_UNDECIDED = 2;

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
function rasterVerdict(floats: Float32Array, integers: Int32Array, start: number, lat: number, lon: number) {
  if (!(lon >= -180 && lon <= 180)) return RASTER_UNDECIDED;
  const x = (lon - (floats[start + ORIGIN] as number)) * (floats[start + CELLS_PER_DEGREE] as number);
  const y = (lat - (floats[start + ORIGIN + 1] as number)) * (floats[start + CELLS_PER_DEGREE + 1] as number);
  if (!(x >= 0 && x < COLUMNS && y >= 0 && y < ROWS)) return RASTER_OUTSIDE;
  const row = (integers[start + FIRST_ROW + (y | 0)] as number) >>> (x | 0);
  return (row & 1) !== 0 ? RASTER_UNDECIDED : (row >>> COLUMNS) & 1;
}

/**
 * All polygons of a search as a raster of one cache line: which cells lie inside some polygon and which outside all.
 * The border comes near the others, which the polygons themselves decide. It is cheap to make: an edge marks the cells
 * that it comes near, and turns over what lies west of them in the row, as the ray to the east would (`domain/geo`).
 * Makes rasters, one after the other.
 */
class ShapeRaster {
  readonly #header = new Float32Array(FIRST_ROW);
  readonly #near = new Int32Array(ROWS);
  readonly #inside = new Int32Array(ROWS);
  /** Rows near and inside the polygon that is being evaluated. */
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

/** Integers of the head, behind the raster: words in all, and polygons. */
const WORDS = 2 * RASTER_WORDS;
const POLYGONS = WORDS + 1;
const HEAD_WORDS = RASTER_WORDS + 1;
/**
 * Words of a polygon's line: its box; as integers, where its body begins and the number of its rings; as floats, the
 * centre and the reach of its row, negative for none (`area-geometry`).
 */
const WEST = 0;
const SOUTH = 1;
const EAST = 2;
const NORTH = 3;
const BODY = 4;
const ROW = 5;
const LINE_WORDS = 7;
/**
 * A body: as integers, the number of positions and the side of the grid, 0 for none, with a bit more for packed
 * corners; where each ring ends, an integer each; the corners; the cells of the grid, an integer each; their lists,
 * shorts.
 */
const BODY_HEAD_WORDS = 1;
const IS_PACKED = 1 << 16;
const SIDE_MASK = IS_PACKED - 1;
/** Two megabytes: a record of five thousand corners with the wildest grid fits in that. */
const WORDS_MAX = 1 << 18;

const NO_ROW = { latitude: 0, longitude: 0, reach: -1 };

interface Prepared {
  readonly row: CircleRow | null;
  readonly box: PolygonBox;
  readonly rings: Rings;
  readonly isPacked: boolean;
  /** Whether every ring ends where it began. */
  readonly isClosed: boolean;
  readonly grid: Grid | null;
  readonly words: number;
}

export class PolygonShapes {
  readonly #arena = new RecordArena(WORDS_MAX);
  readonly #raster = new ShapeRaster();
  readonly #grids = new GridBuilder();
  readonly #corners = new Corners();

  get bytes(): number {
    return this.#arena.bytes;
  }

  /** The address of a new record; null for what does not fit in one, or has coordinates that are no numbers. */
  write(polygons: readonly Polygon[]): number | null {
    const all: Prepared[] = [];
    let words = HEAD_WORDS + LINE_WORDS * polygons.length;
    for (const polygon of polygons) {
      const prepared = prepare(polygon, this.#arena.wordsMax - words, this.#grids);
      if (prepared === null) return null;
      all.push(prepared);
      words += prepared.words;
      if (words > this.#arena.wordsMax) return null;
    }
    words = CACHE_LINE_WORDS * Math.ceil(words / CACHE_LINE_WORDS);
    const address = this.#arena.allocate(words);
    this.#writeRaster(address, all);
    const integers = this.#arena.integersAt(address);
    const start = this.#arena.numberOffset(address);
    integers[2 * start + WORDS] = words;
    integers[2 * start + POLYGONS] = all.length;
    let body = start + HEAD_WORDS + LINE_WORDS * all.length;
    for (const [i, prepared] of all.entries()) {
      const line = start + HEAD_WORDS + LINE_WORDS * i;
      const { west, south, east, north } = prepared.box;
      this.#arena.numbersAt(address).set([west, south, east, north], line);
      integers[2 * (line + BODY)] = body - start;
      integers[2 * (line + BODY) + 1] = prepared.rings.ends.length;
      const { latitude, longitude, reach } = prepared.row ?? NO_ROW;
      this.#arena.floatsAt(address).set([latitude, longitude, reach], 2 * (line + ROW));
      this.#writeBody(address, body, prepared);
      body += prepared.words;
    }
    return address;
  }

  #writeRaster(address: number, all: readonly Prepared[]): void {
    const box = { west: Infinity, south: Infinity, east: -Infinity, north: -Infinity };
    for (const { west, south, east, north } of all.map(({ box }) => box)) {
      box.west = Math.min(box.west, west);
      box.south = Math.min(box.south, south);
      box.east = Math.max(box.east, east);
      box.north = Math.max(box.north, north);
    }
    const areClosed = all.every(({ isClosed }) => isClosed);
    if (this.#raster.begin(areClosed ? box : null)) for (const { rings } of all) this.#raster.add(rings);
    const start = this.#arena.integerOffset(address);
    this.#raster.writeTo(this.#arena.floatsAt(address), this.#arena.integersAt(address), start);
  }

  #writeBody(address: number, body: number, { rings, isPacked, grid }: Prepared): void {
    const integers = this.#arena.integersAt(address);
    const positions = rings.coordinates.length / 2;
    integers[2 * body] = positions;
    integers[2 * body + 1] = (grid?.side ?? 0) | (isPacked ? IS_PACKED : 0);
    integers.set(rings.ends, 2 * (body + BODY_HEAD_WORDS));
    const first = coordinatesOffset(body, rings.ends.length);
    this.#corners.moveTo(this.#arena.numbersAt(address), integers, first, isPacked).write(rings.coordinates);
    if (grid === null) return;
    const cells = first + cornerWords(positions, isPacked);
    integers.set(grid.cells, 2 * cells);
    this.#arena.shortsAt(address).set(grid.lists, 4 * cells + 2 * grid.cells.length);
  }

  free(address: number): void {
    const words = this.#arena.integersAt(address)[this.#arena.integerOffset(address) + WORDS] as number;
    this.#arena.free(address, words);
  }

  touch(address: number): number {
    return this.#arena.touch(address);
  }

  /** Likewise what `hold` will read next: of the first polygon the cell that decides, or the middle of its corners. */
  touchCell(address: number, lat: number, lon: number): number {
    if (this.#verdictOf(address, lat, lon) !== RASTER_UNDECIDED) return 0;
    const integers = this.#arena.integersAt(address);
    const line = this.#arena.numberOffset(address) + HEAD_WORDS;
    const body = line - HEAD_WORDS + (integers[2 * (line + BODY)] as number);
    const first = coordinatesOffset(body, integers[2 * (line + BODY) + 1] as number);
    const words = cornerWords(integers[2 * body] as number, isPackedAt(integers, body));
    const side = sideAt(integers, body);
    if (side === 0) return integers[2 * first + words] as number;
    return integers[2 * (first + words) + this.#cellAt(address, line, side, lat, lon)] as number;
  }

  #verdictOf(address: number, lat: number, lon: number): number {
    const arena = this.#arena;
    return rasterVerdict(arena.floatsAt(address), arena.integersAt(address), arena.integerOffset(address), lat, lon);
  }

  /** The cell of a polygon's grid that contains a place. */
  #cellAt(address: number, line: number, side: number, lat: number, lon: number): number {
    const numbers = this.#arena.numbersAt(address);
    const column = cellOf(lon, numbers[line + WEST] as number, numbers[line + EAST] as number, side);
    const row = cellOf(lat, numbers[line + SOUTH] as number, numbers[line + NORTH] as number, side);
    return row * side + column;
  }

  /** The row of each of the polygons, see `polygonRow`. */
  rowsOf(address: number): (CircleRow | null)[] {
    const floats = this.#arena.floatsAt(address);
    const start = this.#arena.integerOffset(address);
    const count = this.#arena.integersAt(address)[start + POLYGONS] as number;
    return Array.from({ length: count }, (_, i): CircleRow | null => {
      const row = start + 2 * (HEAD_WORDS + LINE_WORDS * i + ROW);
      const reach = floats[row + 2] as number;
      if (reach < 0) return null;
      const [latitude, longitude] = [floats[row] as number, floats[row + 1] as number];
      return { latitude, longitude, reach, isDecisive: false, isPolygon: true };
    });
  }

  /** Whether any of the polygons holds the place; degrees, the border is inside. */
  hold(address: number, lat: number, lon: number): boolean {
    const verdict = this.#verdictOf(address, lat, lon);
    if (verdict !== RASTER_UNDECIDED) return verdict === RASTER_INSIDE;
    const integers = this.#arena.integersAt(address);
    const numbers = this.#arena.numbersAt(address);
    const start = this.#arena.numberOffset(address);
    const end = start + HEAD_WORDS + LINE_WORDS * (integers[2 * start + POLYGONS] as number);
    for (let line = start + HEAD_WORDS; line < end; line += LINE_WORDS) {
      if (lat < (numbers[line + SOUTH] as number) - EDGE_TOLERANCE_DEGREES) continue;
      if (lat > (numbers[line + NORTH] as number) + EDGE_TOLERANCE_DEGREES) continue;
      const west = (numbers[line + WEST] as number) - EDGE_TOLERANCE_DEGREES;
      const east = (numbers[line + EAST] as number) + EDGE_TOLERANCE_DEGREES;
      // A polygon may go on past the date line, on either side, and a place on the line be named from the other.
      for (let shift = -360; shift <= 360; shift += 360) {
        const x = lon + shift;
        if (x >= west && x <= east && this.#holdsBody(address, line, lat, x)) return true;
      }
    }
    return false;
  }

  #holdsBody(address: number, line: number, lat: number, lon: number): boolean {
    const integers = this.#arena.integersAt(address);
    const numbers = this.#arena.numbersAt(address);
    const body = this.#arena.numberOffset(address) + (integers[2 * (line + BODY)] as number);
    const ringCount = integers[2 * (line + BODY) + 1] as number;
    const first = coordinatesOffset(body, ringCount);
    const side = sideAt(integers, body);
    const isPacked = isPackedAt(integers, body);
    const corners = this.#corners.moveTo(numbers, integers, first, isPacked);
    if (side === 0) return corners.hold(2 * (body + BODY_HEAD_WORDS), ringCount, lat, lon);
    const cells = 2 * (first + cornerWords(integers[2 * body] as number, isPacked));
    const cell = integers[cells + this.#cellAt(address, line, side, lat, lon)] as number;
    if (cell === CELL_OUTSIDE) return false;
    if (cell === CELL_INSIDE) return true;
    return isInMixedCell(this.#arena.shortsAt(address), 2 * (cells + side * side) + cell, corners, lat, lon);
  }
}

function sideAt(integers: Int32Array, body: number): number {
  return (integers[2 * body + 1] as number) & SIDE_MASK;
}

function isPackedAt(integers: Int32Array, body: number): boolean {
  return ((integers[2 * body + 1] as number) & IS_PACKED) !== 0;
}

function coordinatesOffset(body: number, ringCount: number): number {
  return body + BODY_HEAD_WORDS + ((ringCount + 1) >> 1);
}

function prepare(polygon: Polygon, wordsMax: number, grids: GridBuilder): Prepared | null {
  let west = Infinity;
  let south = Infinity;
  let east = -Infinity;
  let north = -Infinity;
  let positions = 0;
  const ends = polygon.map((ring) => (positions += ring.length));
  const isClosed = polygon.every((ring) => isSame(ring[0], ring.at(-1)));
  if (2 * positions > wordsMax) return null;
  const coordinates = new Float64Array(2 * positions);
  let top = 0;
  for (const ring of polygon) {
    for (const [lon, lat] of ring) {
      if (!Number.isFinite(lon) || !Number.isFinite(lat)) return null;
      if (lon < west) west = lon;
      if (lon > east) east = lon;
      if (lat < south) south = lat;
      if (lat > north) north = lat;
      coordinates[top++] = lon;
      coordinates[top++] = lat;
    }
  }
  const box = { west, south, east, north };
  const rings = { coordinates, ends };
  const hasGrid = isClosed && positions >= GRID_POSITIONS_MIN && positions <= GRID_POSITIONS_MAX;
  const grid = hasGrid ? grids.build(rings, box) : null;
  const gridShorts = grid === null ? 0 : 2 * grid.cells.length + grid.lists.length;
  const isPacked = arePackable(coordinates);
  const words = coordinatesOffset(0, ends.length) + cornerWords(positions, isPacked) + Math.ceil(gridShorts / 4);
  return { row: polygonRow(polygon), box, rings, isPacked, isClosed, grid, words };
}

function isSame(a: Position | undefined, b: Position | undefined): boolean {
  return a?.[0] === b?.[0] && a?.[1] === b?.[1];
}
