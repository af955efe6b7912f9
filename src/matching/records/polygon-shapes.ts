/**
 * The polygons of searches, each search's in one record: their boxes first, so that a place is told from most of them
 * at a glance, then rings, and a grid for those with many corners (`polygon-grid`). `isInPolygon` of `domain/geo` is the
 * definition that every answer agrees with.
 */

import {
  EDGE_TOLERANCE_DEGREES,
  ON_EDGE,
  type Polygon,
  type Position,
  sideOfEdge,
  WEST_OF_EDGE,
} from '../../domain/geo.ts';
import { RecordArena } from './arena.ts';
import {
  CELL_INSIDE,
  CELL_OUTSIDE,
  GRID_POSITIONS_MAX,
  GRID_POSITIONS_MIN,
  type Grid,
  gridOf,
  isInMixedCell,
  type PolygonBox,
  type Rings,
} from './polygon-grid.ts';

/** Integers of the head: words in all, and polygons. */
const WORDS = 0;
const POLYGONS = 1;
const HEAD_WORDS = 1;
/** Words of a polygon's line: its box, then, as integers, where its body begins and the number of its rings. */
const WEST = 0;
const SOUTH = 1;
const EAST = 2;
const NORTH = 3;
const BODY = 4;
const LINE_WORDS = 5;
/**
 * A body: as integers, the number of positions and the side of the grid, 0 for none; where each ring ends, an integer
 * each; the positions; the cells of the grid, an integer each; their lists, shorts.
 */
const BODY_HEAD_WORDS = 1;
/** Two megabytes: a record of five thousand corners with the wildest grid fits in that. */
const WORDS_MAX = 1 << 18;

interface Prepared {
  readonly box: PolygonBox;
  readonly rings: Rings;
  readonly grid: Grid | null;
  readonly words: number;
}

export class PolygonShapes {
  readonly #arena = new RecordArena(WORDS_MAX);

  get bytes(): number {
    return this.#arena.bytes;
  }

  /** The address of a new record; null for what does not fit in one, or has coordinates that are no numbers. */
  write(polygons: readonly Polygon[]): number | null {
    const all: Prepared[] = [];
    let words = HEAD_WORDS + LINE_WORDS * polygons.length;
    for (const polygon of polygons) {
      const prepared = prepare(polygon, this.#arena.wordsMax - words);
      if (prepared === null) return null;
      all.push(prepared);
      words += prepared.words;
      if (words > this.#arena.wordsMax) return null;
    }
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
      this.#writeBody(address, body, prepared);
      body += prepared.words;
    }
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
    const cells = first + 2 * positions;
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
    const integers = this.#arena.integersAt(address);
    const line = this.#arena.numberOffset(address) + HEAD_WORDS;
    const body = line - HEAD_WORDS + (integers[2 * (line + BODY)] as number);
    const first = coordinatesOffset(body, integers[2 * (line + BODY) + 1] as number);
    const positions = integers[2 * body] as number;
    const side = integers[2 * body + 1] as number;
    if (side === 0) return integers[2 * (first + positions)] as number;
    return integers[2 * (first + 2 * positions) + this.#cellAt(address, line, side, lat, lon)] as number;
  }

  /** Of a polygon's grid, the cell of a place. */
  #cellAt(address: number, line: number, side: number, lat: number, lon: number): number {
    const numbers = this.#arena.numbersAt(address);
    const column = cellOf(lon, numbers[line + WEST] as number, numbers[line + EAST] as number, side);
    const row = cellOf(lat, numbers[line + SOUTH] as number, numbers[line + NORTH] as number, side);
    return row * side + column;
  }

  /** The polygons that `write` was given. */
  read(address: number): Polygon[] {
    const integers = this.#arena.integersAt(address);
    const numbers = this.#arena.numbersAt(address);
    const start = this.#arena.numberOffset(address);
    const count = integers[2 * start + POLYGONS] as number;
    return Array.from({ length: count }, (_, i): Polygon => {
      const line = start + HEAD_WORDS + LINE_WORDS * i;
      const body = start + (integers[2 * (line + BODY)] as number);
      const ringCount = integers[2 * (line + BODY) + 1] as number;
      const first = coordinatesOffset(body, ringCount);
      let from = 0;
      return Array.from({ length: ringCount }, (_, ring) => {
        const positions: Position[] = [];
        const end = integers[2 * (body + BODY_HEAD_WORDS) + ring] as number;
        for (; from < end; from++) {
          positions.push([numbers[first + 2 * from] as number, numbers[first + 2 * from + 1] as number]);
        }
        return positions;
      });
    });
  }

  /** Whether any of the polygons holds the place; degrees, the border is inside. */
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
    const side = integers[2 * body + 1] as number;
    if (side === 0) return isInRings(integers, 2 * (body + BODY_HEAD_WORDS), ringCount, numbers, first, lat, lon);
    const cells = 2 * (first + 2 * (integers[2 * body] as number));
    const cell = integers[cells + this.#cellAt(address, line, side, lat, lon)] as number;
    if (cell === CELL_OUTSIDE) return false;
    if (cell === CELL_INSIDE) return true;
    const list = 2 * (cells + side * side) + cell;
    return isInMixedCell(this.#arena.shortsAt(address), list, numbers, first, lat, lon);
  }
}

function coordinatesOffset(body: number, ringCount: number): number {
  return body + BODY_HEAD_WORDS + ((ringCount + 1) >> 1);
}

/** Places within the tolerance outside belong to the outermost cells. */
function cellOf(at: number, low: number, high: number, side: number): number {
  if (high <= low) return 0;
  const cell = Math.floor(((at - low) / (high - low)) * side);
  return cell < 0 ? 0 : cell >= side ? side - 1 : cell;
}

/** `ends`: where the ends of the rings are. */
function isInRings(
  integers: Int32Array,
  ends: number,
  ringCount: number,
  numbers: Float64Array,
  first: number,
  lat: number,
  lon: number,
): boolean {
  let isInside = false;
  let from = first;
  for (let ring = 0; ring < ringCount; ring++) {
    const end = first + 2 * (integers[ends + ring] as number);
    for (let b = from + 2; b < end; b += 2) {
      const side = sideOfEdge(
        numbers[b - 2] as number,
        numbers[b - 1] as number,
        numbers[b] as number,
        numbers[b + 1] as number,
        lat,
        lon,
      );
      if (side === ON_EDGE) return true;
      if (side === WEST_OF_EDGE) isInside = !isInside;
    }
    from = end;
  }
  return isInside;
}

function prepare(polygon: Polygon, wordsMax: number): Prepared | null {
  let west = Infinity;
  let south = Infinity;
  let east = -Infinity;
  let north = -Infinity;
  let positions = 0;
  const ends = polygon.map((ring) => (positions += ring.length));
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
  const hasGrid = positions >= GRID_POSITIONS_MIN && positions <= GRID_POSITIONS_MAX;
  const grid = hasGrid ? gridOf(rings, box) : null;
  const gridShorts = grid === null ? 0 : 2 * grid.cells.length + grid.lists.length;
  const words = coordinatesOffset(0, ends.length) + coordinates.length + Math.ceil(gridShorts / 4);
  return { box, rings, grid, words };
}
