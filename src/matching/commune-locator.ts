/**
 * The nearest commune centre to a point: a KD-tree over all centres, searched by distance on the sphere, so that the
 * answer is right at any latitude and across the antimeridian.
 */

import { around } from 'geokdbush';
import KDBush from 'kdbush';
import { distanceKm } from '../domain/geo.ts';

/** A point farther than this from every centre lies in no commune: at sea, or abroad. */
export const COMMUNE_RADIUS_MAX_KM = 30;

export interface CentrePoint {
  readonly lat: number;
  readonly lon: number;
}

/** Looks up the index of the nearest of `points` within `radiusMaxKm`, border inside; null when there is none. */
export function createCommuneLocator(
  points: readonly CentrePoint[],
  radiusMaxKm: number = COMMUNE_RADIUS_MAX_KM,
): (lat: number, lon: number) => number | null {
  if (points.length === 0) return () => null;
  const tree = new KDBush(points.length);
  for (const { lat, lon } of points) tree.add(lon, lat);
  tree.finish();
  return (lat, lon) => {
    const [index] = around(tree, lon, lat, 1);
    const point = index === undefined ? undefined : points[index];
    if (index === undefined || point === undefined) return null;
    return distanceKm(lat, lon, point.lat, point.lon) <= radiusMaxKm ? index : null;
  };
}
