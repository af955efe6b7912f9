/**
 * Points of interest in memory: a tree of boxes per facility, never changed once built. `createPointsOfInterest` holds
 * the current index; a new one is built off to the side and swapped in, so a query sees the old or the new whole.
 */

import { yieldToOthers } from '../../actor/waiting.ts';
import { FACILITIES, type Facility, type PointOfInterest } from '../../domain/point-of-interest.ts';
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

export interface PointsOfInterest {
  /** The index that answers now. Another one after each change: what was worked out from it can be kept with it. */
  readonly current: PointIndex;
  /** Builds an index of `points` and makes it the current one; queries go on meanwhile. */
  replace(points: Iterable<PointOfInterest>): Promise<void>;
}

export function createPointsOfInterest(): PointsOfInterest {
  let current = NO_POINTS;
  return {
    get current() {
      return current;
    },
    async replace(points) {
      current = await buildPointIndex(points);
    },
  };
}

/**
 * Lays the points out, in steps of less than a millisecond between which the event loop turns: five million take some
 * seconds in all.
 */
export async function buildPointIndex(points: Iterable<PointOfInterest>): Promise<PointIndex> {
  const all = new PointList();
  const counts = new Map<Facility, number>(FACILITIES.map((facility) => [facility, 0]));
  for (const point of points) {
    all.add(point);
    counts.set(point.facility, (counts.get(point.facility) as number) + 1);
    if (all.length % STEP_POINTS === 0) await yieldToOthers();
  }
  const tree = new PointTree(all.length);
  const nexts = new Map<Facility, number>();
  let end = 0;
  for (const [facility, count] of counts) {
    nexts.set(facility, end);
    end += count;
  }
  for (let number = 0; number < all.length; number++) {
    const { facility, lat, lon } = all.at(number);
    const position = nexts.get(facility) as number;
    tree.set(position, number, lat, lon);
    nexts.set(facility, position + 1);
    if (number % STEP_POINTS === 0) await yieldToOthers();
  }
  const roots = new Map<Facility, number>();
  for (const [facility, count] of counts) {
    const facilityEnd = nexts.get(facility) as number;
    if (count > 0) roots.set(facility, await inTurns(tree.build(facilityEnd - count, facilityEnd)));
  }
  // Neighbours side by side: an answer reads some stretches of the list instead of a thousand places all over it.
  const ordered = new PointList();
  for (let position = 0; position < all.length; position++) {
    ordered.add(all.at(tree.numbers[position] as number));
    if (position % STEP_POINTS === 0) await yieldToOthers();
  }
  return { size: all.length, within: (query) => findWithin(tree, roots, ordered, query) };
}

/** Points gone over between two turns of the event loop. */
const STEP_POINTS = 4096;

async function inTurns<T>(steps: Generator<null, T>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await yieldToOthers();
  }
}

function findWithin(
  tree: PointTree,
  roots: ReadonlyMap<Facility, number>,
  points: PointList,
  { facilities, limit, ...circumference }: PointQuery,
): readonly PointOfInterest[] {
  const asked =
    facilities.length === 0 ? roots.values() : [...new Set(facilities)].map((facility) => roots.get(facility));
  const present = [...asked].filter((root) => root !== undefined);
  return nearestPoints(tree, present, circumference, limit, (position) => points.at(position));
}

const CHUNK_LOG2 = 13;
const CHUNK = 1 << CHUNK_LOG2;

/** A list that grows without being copied. */
class PointList {
  readonly #chunks: PointOfInterest[][] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  at(position: number): PointOfInterest {
    return (this.#chunks[position >> CHUNK_LOG2] as PointOfInterest[])[position & (CHUNK - 1)] as PointOfInterest;
  }

  add(point: PointOfInterest): void {
    if ((this.#length & (CHUNK - 1)) === 0) this.#chunks.push([]);
    (this.#chunks[this.#length >> CHUNK_LOG2] as PointOfInterest[]).push(point);
    this.#length += 1;
  }
}
