/**
 * Boxes of longitude and latitude, in degrees, that cover the circle and the polygons of a search. They select
 * locations from an index before the exact test, so a box may be larger than the area, but never smaller.
 */

import type { Areas } from '../../engine/domain/areas.ts';
import { type Circle, EARTH_RADIUS_KM, RADIANS } from '../../engine/domain/geo.ts';
import { type PolygonBox as Box, boxOf } from '../../engine/matching/rows/area-geometry.ts';

export type { Box };

/** In degrees. Covers rounding errors and the tolerance at the edges of polygons. */
const MARGIN = 1e-6;
/** If there are more polygons than this, one box covers all of them. */
const POLYGONS_MAX = 64;

/** Boxes with valid longitudes and latitudes. */
export function boxesOf({ circle, polygons }: Pick<Areas, 'circle' | 'polygons'>): readonly Box[] {
  const boxes = polygons.map(boxOf);
  const covering = boxes.length > POLYGONS_MAX ? [around(boxes)] : boxes;
  return [...(circle === null ? [] : [boxOfCircle(circle)]), ...covering].flatMap(withinWorld);
}

function boxOfCircle({ lat, lon, radiusKm }: Circle): Box {
  const arc = radiusKm / EARTH_RADIUS_KM;
  const [south, north] = [lat - arc / RADIANS, lat + arc / RADIANS];
  // The area contains a pole and so reaches every longitude.
  if (north >= 90 - MARGIN || south <= -90 + MARGIN) return { west: -180, south, east: 180, north };
  const width = Math.asin(Math.min(1, Math.sin(arc) / Math.cos(lat * RADIANS))) / RADIANS;
  return { west: lon - width, south, east: lon + width, north };
}

function around(boxes: readonly Box[]): Box {
  return boxes.reduce((all, { west, south, east, north }) => ({
    west: Math.min(all.west, west),
    south: Math.min(all.south, south),
    east: Math.max(all.east, east),
    north: Math.max(all.north, north),
  }));
}

/** Splits a box at the date line. A location at ±180° is found from both sides. */
function withinWorld({ west, south, east, north }: Box): readonly Box[] {
  const [low, high] = [Math.max(-90, south - MARGIN), Math.min(90, north + MARGIN)];
  return [0, 360, -360].flatMap((shift) => {
    const [left, right] = [Math.max(-180, west - MARGIN + shift), Math.min(180, east + MARGIN + shift)];
    return left <= right && low <= high ? [{ west: left, south: low, east: right, north: high }] : [];
  });
}
