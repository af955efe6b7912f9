/**
 * Compares our index of points of interest with geokdbush alone, at radii from 0.3 to 50 km. Geokdbush has one tree per
 * facility and one for all. Also measures how long the event loop is blocked while points are replaced.
 */

import { setImmediate } from 'node:timers/promises';
import { around } from 'geokdbush';
import KDBush from 'kdbush';
import { distanceKm } from '../../src/engine/domain/geo.ts';
import { FACILITIES, type Facility, type PointOfInterest } from '../../src/engine/domain/point-of-interest.ts';
import {
  type AddPoints,
  buildPointIndex,
  NO_POINTS,
  type PointQuery,
} from '../../src/engine/matching/points/poi-index.ts';
import { type Summary, summarise } from './latency.ts';
import { randomOf } from './random.ts';
import { scatter, type Towns } from './towns.ts';

const POINTS = 31;
const QUERIES = 32;
const RADII_KM = [0.3, 1, 2, 5, 10, 20, 50];
const FACILITY_WEIGHTS = [45, 25, 15, 10, 5];
const QUERY_COUNT = 200;
const LIMIT = 1000;
const BATCH = 1000;
const WARM_UP_MS = 100;

export interface PointsFinding {
  readonly radiusKm: number;
  readonly facilities: number;
  readonly ours: Summary;
  readonly geokdbush: Summary;
  readonly found: number;
  readonly mismatches: number;
}

export interface PointsReport {
  readonly pointCount: number;
  readonly buildSeconds: number;
  /** Longest tick of the event loop during the first import and the replacement. */
  readonly longestHoldMs: number;
  readonly findings: readonly PointsFinding[];
}

export async function measurePoints(towns: Towns, seed: number, pointCount: number): Promise<PointsReport> {
  let index = NO_POINTS;
  const replace = async () => {
    index = await buildPointIndex((add) => addInBatches(add, (i) => pointOf(towns, seed, i), pointCount));
  };
  globalThis.gc?.();
  const first = await timedReplace(replace);
  const second = await timedReplace(replace);
  const trees = geokdbushOf(Array.from({ length: pointCount }, (_, i) => pointOf(towns, seed, i)));
  const findings = RADII_KM.flatMap((radiusKm) =>
    [1, 2, 5].map((facilities): PointsFinding => {
      const queries = Array.from({ length: QUERY_COUNT }, (_, i) => queryOf(towns, seed, i, radiusKm, facilities));
      const within = (query: PointQuery) => index.within(query);
      const ways = [(query: PointQuery) => trees.filtered(query), (query: PointQuery) => trees.several(query)];
      const [filtered, several] = ways.map((way) => timed(queries, way)) as [Summary, Summary];
      const ours = timed(queries, within);
      return {
        ...{ radiusKm, facilities, ours },
        geokdbush: several.meanUs < filtered.meanUs ? several : filtered,
        found: queries.reduce((sum, query) => sum + within(query).length, 0) / queries.length,
        mismatches: queries.filter(
          (query) => distancesOf(query, within(query)) !== distancesOf(query, trees.nearest(query)),
        ).length,
      };
    }),
  );
  return {
    ...{ pointCount, findings },
    buildSeconds: first.seconds,
    longestHoldMs: Math.max(first.longestMs, second.longestMs),
  };
}

/** Adds points in batches, like rows from a cursor. A batch can be collected once it has been added. */
async function addInBatches(add: AddPoints, pointAt: (i: number) => PointOfInterest, count: number) {
  for (let start = 0; start < count; start += BATCH) {
    await add(Array.from({ length: Math.min(BATCH, count - start) }, (_, i) => pointAt(start + i)));
    await setImmediate();
  }
}

async function timedReplace(replace: () => Promise<void>): Promise<{ seconds: number; longestMs: number }> {
  let isDone = false;
  const started = performance.now();
  let last = started;
  let longestMs = 0;
  const replaced = replace().then(() => {
    isDone = true;
  });
  while (!isDone) {
    await setImmediate();
    const now = performance.now();
    longestMs = Math.max(longestMs, now - last);
    last = now;
  }
  await replaced;
  return { seconds: (last - started) / 1000, longestMs };
}

function timed(queries: readonly PointQuery[], find: (query: PointQuery) => unknown): Summary {
  const warm = performance.now() + WARM_UP_MS;
  for (let i = 0; performance.now() < warm; i++) find(queries[(i * 7) % queries.length] as PointQuery);
  const times = Float64Array.from(queries, (query) => {
    const started = performance.now();
    find(query);
    return (performance.now() - started) * 1000;
  });
  return summarise(times);
}

function geokdbushOf(points: readonly PointOfInterest[]) {
  const treeOf = (of: readonly PointOfInterest[]) => {
    const tree = new KDBush(of.length);
    for (const { lat, lon } of of) tree.add(lon, lat);
    tree.finish();
    return { tree, of };
  };
  const all = treeOf(points);
  const byFacility = new Map(
    FACILITIES.map((facility) => [facility, treeOf(points.filter((point) => point.facility === facility))]),
  );
  const treesOf = (facilities: readonly Facility[]) => facilities.map((facility) => byFacility.get(facility) ?? all);
  return {
    filtered({ lat, lon, radiusKm, facilities, limit }: PointQuery): readonly number[] {
      if (facilities.length === FACILITIES.length) return around(all.tree, lon, lat, limit, radiusKm);
      const asked = new Set(facilities);
      return around(all.tree, lon, lat, limit, radiusKm, (i) => asked.has((points[i] as PointOfInterest).facility));
    },
    several: ({ lat, lon, radiusKm, facilities, limit }: PointQuery): readonly number[][] =>
      treesOf(facilities).map(({ tree }) => around(tree, lon, lat, limit, radiusKm)),
    nearest({ lat, lon, radiusKm, facilities, limit }: PointQuery): readonly PointOfInterest[] {
      const apart = (point: PointOfInterest) => distanceKm(lat, lon, point.lat, point.lon);
      return treesOf(facilities)
        .flatMap(({ tree, of }) => around(tree, lon, lat, limit, radiusKm + 1e-6).map((i) => of[i] as PointOfInterest))
        .filter((point) => apart(point) <= radiusKm)
        .sort((a, b) => apart(a) - apart(b))
        .slice(0, limit);
    },
  };
}

function distancesOf({ lat, lon }: PointQuery, points: readonly PointOfInterest[]): string {
  return points.map((point) => distanceKm(lat, lon, point.lat, point.lon)).join();
}

function pointOf(towns: Towns, seed: number, position: number): PointOfInterest {
  const random = randomOf(seed, POINTS, position);
  const facility = random.pick(FACILITIES, FACILITY_WEIGHTS);
  return { ...scatter(towns.draw(random), 2, random), facility, name: null, attributes: {} };
}

function queryOf(towns: Towns, seed: number, position: number, radiusKm: number, facilityCount: number): PointQuery {
  const random = randomOf(seed, QUERIES, position);
  const facilities = FACILITIES.slice(0, facilityCount);
  return { ...scatter(towns.draw(random), 2, random), radiusKm, facilities, limit: LIMIT };
}
