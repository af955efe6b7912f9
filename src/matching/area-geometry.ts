/**
 * Circles and polygons as rows hold them: a centre and a *reach*, the squared distance in degrees of arc within which
 * the row may match. The kernel's distance is a plane one in single precision. Against the great circle it errs by less
 * than 1/128 of the squared distance while a circle spans at most `SPAN_MAX` radians of longitude and a kilometre of
 * radius: sin x for x costs x²/3 (0.2 % at the widest), the cosine's third-order term 0.03 %, rounded coordinates two
 * metres. So a reach is 1/128 too large, and the kernel calls a row sure below 63/64 of it.
 */

import { type Circle, EARTH_RADIUS_KM, type Polygon } from '../domain/geo.ts';

const RADIANS = Math.PI / 180;
const DEGREES_PER_KM = 1 / (EARTH_RADIUS_KM * RADIANS);
const REACH_MARGIN = 1 + 1 / 128;
/** Half the longitudes that a circle covers, radians. */
const SPAN_MAX = 0.15;
/** Below, rounded coordinates weigh too much. */
const SURE_RADIUS_MIN_KM = 1;
const SMALL_RADIUS_MARGIN_KM = 0.01;
const RADIUS_MAX_KM = 500;
/** Half the height or width of a polygon for which the kernel's distance still serves, degrees. */
const POLYGON_HALF_MAX = 6;
/** Covers rounding and the tolerance of polygon edges, degrees. */
const BOX_MARGIN = 1e-4;

export interface Box {
  minX: number;
  minY: number;
  maxX: number;
  maxY: number;
}

export interface CircleRow {
  readonly latitude: number;
  readonly longitude: number;
  readonly reach: number;
  /** False: passing the kernel only makes the row a candidate. */
  readonly isDecisive: boolean;
}

/** Null when the circle is too wide, too near a pole or too odd for the kernel. */
export function circleRow({ lat, lon, radiusKm }: Circle): CircleRow | null {
  const isRegular = radiusKm > 0 && radiusKm <= RADIUS_MAX_KM && Math.abs(lat) <= 90 && Math.abs(lon) <= 180;
  if (!isRegular) return null;
  const arc = radiusKm / EARTH_RADIUS_KM;
  const northmost = Math.abs(lat) * RADIANS + arc;
  if (northmost >= Math.PI / 2 || arc / Math.cos(northmost) > SPAN_MAX) return null;
  const isDecisive = radiusKm >= SURE_RADIUS_MIN_KM;
  const reachKm = isDecisive ? radiusKm : radiusKm + SMALL_RADIUS_MARGIN_KM;
  return rowOf(lat, lon, (reachKm * DEGREES_PER_KM) ** 2, isDecisive);
}

/** The smallest row that covers the polygon's box; null when it is empty, too wide or leaves the world. */
export function polygonRow(polygon: Polygon): CircleRow | null {
  const box: Box = { minX: Infinity, minY: Infinity, maxX: -Infinity, maxY: -Infinity };
  for (const ring of polygon) {
    for (const [lon, lat] of ring) {
      box.minX = Math.min(box.minX, lon);
      box.maxX = Math.max(box.maxX, lon);
      box.minY = Math.min(box.minY, lat);
      box.maxY = Math.max(box.maxY, lat);
    }
  }
  const halfWidth = (box.maxX - box.minX) / 2 + BOX_MARGIN;
  const halfHeight = (box.maxY - box.minY) / 2 + BOX_MARGIN;
  const isRegular = halfWidth <= POLYGON_HALF_MAX && halfHeight <= POLYGON_HALF_MAX;
  const lat = (box.minY + box.maxY) / 2;
  const lon = (box.minX + box.maxX) / 2;
  if (!isRegular || Math.abs(lat) + halfHeight > 80 || Math.abs(lon) > 180) return null;
  // The widest parallel of the box bounds cos(lat of the property) cos(lat of the centre).
  const widest = box.minY <= 0 && box.maxY >= 0 ? 0 : Math.min(Math.abs(box.minY), Math.abs(box.maxY));
  const cosine = Math.cos(Math.max(0, widest * RADIANS - BOX_MARGIN));
  return rowOf(lat, lon, halfHeight ** 2 + (cosine * halfWidth) ** 2, false);
}

function rowOf(lat: number, lon: number, reach: number, isDecisive: boolean): CircleRow {
  const margin = REACH_MARGIN * reach;
  return { latitude: Math.fround(lat), longitude: Math.fround(lon), reach: Math.fround(margin), isDecisive };
}

/** The box of the places that may pass the row, padded. Longitudes may leave [-180, 180]. */
export function writeBoxOfRow(latitude: number, longitude: number, reach: number, box: Box): void {
  const arc = Math.sqrt(reach) + BOX_MARGIN;
  // The meridian that touches the circle: sin(arc) / cos(lat) (J. P. Matuschek, "Finding Points Within a Distance").
  const sine = Math.sin(arc * RADIANS) / Math.cos(latitude * RADIANS);
  const halfWidth = sine < 1 ? Math.asin(sine) / RADIANS + BOX_MARGIN : 180;
  box.minX = longitude - halfWidth;
  box.maxX = longitude + halfWidth;
  box.minY = latitude - arc;
  box.maxY = latitude + arc;
}
