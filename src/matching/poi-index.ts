/**
 * Points of interest in memory: a KD-tree per facility, never changed once built. `createPointsOfInterest` holds the
 * current one; a new set is built off to the side and swapped in, so a query sees the old or the new whole.
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
  /** The nearest `limit` points within the radius, nearest first; of equally near ones those indexed first. */
  within(query: PointQuery): readonly PointOfInterest[];
}

export interface PointsOfInterest extends PointIndex {
  /** Builds an index of `points` and makes it the current one; queries go on meanwhile. */
  replace(points: Iterable<PointOfInterest>): Promise<void>;
}

export function createPointsOfInterest(): PointsOfInterest {
  let current: PointIndex = { size: 0, within: () => [] };
  return {
    get size() {
      return current.size;
    },
    within: (query) => current.within(query),
    async replace(points) {
      current = await buildPointIndex(points);
    },
  };
}

/** Lets the event loop turn between facilities: a million points take about a second in all. */
export async function buildPointIndex(points: Iterable<PointOfInterest>): Promise<PointIndex> {
  const pointsOf = new Map<Facility, PointOfInterest[]>(FACILITIES.map((facility) => [facility, []]));
  let size = 0;
  for (const point of points) {
    pointsOf.get(point.facility)?.push(point);
    size++;
  }
  const trees = new Map<Facility, FacilityTree>();
  for (const [facility, list] of pointsOf) {
    if (list.length > 0) trees.set(facility, buildTree(list));
    await setImmediate();
  }
  return { size, within: (query) => findWithin(trees, query) };
}

interface FacilityTree {
  readonly tree: KDBush;
  /** By number in the tree. */
  readonly points: readonly PointOfInterest[];
}

function buildTree(points: readonly PointOfInterest[]): FacilityTree {
  const tree = new KDBush(points.length);
  for (const { lat, lon } of points) tree.add(lon, lat);
  tree.finish();
  return { tree, points };
}

interface Hit {
  readonly point: PointOfInterest;
  readonly distanceKm: number;
}

function findWithin(trees: ReadonlyMap<Facility, FacilityTree>, query: PointQuery): readonly PointOfInterest[] {
  const { lat, lon, radiusKm, limit } = query;
  const facilities = query.facilities.length === 0 ? FACILITIES : new Set(query.facilities);
  const hits: Hit[] = [];
  for (const facility of facilities) {
    const found = trees.get(facility);
    if (found === undefined) continue;
    for (const number of candidates(found.tree, query)) {
      const point = found.points[number] as PointOfInterest;
      const apart = distanceKm(lat, lon, point.lat, point.lon);
      if (apart <= radiusKm) hits.push({ point, distanceKm: apart });
    }
  }
  hits.sort((a, b) => a.distanceKm - b.distanceKm);
  return hits.slice(0, limit).map(({ point }) => point);
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
