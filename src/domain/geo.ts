/** Geometry on a sphere of 6371 km (decisions, section 3). Angles in degrees, distances in kilometres. */

export const EARTH_RADIUS_KM = 6371;

const RADIANS = Math.PI / 180;

/**
 * Great-circle distance by the haversine formula (R. W. Sinnott, "Virtues of the Haversine", 1984).
 * Exact to well under a metre at any distance up to the antipode.
 */
export function distanceKm(latA: number, lonA: number, latB: number, lonB: number): number {
  const sinLat = Math.sin(((latB - latA) * RADIANS) / 2);
  const sinLon = Math.sin(((lonB - lonA) * RADIANS) / 2);
  const h = sinLat * sinLat + Math.cos(latA * RADIANS) * Math.cos(latB * RADIANS) * sinLon * sinLon;
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(h)));
}

export interface Circle {
  readonly lat: number;
  readonly lon: number;
  readonly radiusKm: number;
}

/** The border is inside. */
export function isInCircle(circle: Circle, lat: number, lon: number): boolean {
  return distanceKm(circle.lat, circle.lon, lat, lon) <= circle.radiusKm;
}

/** Longitude first, as GeoJSON has it (RFC 7946). */
export type Position = readonly [lon: number, lat: number];
/** Closed: the last position equals the first. */
export type Ring = readonly Position[];
/** The outer ring, then the holes. */
export type Polygon = readonly Ring[];

/**
 * Even-odd rule over all rings, so holes need no orientation (E. Haines, "Point in Polygon Strategies", 1994).
 * A point on any edge, a hole's included, is inside.
 */
export function isInPolygon(polygon: Polygon, lat: number, lon: number): boolean {
  let isInside = false;
  for (const ring of polygon) {
    for (let i = 1; i < ring.length; i++) {
      const [lonA, latA] = ring[i - 1] as Position;
      const [lonB, latB] = ring[i] as Position;
      if (isOnSegment(lonA, latA, lonB, latB, lon, lat)) return true;
      const straddles = latA > lat !== latB > lat;
      if (straddles && lon < ((lonB - lonA) * (lat - latA)) / (latB - latA) + lonA) isInside = !isInside;
    }
  }
  return isInside;
}

function isOnSegment(lonA: number, latA: number, lonB: number, latB: number, lon: number, lat: number): boolean {
  const cross = (lonB - lonA) * (lat - latA) - (latB - latA) * (lon - lonA);
  if (cross !== 0) return false;
  return (
    lon >= Math.min(lonA, lonB) &&
    lon <= Math.max(lonA, lonB) &&
    lat >= Math.min(latA, latB) &&
    lat <= Math.max(latA, latB)
  );
}
