/**
 * Finds the commune of a point, and distances to other communes, by their outlines. Boxes are in a packed R-tree, and
 * corners in typed arrays (5 MB). Distances are measured on a plane that touches the sphere at the point. Within five
 * kilometres they are exact to a metre.
 */

import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import Flatbush from 'flatbush';
import { KM_PER_DEGREE, RADIANS } from '../domain/geo.ts';
import { type DepartmentOutlines, departmentOutlines } from './department-outlines.ts';
import { COAST, type Outlines, unpackOutlines } from './outlines/packed-outlines.ts';

/** A point at sea within this distance of the coast belongs to the nearest commune (decisions, section 5). */
const COAST_KM = 2;

/** Throws if the file cannot be read, because the installation is then broken. */
export async function readCommuneOutlines(name: 'communes' | 'arrondissements' = 'communes'): Promise<CommuneOutlines> {
  const file = new URL(`outlines/${name}.bin.br`, import.meta.url);
  const bytes = await promisify(brotliDecompress)(await readFile(file));
  return new CommuneOutlines(unpackOutlines(bytes));
}

/** A point on the grid of the outlines, and the length of the grid's steps at that point. */
interface GridPoint {
  readonly x: number;
  readonly y: number;
  readonly kmPerX: number;
  readonly kmPerY: number;
}

export class CommuneOutlines {
  readonly #outlines: Outlines;
  readonly #arcs: readonly (readonly number[])[];
  readonly #boxes: Flatbush;
  readonly #indexOf: ReadonlyMap<string, number>;

  constructor(outlines: Outlines) {
    this.#outlines = outlines;
    this.#arcs = arcsByCommune(outlines);
    this.#boxes = indexBoxes(outlines, this.#arcs);
    this.#indexOf = new Map(outlines.insees.map((insee, index) => [insee, index]));
  }

  /** The INSEE code of the outline that contains the point or, at sea, of the nearest outline within `COAST_KM`. */
  at(lat: number, lon: number): string | null {
    const point = this.#pointAt(lat, lon);
    const commune = this.#around(point, 0).find((one) => this.#holds(one, point)) ?? this.#nearestCoast(point);
    return commune === null ? null : (this.#outlines.insees[commune] as string);
  }

  /** INSEE codes of all outlines within `radiusKm`, and of others whose box is within it. */
  around(lat: number, lon: number, radiusKm: number): readonly string[] {
    const found = this.#around(this.#pointAt(lat, lon), radiusKm);
    return found.map((commune) => this.#outlines.insees[commune] as string);
  }

  /** The outlines of the communes for which `nameOf` returns a name; null if none of them has an outline. */
  ofDepartment(nameOf: (insee: string) => string | null): DepartmentOutlines | null {
    return departmentOutlines(this.#outlines, nameOf);
  }

  has(insee: string): boolean {
    return this.#indexOf.has(insee);
  }

  /** Kilometres to the outline, 0 inside it; null if the commune has none. */
  distanceKm(insee: string, lat: number, lon: number): number | null {
    const commune = this.#indexOf.get(insee);
    if (commune === undefined) return null;
    const point = this.#pointAt(lat, lon);
    if (this.#holds(commune, point)) return 0;
    const arcs = this.#arcs[commune] as readonly number[];
    return arcs.reduce((km, arc) => Math.min(km, distanceToArcKm(this.#outlines, arc, point)), Infinity);
  }

  #pointAt(lat: number, lon: number): GridPoint {
    const [scaleX = 1, scaleY = 1] = this.#outlines.scale;
    const [originX = 0, originY = 0] = this.#outlines.translate;
    return {
      x: (lon - originX) / scaleX,
      y: (lat - originY) / scaleY,
      kmPerX: scaleX * KM_PER_DEGREE * Math.cos(lat * RADIANS),
      kmPerY: scaleY * KM_PER_DEGREE,
    };
  }

  #around({ x, y, kmPerX, kmPerY }: GridPoint, radiusKm: number): number[] {
    const [east, north] = [radiusKm / kmPerX, radiusKm / kmPerY];
    return this.#boxes.search(x - east, y - north, x + east, y + north);
  }

  /** Even-odd rule: from a point inside, a ray to the east crosses an odd number of edges. */
  #holds(commune: number, { x, y }: GridPoint): boolean {
    const { starts, xs, ys } = this.#outlines;
    let isInside = false;
    for (const arc of this.#arcs[commune] as readonly number[]) {
      for (let at = (starts[arc] as number) + 1; at < (starts[arc + 1] as number); at++) {
        const [yA, yB] = [ys[at - 1] as number, ys[at] as number];
        if (yA > y === yB > y) continue;
        const xA = xs[at - 1] as number;
        if (x < (((xs[at] as number) - xA) * (y - yA)) / (yB - yA) + xA) isInside = !isInside;
      }
    }
    return isInside;
  }

  /** The commune of the nearest outer arc; null if no arc is within `COAST_KM`, or if this arc is a land border. */
  #nearestCoast(point: GridPoint): number | null {
    const { inside, beyond } = this.#outlines;
    let [nearest, nearestKm]: [number | null, number] = [null, COAST_KM];
    for (const commune of this.#around(point, COAST_KM)) {
      for (const arc of this.#arcs[commune] as readonly number[]) {
        if ((beyond[arc] as number) >= 0) continue;
        const km = distanceToArcKm(this.#outlines, arc, point);
        if (km <= nearestKm) [nearest, nearestKm] = [beyond[arc] === COAST ? (inside[arc] as number) : null, km];
      }
    }
    return nearest;
  }
}

function distanceToArcKm({ starts, xs, ys }: Outlines, arc: number, point: GridPoint): number {
  const { x, y, kmPerX, kmPerY } = point;
  let nearest = Infinity;
  for (let at = (starts[arc] as number) + 1; at < (starts[arc + 1] as number); at++) {
    const [xA, yA] = [((xs[at - 1] as number) - x) * kmPerX, ((ys[at - 1] as number) - y) * kmPerY];
    const [east, north] = [((xs[at] as number) - x) * kmPerX - xA, ((ys[at] as number) - y) * kmPerY - yA];
    const length = east * east + north * north;
    const share = length === 0 ? 0 : Math.min(1, Math.max(0, -(xA * east + yA * north) / length));
    const [toX, toY] = [xA + share * east, yA + share * north];
    nearest = Math.min(nearest, toX * toX + toY * toY);
  }
  return Math.sqrt(nearest);
}

function indexBoxes({ starts, xs, ys }: Outlines, arcs: readonly (readonly number[])[]): Flatbush {
  const boxes = new Flatbush(arcs.length, undefined, Int32Array);
  for (const ofCommune of arcs) {
    let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const arc of ofCommune) {
      for (let at = starts[arc] as number; at < (starts[arc + 1] as number); at++) {
        west = Math.min(west, xs[at] as number);
        east = Math.max(east, xs[at] as number);
        south = Math.min(south, ys[at] as number);
        north = Math.max(north, ys[at] as number);
      }
    }
    boxes.add(west, south, east, north);
  }
  boxes.finish();
  return boxes;
}

function arcsByCommune({ insees, inside, beyond }: Outlines): readonly (readonly number[])[] {
  const arcs = insees.map((): number[] => []);
  for (let arc = 0; arc < inside.length; arc++) {
    arcs[inside[arc] as number]?.push(arc);
    arcs[beyond[arc] as number]?.push(arc);
  }
  return arcs;
}
