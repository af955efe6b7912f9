/** Geometry on a sphere with a radius of 6371 km (decisions, section 3). Units are degrees and kilometres. */

export const EARTH_RADIUS_KM = 6371;

export const RADIANS = Math.PI / 180;
/** Length of a degree of latitude. */
export const KM_PER_DEGREE = EARTH_RADIUS_KM * RADIANS;

/**
 * Great-circle distance by the haversine formula (R. W. Sinnott, "Virtues of the Haversine", 1984).
 * Exact to well under a metre at any distance up to the antipode.
 */
export function distanceKm(latA: number, lonA: number, latB: number, lonB: number): number {
  return distanceFromKm(latA, lonA, Math.cos(latA * RADIANS), latB, lonB);
}

/** Like `distanceKm`, for many points B: the caller computes the cosine of `latA` only once. */
export function distanceFromKm(latA: number, lonA: number, cosLatA: number, latB: number, lonB: number): number {
  const sinLat = Math.sin(((latB - latA) * RADIANS) / 2);
  const sinLon = Math.sin(((lonB - lonA) * RADIANS) / 2);
  const h = sinLat * sinLat + cosLatA * Math.cos(latB * RADIANS) * sinLon * sinLon;
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(h)));
}

export interface Circle {
  readonly lat: number;
  readonly lon: number;
  readonly radiusKm: number;
}

/** A point on the border is inside. */
export function isInCircle(circle: Circle, lat: number, lon: number): boolean {
  return distanceKm(circle.lat, circle.lon, lat, lon) <= circle.radiusKm;
}

/** Longitude first, as in GeoJSON (RFC 7946). */
export type Position = readonly [lon: number, lat: number];
/** Closed: the last position equals the first. */
export type Ring = readonly Position[];
/** The outer ring, then the holes. */
export type Polygon = readonly Ring[];

/** A point this close to an edge is on the edge. About 0.1 mm, which is far above the rounding errors of the test. */
export const EDGE_TOLERANCE_DEGREES = 1e-9;

/**
 * Applies the even-odd rule to all rings, so that the orientation of holes does not matter (E. Haines, "Point in
 * Polygon Strategies", 1994). A point on any edge, even of a hole, is inside. If a polygon extends past the date line
 * (longitudes beyond ±180), the point is also tested with its longitude shifted by 360°.
 */
export function isInPolygon(polygon: Polygon, lat: number, lon: number): boolean {
  let west = Infinity;
  let east = -Infinity;
  for (const ring of polygon) {
    for (const [ringLon] of ring) {
      if (ringLon < west) west = ringLon;
      if (ringLon > east) east = ringLon;
    }
  }
  return shiftsToTry(west, east, lon).some((shift) => isInRings(polygon, lat, lon + shift));
}

/** The shifts (of 0°, 360° and -360°) that bring `lon` between `west` and `east` if they are added to it. */
export function shiftsToTry(west: number, east: number, lon: number): readonly number[] {
  return SHIFTS.filter(
    (shift) => lon + shift >= west - EDGE_TOLERANCE_DEGREES && lon + shift <= east + EDGE_TOLERANCE_DEGREES,
  );
}

const SHIFTS = [0, 360, -360] as const;

function isInRings(polygon: Polygon, lat: number, lon: number): boolean {
  let isInside = false;
  for (const ring of polygon) {
    for (let i = 1; i < ring.length; i++) {
      const [lonA, latA] = ring[i - 1] as Position;
      const [lonB, latB] = ring[i] as Position;
      const side = sideOfEdge(lonA, latA, lonB, latB, lat, lon);
      if (side === ON_EDGE) return true;
      if (side === WEST_OF_EDGE) isInside = !isInside;
    }
  }
  return isInside;
}

/** A ray from the point to the east crosses the edge. */
export const WEST_OF_EDGE = 1;
export const ON_EDGE = 2;

/** `ON_EDGE` or `WEST_OF_EDGE` for a point and the edge from A to B; 0 if neither is true. */
export function sideOfEdge(lonA: number, latA: number, lonB: number, latB: number, lat: number, lon: number): number {
  const low = latA < latB ? latA : latB;
  const high = latA < latB ? latB : latA;
  if (lat < low - EDGE_TOLERANCE_DEGREES || lat > high + EDGE_TOLERANCE_DEGREES) return 0;
  const east = lonB - lonA;
  const north = latB - latA;
  const isBetween =
    lon >= (lonA < lonB ? lonA : lonB) - EDGE_TOLERANCE_DEGREES &&
    lon <= (lonA < lonB ? lonB : lonA) + EDGE_TOLERANCE_DEGREES;
  if (isBetween) {
    const cross = east * (lat - latA) - north * (lon - lonA);
    if (cross * cross <= EDGE_TOLERANCE_DEGREES ** 2 * (east * east + north * north)) return ON_EDGE;
  }
  const straddles = latA > lat !== latB > lat;
  return straddles && lon < (east * (lat - latA)) / north + lonA ? WEST_OF_EDGE : 0;
}
