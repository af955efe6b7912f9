/**
 * Points of interest in memory: a tree of boxes per facility, never changed once built. `createPointsOfInterest` holds
 * the current index; a new one is built off to the side and swapped in, so a query sees the old or the new whole.
 */

import { yieldToOthers } from '../../actor/waiting.ts';
import {
  FACILITIES,
  type Facility,
  OPERATOR_TYPES,
  type PointAttributes,
  type PointOfInterest,
  SCHOOL_TYPES,
} from '../../domain/point-of-interest.ts';
import { nearestPoints } from './nearest-points.ts';
import { PointTree } from './point-tree.ts';

export interface PointQuery {
  /** Degrees, WGS 84. */
  readonly lat: number;
  readonly lon: number;
  /** Great-circle, on a sphere of 6371 km; the border is inside. */
  readonly radiusKm: number;
  /** None means all. */
  readonly facilities: readonly Facility[];
  /** At most `NEAREST_MAX`. */
  readonly limit: number;
}

export interface PointIndex {
  readonly size: number;
  /** The nearest `limit` points within the radius, nearest first. */
  within(query: PointQuery): readonly PointOfInterest[];
}

export const NO_POINTS: PointIndex = { size: 0, within: () => [] };

/** An index under construction: takes the points in steps that block the event loop for a millisecond at most. */
export interface PointIndexBuilder {
  add(points: Iterable<PointOfInterest>): Promise<void>;
  finish(): Promise<PointIndex>;
}

export interface PointsOfInterest {
  /** The present index. Each change creates another one: derived values can be kept with it. */
  readonly current: PointIndex;
  /** Passes a new index to `fill`, and makes it current afterwards; queries continue meanwhile. */
  replace(fill: (builder: PointIndexBuilder) => Promise<void>): Promise<void>;
}

export function createPointsOfInterest(): PointsOfInterest {
  let current = NO_POINTS;
  return {
    get current() {
      return current;
    },
    async replace(fill) {
      const builder = createPointIndexBuilder();
      await fill(builder);
      current = await builder.finish();
    },
  };
}

export async function buildPointIndex(points: Iterable<PointOfInterest>): Promise<PointIndex> {
  const builder = createPointIndexBuilder();
  await builder.add(points);
  return builder.finish();
}

/** Five million points are laid out in some seconds. */
export function createPointIndexBuilder(): PointIndexBuilder {
  const all = new PointColumns();
  const counts: number[] = FACILITIES.map(() => 0);
  return {
    async add(points) {
      for (const point of points) {
        all.add(point);
        const facility = FACILITIES.indexOf(point.facility);
        counts[facility] = (counts[facility] as number) + 1;
        if (all.length % STEP_POINTS === 0) await yieldToOthers();
      }
    },
    finish: () => layOut(all, counts),
  };
}

/** `counts`: of each facility, in the order of `FACILITIES`. */
async function layOut(all: PointColumns, counts: readonly number[]): Promise<PointIndex> {
  const tree = new PointTree(all.length);
  const ends: number[] = [];
  for (const count of counts) ends.push((ends.at(-1) ?? 0) + count);
  const nexts = ends.map((end, facility) => end - (counts[facility] as number));
  for (let number = 0; number < all.length; number++) {
    const facility = all.facilityAt(number);
    const position = nexts[facility] as number;
    nexts[facility] = position + 1;
    tree.set(position, number, all.latAt(number), all.lonAt(number));
    if (number % STEP_POINTS === 0) await yieldToOthers();
  }
  const roots = new Map<Facility, number>();
  for (const [facility, name] of FACILITIES.entries()) {
    const [count, end] = [counts[facility] as number, ends[facility] as number];
    if (count > 0) roots.set(name, await stepByStep(tree.build(end - count, end)));
  }
  // Neighbours side by side: an answer reads a few stretches of the columns instead of a thousand scattered places.
  const ordered = new PointColumns();
  for (let position = 0; position < all.length; position++) {
    ordered.addFrom(all, tree.numbers[position] as number);
    if (position % STEP_POINTS === 0) await yieldToOthers();
  }
  return { size: all.length, within: (query) => findWithin(tree, roots, ordered, query) };
}

/** Points gone over in one tick of the event loop. */
const STEP_POINTS = 2048;

async function stepByStep<T>(steps: Generator<null, T>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await yieldToOthers();
  }
}

function findWithin(
  tree: PointTree,
  roots: ReadonlyMap<Facility, number>,
  points: PointColumns,
  { facilities, limit, ...circumference }: PointQuery,
): readonly PointOfInterest[] {
  const asked =
    facilities.length === 0 ? roots.values() : [...new Set(facilities)].map((facility) => roots.get(facility));
  const present = [...asked].filter((root) => root !== undefined);
  return nearestPoints(tree, present, circumference, limit, (position) => points.at(position));
}

const CHUNK_LOG2 = 13;
const CHUNK = 1 << CHUNK_LOG2;
const NAME_BYTES = 24;

/** All there may be, each one object: a point has the number of its own in a byte. */
const ATTRIBUTES: readonly PointAttributes[] = [null, ...SCHOOL_TYPES].flatMap((schoolType) =>
  [null, ...OPERATOR_TYPES].map((operatorType) => ({
    ...(schoolType === null ? {} : { schoolType }),
    ...(operatorType === null ? {} : { operatorType }),
  })),
);

interface Chunk {
  readonly lats: Float64Array;
  readonly lons: Float64Array;
  readonly facilities: Uint8Array;
  readonly attributes: Uint8Array;
  /** Where the name ends in `names`; it begins where the one before ends. */
  readonly nameEnds: Uint32Array;
  /** 1 without a name, which is something else than an empty one. */
  readonly isNameless: Uint8Array;
  /** UTF-8. */
  names: Buffer;
}

/**
 * A growing list of points of interest, in columns of shared memory. Five million objects would burden the garbage
 * collector and block everything else for as long as a collection takes; here they are bytes, and a point is an object
 * only while it is read.
 */
class PointColumns {
  readonly #chunks: Chunk[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add({ facility, lat, lon, name, attributes }: PointOfInterest): void {
    const [chunk, at] = this.#next();
    chunk.lats[at] = lat;
    chunk.lons[at] = lon;
    chunk.facilities[at] = FACILITIES.indexOf(facility);
    chunk.attributes[at] = numberOf(attributes);
    chunk.isNameless[at] = name === null ? 1 : 0;
    const start = nameStart(chunk, at);
    const text = name ?? '';
    // No UTF-16 unit takes more than three bytes.
    makeRoom(chunk, start + 3 * text.length);
    chunk.nameEnds[at] = start + (text === '' ? 0 : chunk.names.write(text, start));
  }

  /** Adds the point at `position` of `other`. */
  addFrom(other: PointColumns, position: number): void {
    const [from, place] = other.#placeOf(position);
    const [to, at] = this.#next();
    to.lats[at] = from.lats[place] as number;
    to.lons[at] = from.lons[place] as number;
    to.facilities[at] = from.facilities[place] as number;
    to.attributes[at] = from.attributes[place] as number;
    to.isNameless[at] = from.isNameless[place] as number;
    const start = nameStart(to, at);
    const nameFrom = nameStart(from, place);
    const nameTo = from.nameEnds[place] as number;
    makeRoom(to, start + nameTo - nameFrom);
    if (nameTo > nameFrom) from.names.copy(to.names, start, nameFrom, nameTo);
    to.nameEnds[at] = start + nameTo - nameFrom;
  }

  at(position: number): PointOfInterest {
    const [chunk, at] = this.#placeOf(position);
    return {
      facility: FACILITIES[chunk.facilities[at] as number] as Facility,
      lat: chunk.lats[at] as number,
      lon: chunk.lons[at] as number,
      name: chunk.isNameless[at] === 1 ? null : chunk.names.toString('utf8', nameStart(chunk, at), chunk.nameEnds[at]),
      attributes: ATTRIBUTES[chunk.attributes[at] as number] as PointAttributes,
    };
  }

  latAt(position: number): number {
    const [chunk, at] = this.#placeOf(position);
    return chunk.lats[at] as number;
  }

  lonAt(position: number): number {
    const [chunk, at] = this.#placeOf(position);
    return chunk.lons[at] as number;
  }

  /** Its place in `FACILITIES`. */
  facilityAt(position: number): number {
    const [chunk, at] = this.#placeOf(position);
    return chunk.facilities[at] as number;
  }

  #placeOf(position: number): [chunk: Chunk, at: number] {
    return [this.#chunks[position >> CHUNK_LOG2] as Chunk, position & (CHUNK - 1)];
  }

  #next(): [chunk: Chunk, at: number] {
    const position = this.#length++;
    if ((position & (CHUNK - 1)) === 0) this.#chunks.push(newChunk());
    return this.#placeOf(position);
  }
}

function numberOf({ schoolType, operatorType }: PointAttributes): number {
  const school = schoolType === undefined ? 0 : 1 + SCHOOL_TYPES.indexOf(schoolType);
  const operator = operatorType === undefined ? 0 : 1 + OPERATOR_TYPES.indexOf(operatorType);
  return school * (1 + OPERATOR_TYPES.length) + operator;
}

function newChunk(): Chunk {
  return {
    lats: new Float64Array(new SharedArrayBuffer(8 * CHUNK)),
    lons: new Float64Array(new SharedArrayBuffer(8 * CHUNK)),
    facilities: new Uint8Array(new SharedArrayBuffer(CHUNK)),
    attributes: new Uint8Array(new SharedArrayBuffer(CHUNK)),
    nameEnds: new Uint32Array(new SharedArrayBuffer(4 * CHUNK)),
    isNameless: new Uint8Array(new SharedArrayBuffer(CHUNK)),
    names: Buffer.from(new SharedArrayBuffer(NAME_BYTES * CHUNK)),
  };
}

function nameStart({ nameEnds }: Chunk, at: number): number {
  return at === 0 ? 0 : (nameEnds[at - 1] as number);
}

function makeRoom(chunk: Chunk, byteCount: number): void {
  if (byteCount <= chunk.names.length) return;
  const larger = Buffer.from(new SharedArrayBuffer(2 * byteCount));
  chunk.names.copy(larger);
  chunk.names = larger;
}
