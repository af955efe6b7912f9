/**
 * Points of interest in memory: a tree of boxes per facility, never changed once built. `createPointsOfInterest` holds
 * the current index; a new one is built off to the side and swapped in, so a query sees the old or the new whole.
 */

import { yieldToOthers } from '../../actor/waiting.ts';
import { FACILITIES, type Facility, type PointOfInterest } from '../../domain/point-of-interest.ts';
import { nearestPoints } from './nearest-points.ts';
import { PointColumns } from './point-columns.ts';
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

/** An index in the making: it takes the points bit by bit, and holds the event loop for a millisecond at most. */
export interface PointIndexBuilder {
  add(points: Iterable<PointOfInterest>): Promise<void>;
  finish(): Promise<PointIndex>;
}

export interface PointsOfInterest {
  /** The index that answers now. Another one after each change: what was worked out from it can be kept with it. */
  readonly current: PointIndex;
  /** Hands `fill` a new index to be filled, and makes it the current one afterwards; queries go on meanwhile. */
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
  // Neighbours side by side: an answer reads some stretches of the columns instead of a thousand places all over them.
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
