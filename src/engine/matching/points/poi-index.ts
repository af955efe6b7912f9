/**
 * Points of interest in memory: one kd-tree (kdbush) per facility. An index never changes.
 */

import { around } from 'geokdbush';
import type KDBush from 'kdbush';
import { yieldToOthers } from '../../actor/waiting.ts';
import { distanceFromKm, EARTH_RADIUS_KM, RADIANS } from '../../domain/geo.ts';
import { type Combination, combinationKey, combinationsOf } from '../../domain/point-distances.ts';
import { FACILITIES, type Facility, type PointOfInterest } from '../../domain/point-of-interest.ts';
import { PointDetails } from './point-details.ts';
import { Coordinates, nearestPosition, STEP_POINTS, sortedTree } from './point-tree.ts';

export interface PointQuery {
  /** Degrees, WGS 84. */
  readonly lat: number;
  readonly lon: number;
  /** Great-circle distance on a sphere with a radius of 6371 km. The border is inside. */
  readonly radiusKm: number;
  /** Empty for all facilities. */
  readonly facilities: readonly Facility[];
  readonly limit: number;
}

/** Every change of the points creates a new object, so that users can tell when cached answers are outdated. */
export interface PointIndex {
  readonly size: number;
  /** The nearest `limit` points within the radius, nearest first. Ties are ordered by `FACILITIES`, then by import. */
  within(query: PointQuery): readonly PointOfInterest[];
  /** The nearest point of a combination within 50 km, and its distance as stored with properties; null if none. */
  nearest(combination: Combination, lat: number, lon: number): NearestPoint | null;
}

export interface NearestPoint {
  readonly name: string | null;
  readonly distanceM: number;
}

export type AddPoints = (points: Iterable<PointOfInterest>) => Promise<void>;

export const NO_POINTS: PointIndex = { size: 0, within: () => [], nearest: () => null };

/**
 * Builds an index of the points that `fill` adds. Points are added in steps, and large sets are sorted in another
 * thread, so that the event loop is not blocked. An index of five million points takes a few seconds.
 */
export async function buildPointIndex(fill: (add: AddPoints) => Promise<void>): Promise<PointIndex> {
  const groups = FACILITIES.map((facility) => ({
    facility,
    coordinates: new Coordinates(),
    details: new PointDetails(),
  }));
  let size = 0;
  await fill(async (points) => {
    for (const { facility, lat, lon, name, attributes } of points) {
      const { coordinates, details } = groups[FACILITIES.indexOf(facility)] as (typeof groups)[number];
      coordinates.add(lat, lon);
      details.add(name, attributes);
      size += 1;
      if (size % STEP_POINTS === 0) await yieldToOthers();
    }
  });
  const trees: FacilityTree[] = [];
  for (const { facility, coordinates, details } of groups) {
    if (coordinates.length > 0) trees.push(await treeOf(facility, coordinates, details));
  }
  return {
    size,
    within: (query) => findWithin(trees, query),
    nearest(combination, lat, lon) {
      const from = trees.find(({ facility }) => facility === combination.facility);
      return from === undefined ? null : nearestIn(from, combination, lat, lon);
    },
  };
}

/** The points of a facility, in the order of the tree. */
interface FacilityTree {
  readonly facility: Facility;
  readonly tree: KDBush;
  readonly details: PointDetails;
  /** By position in the tree, the number of the point in the order of import. */
  readonly numbers: Uint16Array | Uint32Array;
}

async function treeOf(facility: Facility, coordinates: Coordinates, details: PointDetails): Promise<FacilityTree> {
  const sorted = await sortedTree(coordinates);
  const numbers = sorted.ids.slice() as FacilityTree['numbers'];
  // Details are in the order of the tree, so a query reads a few ranges instead of a thousand scattered entries.
  const ordered = new PointDetails();
  for (let position = 0; position < numbers.length; position++) {
    ordered.addFrom(details, numbers[position] as number);
    sorted.ids[position] = position;
    if (position % STEP_POINTS === 0) await yieldToOthers();
  }
  return { facility, tree: sorted, details: ordered, numbers };
}

/** Points found of a facility, the nearest first. */
interface Found {
  readonly from: FacilityTree;
  readonly positions: readonly number[];
  readonly distancesKm: Float64Array;
}

type Circumference = Pick<PointQuery, 'lat' | 'lon' | 'radiusKm'>;

function findWithin(
  trees: readonly FacilityTree[],
  { lat, lon, radiusKm, facilities, limit }: PointQuery,
): readonly PointOfInterest[] {
  let reachKm = radiusKm;
  const lists: Found[] = [];
  for (const from of trees) {
    if (facilities.length > 0 && !facilities.includes(from.facility)) continue;
    const found = nearestOf(from, { lat, lon, radiusKm: reachKm }, limit);
    lists.push(found);
    // Points of other facilities beyond this distance cannot be among the nearest.
    reachKm = found.distancesKm[limit - 1] ?? reachKm;
  }
  return merged(lists, limit);
}

/** Merges lists by distance. Equally distant points keep the order of the lists. */
function merged(lists: readonly Found[], limit: number): readonly PointOfInterest[] {
  const [first] = lists;
  if (first === undefined) return [];
  if (lists.length === 1) return first.positions.slice(0, limit).map((position) => pointAt(first.from, position));
  return lists
    .flatMap(({ from, positions, distancesKm }) =>
      positions.map((position, at) => ({ from, position, km: distancesKm[at] as number })),
    )
    .sort((a, b) => a.km - b.km)
    .slice(0, limit)
    .map(({ from, position }) => pointAt(from, position));
}

/** Distances count as equal up to this ratio, because rounding may make them differ. */
const SAME_DISTANCE = 1 + 1e-9;
/** Maximum number of equally distant points that are compared at the limit. If there are more, any may be left out. */
const TIED_MAX = 10_000;

/** At least the nearest `limit` points within the radius, or all points within it if there are fewer. */
function nearestOf(from: FacilityTree, within: Circumference, limit: number): Found {
  const found = measured(from, within, limit + 1);
  const [last, next] = [found.distancesKm[limit - 1], found.distancesKm[limit]];
  if (last === undefined || next === undefined || next > last * SAME_DISTANCE) return found;
  return measured(from, { ...within, radiusKm: next }, limit + TIED_MAX);
}

const HALF_ROUND_EARTH_KM = Math.PI * EARTH_RADIUS_KM;

/**
 * Queries the tree with a slightly larger radius, because the tree rounds distances. Exact distances then decide which
 * points are within the radius, and their order.
 */
function measured(from: FacilityTree, { lat, lon, radiusKm }: Circumference, max: number): Found {
  const { tree } = from;
  const { coords } = tree;
  const reachKm = Math.min(radiusKm * 1.001 + 1e-6, HALF_ROUND_EARTH_KM);
  const cosLat = Math.cos(lat * RADIANS);
  const positions = around(tree, lon, lat, max, reachKm);
  const distancesKm = new Float64Array(positions.length);
  let count = 0;
  let isInOrder = true;
  for (const position of positions) {
    const km = distanceFromKm(lat, lon, cosLat, coords[2 * position + 1] as number, coords[2 * position] as number);
    if (km > radiusKm) continue;
    if (count > 0 && km <= (distancesKm[count - 1] as number)) isInOrder = false;
    positions[count] = position;
    distancesKm[count++] = km;
  }
  positions.length = count;
  const found = { from, positions, distancesKm: distancesKm.subarray(0, count) };
  return isInOrder ? found : inOrder(found);
}

function inOrder({ from, positions, distancesKm }: Found): Found {
  const pairs = positions.map((position, at) => ({ position, km: distancesKm[at] as number }));
  const { numbers } = from;
  pairs.sort((a, b) => a.km - b.km || (numbers[a.position] as number) - (numbers[b.position] as number));
  return {
    from,
    positions: pairs.map(({ position }) => position),
    distancesKm: Float64Array.from(pairs, ({ km }) => km),
  };
}

/** The lookup takes milliseconds if few points of the facility have the attributes. */
function nearestIn({ tree, details, facility }: FacilityTree, combination: Combination, lat: number, lon: number) {
  const key = combinationKey(combination);
  const isFit = (position: number): boolean =>
    combinationsOf({ facility, attributes: details.attributesAt(position) }).includes(key);
  const nearest = nearestPosition(tree, lat, lon, isFit);
  return nearest && { name: details.nameAt(nearest.position), distanceM: nearest.distanceM };
}

function pointAt({ facility, tree, details }: FacilityTree, position: number): PointOfInterest {
  return {
    facility,
    lat: tree.coords[2 * position + 1] as number,
    lon: tree.coords[2 * position] as number,
    name: details.nameAt(position),
    attributes: details.attributesAt(position),
  };
}
