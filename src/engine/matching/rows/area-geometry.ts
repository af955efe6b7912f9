/**
 * Circles and polygons as rows store them: a centre and a *reach*, the squared distance in degrees of arc within which
 * the row may match. The kernel computes a planar distance in single precision. If a circle spans at most `SPAN_MAX`
 * radians of longitude to either side, the relative error of the square is below 2^-11. Replacing sin x by x, with x as
 * half the difference in longitude, costs x²/3 (2.1e-4). Replacing the chord by the arc costs at most as much, and the
 * third-order term of the cosine 0.2e-4. Rounded coordinates add up to two metres. A reach includes both margins. A
 * distance that is below the reach by twice the margins is certainly within the circle.
 */

import { type Circle, EARTH_RADIUS_KM, KM_PER_DEGREE, type Polygon, RADIANS } from '../../domain/geo.ts';

const DEGREES_PER_KM = 1 / KM_PER_DEGREE;
const SURE_MARGIN = 2 ** -11;
/** Two metres. */
const ROUNDING_DEGREES = 1.8e-5;
/** Maximum half span in longitude (radians) of circles for which the kernel can be sure. */
const SPAN_MAX = 0.05;
/** Maximum half span for which the kernel's distance can be used at all, with `WIDE_MARGIN`. */
const WIDE_SPAN_MAX = 0.15;
const WIDE_MARGIN = 2 ** -7;
/** For smaller circles, the error of rounded coordinates is too large. */
const SURE_RADIUS_MIN_KM = 0.2;
const RADIUS_MAX_KM = 500;
/** Maximum half height and half width (degrees) of polygons for which the kernel's distance can be used. */
const POLYGON_HALF_MAX = 6;
/** In degrees. Covers rounding and the tolerance of polygon edges. */
const BOX_MARGIN = 1e-4;

/** The unit of boxes. `BOX_MARGIN` is a hundred units. */
const UNITS_PER_DEGREE = 1e6;

/** A box in integers: millionths of a degree. */
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
  /** False if a row that passes the kernel still needs an exact check. */
  readonly isDecisive: boolean;
  /** True if the row covers a polygon, false if it covers a circle. */
  readonly isPolygon: boolean;
}

/** The row of a circle; null if the circle is too wide, too near a pole or out of range. */
export function circleRow({ lat, lon, radiusKm }: Circle): CircleRow | null {
  const isRegular = radiusKm > 0 && radiusKm <= RADIUS_MAX_KM && Math.abs(lat) <= 90 && Math.abs(lon) <= 180;
  if (!isRegular) return null;
  const arc = radiusKm / EARTH_RADIUS_KM;
  const northmost = Math.abs(lat) * RADIANS + arc;
  if (northmost >= Math.PI / 2 || arc / Math.cos(northmost) > WIDE_SPAN_MAX) return null;
  const isDecisive = radiusKm >= SURE_RADIUS_MIN_KM && arc / Math.cos(northmost) <= SPAN_MAX;
  const reach = (radiusKm * DEGREES_PER_KM + ROUNDING_DEGREES) ** 2;
  return rowOf(lat, lon, reach * (1 + (isDecisive ? SURE_MARGIN : WIDE_MARGIN)), isDecisive);
}

export interface PolygonBox {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

export function boxOf(polygon: Polygon): PolygonBox {
  const box = { west: Infinity, south: Infinity, east: -Infinity, north: -Infinity };
  for (const ring of polygon) {
    for (const [lon, lat] of ring) {
      box.west = Math.min(box.west, lon);
      box.east = Math.max(box.east, lon);
      box.south = Math.min(box.south, lat);
      box.north = Math.max(box.north, lat);
    }
  }
  return box;
}

/** A row that covers a polygon; null if the polygon is empty, too large, beyond latitude 80° or centred beyond 180°. */
export function polygonRow(polygon: Polygon): CircleRow | null {
  const { west, south, east, north } = boxOf(polygon);
  const halfWidth = (east - west) / 2 + BOX_MARGIN;
  const halfHeight = (north - south) / 2 + BOX_MARGIN;
  const isRegular = west <= east && halfWidth <= POLYGON_HALF_MAX && halfHeight <= POLYGON_HALF_MAX;
  const lat = (south + north) / 2;
  const lon = (west + east) / 2;
  if (!isRegular || Math.abs(lat) + halfHeight > 80 || Math.abs(lon) > 180) return null;
  // The squared cosine of the widest parallel is never below cos(lat of a location) cos(lat of the centre). With it,
  // the reach is an ellipse, which contains the polygon if it contains the corners.
  const widest = south <= 0 && north >= 0 ? 0 : Math.min(Math.abs(south), Math.abs(north));
  const cosine = Math.cos(Math.max(0, widest * RADIANS - BOX_MARGIN));
  let reach = 0;
  for (const ring of polygon) {
    for (const position of ring) {
      reach = Math.max(reach, (position[1] - lat) ** 2 + (cosine * (position[0] - lon)) ** 2);
    }
  }
  return { ...rowOf(lat, lon, (Math.sqrt(reach) + BOX_MARGIN) ** 2 * (1 + WIDE_MARGIN), false), isPolygon: true };
}

function rowOf(lat: number, lon: number, reach: number, isDecisive: boolean): CircleRow {
  const [latitude, longitude] = [Math.fround(lat), Math.fround(lon)];
  return { latitude, longitude, reach: Math.fround(reach), isDecisive, isPolygon: false };
}

/** 180° in the unit of boxes. */
export const HALF_CIRCLE = 180 * UNITS_PER_DEGREE;

/** Converts degrees to the unit of boxes. */
export function unitsOf(degrees: number): number {
  return Math.round(degrees * UNITS_PER_DEGREE);
}

/** Writes the box, with a margin, of the locations that may pass the row. Longitudes may exceed [-180, 180]. */
export function writeBoxOfRow(latitude: number, longitude: number, reach: number, box: Box): void {
  const arc = Math.sqrt(reach) + BOX_MARGIN;
  // The half width is that of the tangent meridian (J. P. Matuschek, "Finding Points Within a Distance").
  const sine = Math.sin(arc * RADIANS) / Math.cos(latitude * RADIANS);
  const halfWidth = sine < 1 ? Math.asin(sine) / RADIANS + BOX_MARGIN : 180;
  box.minX = unitsOf(longitude - halfWidth);
  box.maxX = unitsOf(longitude + halfWidth);
  box.minY = unitsOf(latitude - arc);
  box.maxY = unitsOf(latitude + arc);
}
