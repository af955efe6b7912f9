/**
 * Points of interest in memory: a KD-tree of all and one per facility, never changed once built.
 * `createPointsOfInterest` holds the current index; a new one is built off to the side and swapped in, so a query sees
 * the old or the new whole.
 */

import { setImmediate } from 'node:timers/promises';
import { around } from 'geokdbush';
import KDBush from 'kdbush';
import { distanceKm, EARTH_RADIUS_KM } from '../domain/geo.ts';
import { FACILITIES, type Facility, type PointOfInterest } from '../domain/point-of-interest.ts';

export interface PointQuery {
  /** Degrees, WGS 84. */
  readonly lat: number;
  readonly lon: number;
  /** Great-circle, on a sphere of 6371 km; the border is inside. */
  readonly radiusKm: number;
  /** None means all. */
  readonly facilities: readonly Facility[];
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

/** Lets the event loop turn between trees: a million points take about a second in all. */
export async function buildPointIndex(points: Iterable<PointOfInterest>): Promise<PointIndex> {
  const all = [...points];
  const trees: PointTrees = { all: buildTree(all), byFacility: new Map() };
  for (const facility of FACILITIES) {
    await setImmediate();
    trees.byFacility.set(facility, buildTree(all.filter((point) => point.facility === facility)));
  }
  return { size: all.length, within: (query) => findWithin(trees, query) };
}

interface PointTrees {
  readonly all: PointTree;
  readonly byFacility: Map<Facility, PointTree>;
}

interface PointTree {
  /** Null without points: the library has no empty tree. */
  readonly tree: KDBush | null;
  /** By number in the tree. */
  readonly points: readonly PointOfInterest[];
}

function buildTree(points: readonly PointOfInterest[]): PointTree {
  if (points.length === 0) return { tree: null, points };
  const tree = new KDBush(points.length);
  for (const { lat, lon } of points) tree.add(lon, lat);
  tree.finish();
  return { tree, points };
}

interface Hit {
  readonly point: PointOfInterest;
  readonly distanceKm: number;
}

function findWithin(trees: PointTrees, query: PointQuery): readonly PointOfInterest[] {
  const { lat, lon, radiusKm, limit } = query;
  const hits: Hit[] = [];
  for (const { tree, points } of treesOf(trees, query.facilities)) {
    if (tree === null) continue;
    for (const number of candidates(tree, query)) {
      const point = points[number] as PointOfInterest;
      const apart = distanceKm(lat, lon, point.lat, point.lon);
      if (apart <= radiusKm) hits.push({ point, distanceKm: apart });
    }
  }
  hits.sort((a, b) => a.distanceKm - b.distanceKm);
  return hits.slice(0, limit).map(({ point }) => point);
}

/** All facilities at once are one walk instead of five. */
function treesOf({ all, byFacility }: PointTrees, facilities: readonly Facility[]): readonly PointTree[] {
  const asked = new Set(facilities);
  if (asked.size === 0 || asked.size === FACILITIES.length) return [all];
  return [...asked].map((facility) => byFacility.get(facility) as PointTree);
}

/** Rounding may put a point of the border a last bit beyond it: the tree is asked for a hair more. */
const HAIR = 1 + 1e-9;
const HAIR_KM = 1e-9;
/** Up to here the points of a box are few and sorting them is faster than walking the tree by distance. */
const BOX_RADIUS_MAX_KM = 5;
/** Beyond, a box of longitudes comes near the pole. */
const BOX_LATITUDE_MAX = 85;
const DEGREES = 180 / Math.PI;

/** Numbers of at least the nearest `limit` points within the radius. */
function candidates(tree: KDBush, { lat, lon, radiusKm, limit }: PointQuery): readonly number[] {
  const reachKm = radiusKm * HAIR + HAIR_KM;
  if (radiusKm <= BOX_RADIUS_MAX_KM && Math.abs(lat) <= BOX_LATITUDE_MAX) {
    // The box round a circle on the sphere (J. P. Matuschek, "Finding Points Within a Distance", 2010).
    const reach = reachKm / EARTH_RADIUS_KM;
    const dLat = reach * DEGREES;
    const dLon = Math.asin(Math.sin(reach) / Math.cos(lat / DEGREES)) * DEGREES;
    const crossesAntimeridian = lon - dLon < -180 || lon + dLon > 180;
    if (!crossesAntimeridian) return tree.range(lon - dLon, lat - dLat, lon + dLon, lat + dLat);
  }
  return around(tree, lon, lat, limit, reachKm);
}
