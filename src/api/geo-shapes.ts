/**
 * The accepted forms of `geoShapes` (decisions, section 2), read into polygons: longitude first, rings closed.
 * One shape is a ring, a polygon (its rings, outer first) or GeoJSON; `geoShapes` is one shape or several. Among bare
 * arrays only the depth tells them apart: `[ring, ring]` is two areas, as clients draw them, while a polygon with a
 * hole is `[[ring, hole]]` or GeoJSON.
 */

import type { Polygon, Position, Ring } from '../domain/geo.ts';

/** Corners of one search, all polygons together: matching walks them for every advert that comes that far. */
export const CORNERS_MAX = 5_000;

class ShapeError extends Error {}

/** The polygons, or what is wrong with `input`. */
export function parseGeoShapes(input: unknown): readonly Polygon[] | string {
  try {
    const polygons = input === null || input === undefined ? [] : readShapes(input);
    const corners = polygons.reduce((sum, polygon) => sum + polygon.reduce((count, ring) => count + ring.length, 0), 0);
    return corners > CORNERS_MAX ? `must have at most ${CORNERS_MAX} positions` : polygons;
  } catch (error) {
    if (error instanceof ShapeError) return error.message;
    throw error;
  }
}

function readShapes(input: unknown): Polygon[] {
  if (!Array.isArray(input)) return readGeoJson(input);
  // One ring on its own: its items are positions.
  if (depthOf(input) === 2) return [[readRing(input)]];
  return input.flatMap(readShape);
}

function readShape(shape: unknown): Polygon[] {
  if (!Array.isArray(shape)) return readGeoJson(shape);
  return depthOf(shape) === 2 ? [[readRing(shape)]] : [readPolygon(shape)];
}

function readGeoJson(shape: unknown): Polygon[] {
  const { type, coordinates } = (shape ?? {}) as { type?: unknown; coordinates?: unknown };
  if (type === 'Polygon') return [readPolygon(coordinates)];
  if (type === 'MultiPolygon' && Array.isArray(coordinates)) return coordinates.map(readPolygon);
  throw new ShapeError('must be nested arrays of positions, or GeoJSON Polygon or MultiPolygon');
}

function readPolygon(rings: unknown): Polygon {
  if (!Array.isArray(rings) || rings.length === 0) throw new ShapeError('a polygon must be an array of rings');
  return rings.map(readRing);
}

function readRing(positions: unknown): Ring {
  if (!Array.isArray(positions)) throw new ShapeError('a ring must be an array of positions');
  const ring = positions.map(readPosition);
  const [first, last] = [ring[0], ring[ring.length - 1]];
  if (ring.length < 4 || first?.[0] !== last?.[0] || first?.[1] !== last?.[1]) {
    throw new ShapeError('a ring must be closed: at least four positions, the last equal to the first');
  }
  return ring;
}

/** A third number, the altitude of GeoJSON, is left out. */
function readPosition(position: unknown): Position {
  const [lon, lat] = Array.isArray(position) && position.length <= 3 ? position : [];
  if (typeof lon !== 'number' || typeof lat !== 'number' || !(Math.abs(lon) <= 180) || !(Math.abs(lat) <= 90)) {
    throw new ShapeError('a position must be [longitude, latitude] in degrees');
  }
  return [lon, lat];
}

/** Levels of arrays down the first items: 1 for a position, 2 for a ring, 3 for a polygon. */
function depthOf(value: unknown): number {
  let depth = 0;
  for (let level = value; Array.isArray(level); level = level[0]) depth += 1;
  return depth;
}
