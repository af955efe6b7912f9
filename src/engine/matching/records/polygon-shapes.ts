/**
 * The polygons of searches. Each list of polygons in a search or its alternatives has a record: boxes, rings, and grids
 * for polygons with many corners (`polygon-grid`). The answers are those of `isInPolygon` in `domain/geo`.
 */

import { EDGE_TOLERANCE_DEGREES, type Polygon, type Position } from '../../domain/geo.ts';
import { boxOf, type CircleRow, type PolygonBox, polygonRow } from '../rows/area-geometry.ts';
import { LINE_WORDS as CACHE_LINE_WORDS, RecordArena } from './arena.ts';
import {
  CELL_INSIDE,
  CELL_OUTSIDE,
  CORNER_WORDS,
  Corners,
  cellOf,
  GRID_POSITIONS_MAX,
  GRID_POSITIONS_MIN,
  type Grid,
  GridBuilder,
  isInMixedCell,
  type Rings,
} from './polygon-grid.ts';

/** Integers of the head: the number of words and the number of polygons. */
const WORDS = 0;
const POLYGONS = 1;
const HEAD_WORDS = 1;
/**
 * A polygon's line has its box, then two integers: the offset of its body and the number of its rings. The centre and
 * the reach of its row (`area-geometry`) follow as floats. The reach is negative if the polygon has no row.
 */
const WEST = 0;
const SOUTH = 1;
const EAST = 2;
const NORTH = 3;
const BODY = 4;
const ROW = 5;
const LINE_WORDS = 7;
/**
 * A body has, as integers, the number of positions, the side of the grid (0 without a grid) and the end of each ring.
 * Then follow the corners, the cells of the grid as integers, and their lists as shorts.
 */
const BODY_HEAD_WORDS = 1;
/** Two megabytes, which is enough for five thousand corners with the largest grid. */
const WORDS_MAX = 1 << 18;

const NO_ROW = { latitude: 0, longitude: 0, reach: -1 };

interface Prepared {
  readonly row: CircleRow | null;
  readonly box: PolygonBox;
  readonly rings: Rings;
  readonly grid: Grid | null;
  readonly words: number;
}

export class PolygonShapes {
  readonly #arena = new RecordArena(WORDS_MAX);
  readonly #grids = new GridBuilder();
  readonly #corners = new Corners();
  /** The records of the search that is being written, which its alternatives share. */
  readonly #written = new Map<readonly Polygon[], number>();
  /** By address, the number of search records that name the polygons, minus one. */
  readonly #sharers = new Map<number, number>();

  /** Call this before the polygons of another search are written. */
  startSearch(): void {
    this.#written.clear();
  }

  get bytes(): number {
    return this.#arena.bytes;
  }

  /** Writes the record, once per search, and returns its address; null if it is too large or a value is not finite. */
  write(polygons: readonly Polygon[]): number | null {
    const known = this.#written.get(polygons);
    if (known !== undefined) {
      this.#sharers.set(known, (this.#sharers.get(known) ?? 0) + 1);
      return known;
    }
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
    this.#written.set(polygons, address);
    return address;
  }

  #writeBody(address: number, body: number, { rings, grid }: Prepared): void {
    const integers = this.#arena.integersAt(address);
    const positions = rings.coordinates.length / 2;
    integers[2 * body] = positions;
    integers[2 * body + 1] = grid?.side ?? 0;
    integers.set(rings.ends, 2 * (body + BODY_HEAD_WORDS));
    const first = coordinatesOffset(body, rings.ends.length);
    this.#arena.numbersAt(address).set(rings.coordinates, first);
    if (grid === null) return;
    const cells = first + CORNER_WORDS * positions;
    integers.set(grid.cells, 2 * cells);
    this.#arena.shortsAt(address).set(grid.lists, 4 * cells + 2 * grid.cells.length);
  }

  free(address: number): void {
    const sharers = this.#sharers.get(address) ?? 0;
    if (sharers > 1) this.#sharers.set(address, sharers - 1);
    else this.#sharers.delete(address);
    if (sharers > 0) return;
    this.#written.clear();
    const words = this.#arena.integersAt(address)[this.#arena.integerOffset(address) + WORDS] as number;
    this.#arena.free(address, words);
  }

  /** The number of the cell in a polygon's grid that contains a location. */
  #cellAt(address: number, line: number, side: number, lat: number, lon: number): number {
    const numbers = this.#arena.numbersAt(address);
    const column = cellOf(lon, numbers[line + WEST] as number, numbers[line + EAST] as number, side);
    const row = cellOf(lat, numbers[line + SOUTH] as number, numbers[line + NORTH] as number, side);
    return row * side + column;
  }

  /** The row of each polygon (`polygonRow`). */
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

  /** Whether a polygon contains the location (in degrees). The border is inside. */
  hold(address: number, lat: number, lon: number): boolean {
    const integers = this.#arena.integersAt(address);
    const numbers = this.#arena.numbersAt(address);
    const start = this.#arena.numberOffset(address);
    const end = start + HEAD_WORDS + LINE_WORDS * (integers[2 * start + POLYGONS] as number);
    for (let line = start + HEAD_WORDS; line < end; line += LINE_WORDS) {
      if (lat < (numbers[line + SOUTH] as number) - EDGE_TOLERANCE_DEGREES) continue;
      if (lat > (numbers[line + NORTH] as number) + EDGE_TOLERANCE_DEGREES) continue;
      const west = (numbers[line + WEST] as number) - EDGE_TOLERANCE_DEGREES;
      const east = (numbers[line + EAST] as number) + EDGE_TOLERANCE_DEGREES;
      // A polygon may extend past the date line on either side, and a location on that line may have longitude ±180°.
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
    const side = integers[2 * body + 1] as number;
    const corners = this.#corners.moveTo(numbers, first);
    if (side === 0) return corners.hold(integers, 2 * (body + BODY_HEAD_WORDS), ringCount, lat, lon);
    const cells = 2 * (first + CORNER_WORDS * (integers[2 * body] as number));
    const cell = integers[cells + this.#cellAt(address, line, side, lat, lon)] as number;
    if (cell === CELL_OUTSIDE) return false;
    if (cell === CELL_INSIDE) return true;
    return isInMixedCell(this.#arena.shortsAt(address), 2 * (cells + side * side) + cell, corners, lat, lon);
  }
}

function coordinatesOffset(body: number, ringCount: number): number {
  return body + BODY_HEAD_WORDS + ((ringCount + 1) >> 1);
}

function prepare(polygon: Polygon, wordsMax: number, grids: GridBuilder): Prepared | null {
  let positions = 0;
  const ends = polygon.map((ring) => (positions += ring.length));
  const isClosed = polygon.every((ring) => isSame(ring[0], ring.at(-1)));
  if (2 * positions > wordsMax) return null;
  const coordinates = new Float64Array(2 * positions);
  let top = 0;
  for (const ring of polygon) {
    for (const [lon, lat] of ring) {
      if (!Number.isFinite(lon) || !Number.isFinite(lat)) return null;
      coordinates[top++] = lon;
      coordinates[top++] = lat;
    }
  }
  const box = boxOf(polygon);
  const rings = { coordinates, ends };
  const hasGrid = isClosed && positions >= GRID_POSITIONS_MIN && positions <= GRID_POSITIONS_MAX;
  const grid = hasGrid ? grids.build(rings, box) : null;
  const gridShorts = grid === null ? 0 : 2 * grid.cells.length + grid.lists.length;
  const words = coordinatesOffset(0, ends.length) + coordinates.length + Math.ceil(gridShorts / 4);
  return { row: polygonRow(polygon), box, rings, grid, words };
}

function isSame(a: Position | undefined, b: Position | undefined): boolean {
  return a?.[0] === b?.[0] && a?.[1] === b?.[1];
}
