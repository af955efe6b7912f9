/**
 * The commune centres nearest to a point: a KD-tree over all centres, searched by distance on the sphere, so that the
 * answer is right at any latitude and across the antimeridian.
 */

import { around } from 'geokdbush';
import KDBush from 'kdbush';
import { distanceKm, EARTH_RADIUS_KM } from '../domain/geo.ts';

/** A point farther than this from every centre lies in no commune: at sea, or abroad. */
export const COMMUNE_RADIUS_MAX_KM = 30;

export interface CentrePoint {
  readonly lat: number;
  readonly lon: number;
}

const HALF_ROUND_EARTH_KM = Math.PI * EARTH_RADIUS_KM;

/** Looks up indices of `points` within `radiusKm`, border inside: the nearest first, at most `max` of them. */
export function createCommuneLocator(
  points: readonly CentrePoint[],
): (lat: number, lon: number, radiusKm?: number, max?: number) => readonly number[] {
  if (points.length === 0) return () => [];
  const tree = new KDBush(points.length);
  for (const { lat, lon } of points) tree.add(lon, lat);
  tree.finish();
  return (lat, lon, radiusKm = COMMUNE_RADIUS_MAX_KM, max = 1) => {
    // The tree's own distances are rounded: it looks a little farther, and the exact distance decides.
    const found = around(tree, lon, lat, max, Math.min(radiusKm * 1.001 + 0.001, HALF_ROUND_EARTH_KM));
    return found.filter((index) => {
      const point = points[index] as CentrePoint;
      return distanceKm(lat, lon, point.lat, point.lon) <= radiusKm;
    });
  };
}
