/** The map's projection, spherical Mercator (EPSG:3857), onto a square of side 1: longitude to x, latitude to y. */

/** The latitude at the edge of the square, degrees. */
const LATITUDE_MAX = 85.0511287798;
const EARTH_RADIUS_KM = 6_371;

function latitudeOf(degrees: number): number {
  return Math.max(-LATITUDE_MAX, Math.min(LATITUDE_MAX, degrees));
}

export function worldX(lon: number): number {
  return lon / 360 + 0.5;
}

export function worldY(lat: number): number {
  const sine = Math.sin((latitudeOf(lat) * Math.PI) / 180);
  return 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI);
}

/** Converts kilometres at this latitude to a length in the square. */
export function worldLength(km: number, lat: number): number {
  return km / (2 * Math.PI * EARTH_RADIUS_KM * Math.cos((latitudeOf(lat) * Math.PI) / 180));
}

/** The great-circle distance, as the service measures it (decisions, section 3). */
export function distanceKm(a: { lat: number; lon: number }, b: { lat: number; lon: number }): number {
  const radians = (degrees: number): number => (degrees * Math.PI) / 180;
  const half = (from: number, to: number): number => Math.sin(radians(to - from) / 2) ** 2;
  const chord = half(a.lat, b.lat) + Math.cos(radians(a.lat)) * Math.cos(radians(b.lat)) * half(a.lon, b.lon);
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.sqrt(chord));
}
