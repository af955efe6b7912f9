/**
 * The accepted forms of `geoShapes` and `excludedGeoShapes` (decisions, section 2), converted to polygons: longitude
 * first, rings closed. A shape is a ring, a polygon (its rings, outer first) or GeoJSON; `geoShapes` is one shape or
 * several. Bare arrays differ only in depth: `[ring, ring]` is two areas, as clients draw them. A polygon with a hole
 * is `[[ring, hole]]` or GeoJSON.
 */

import type { Polygon, Position, Ring } from '../engine/domain/geo.ts';
import { FAULTS, type Sentence } from './sentences.ts';

/** In all polygons of a member, because matching evaluates them for each advert that satisfies the other criteria. */
const CORNERS_MAX = 5_000;

class ShapeError extends Error {
  readonly fault: Sentence;

  constructor(fault: Sentence) {
    super(fault.en);
    this.fault = fault;
  }
}

/** Number of positions in the smallest ring, a closed triangle. */
const RING_CORNERS_MIN = 4;
const TOO_MANY = FAULTS.positions(CORNERS_MAX);

/** The polygons, or the first error in `input`. */
export function parseGeoShapes(input: unknown): readonly Polygon[] | Sentence {
  try {
    // Forms send an empty text for an absent value.
    return input === null || input === undefined || input === '' ? [] : new ShapeReader().shapes(input);
  } catch (error) {
    if (error instanceof ShapeError) return error.fault;
    throw error;
  }
}

/** Counts corners while reading. A list that must exceed the remaining number is refused before its items are read. */
class ShapeReader {
  #cornersLeft = CORNERS_MAX;

  shapes(input: unknown): Polygon[] {
    if (!Array.isArray(input)) return this.#geoJson(input);
    // A single ring: its items are positions.
    return depthOf(input) === 2 ? [[this.#ring(input)]] : this.#rings(input).flatMap((shape) => this.#shape(shape));
  }

  #shape(shape: unknown): Polygon[] {
    if (!Array.isArray(shape)) return this.#geoJson(shape);
    return depthOf(shape) === 2 ? [[this.#ring(shape)]] : [this.#polygon(shape)];
  }

  #geoJson(shape: unknown): Polygon[] {
    const { type, coordinates } = (shape ?? {}) as { type?: unknown; coordinates?: unknown };
    if (type === 'Polygon') return [this.#polygon(coordinates)];
    if (type === 'MultiPolygon' && Array.isArray(coordinates)) {
      return this.#rings(coordinates).map((polygon) => this.#polygon(polygon));
    }
    throw new ShapeError(FAULTS.shapeForm);
  }

  #polygon(rings: unknown): Polygon {
    if (!Array.isArray(rings) || rings.length === 0) throw new ShapeError(FAULTS.polygon);
    return this.#rings(rings).map((ring) => this.#ring(ring));
  }

  /** Rings, or lists of rings: each has at least as many corners as the smallest ring. */
  #rings(list: readonly unknown[]): readonly unknown[] {
    if (list.length * RING_CORNERS_MIN > this.#cornersLeft) throw new ShapeError(TOO_MANY);
    return list;
  }

  #ring(positions: unknown): Ring {
    if (!Array.isArray(positions)) throw new ShapeError(FAULTS.ring);
    this.#cornersLeft -= positions.length;
    if (this.#cornersLeft < 0) throw new ShapeError(TOO_MANY);
    const ring = positions.map(readPosition);
    const [first, last] = [ring[0], ring[ring.length - 1]];
    if (ring.length < RING_CORNERS_MIN || first?.[0] !== last?.[0] || first?.[1] !== last?.[1]) {
      throw new ShapeError(FAULTS.closedRing);
    }
    return ring;
  }
}

/** Ignores a third number, the altitude of GeoJSON. */
function readPosition(position: unknown): Position {
  const [lon, lat] = Array.isArray(position) && position.length <= 3 ? position : [];
  if (typeof lon !== 'number' || typeof lat !== 'number' || !(Math.abs(lon) <= 180) || !(Math.abs(lat) <= 90)) {
    throw new ShapeError(FAULTS.position);
  }
  return [lon, lat];
}

/** Nesting of arrays along the first items: 1 for a position, 2 for a ring, 3 for a polygon. */
function depthOf(value: unknown): number {
  let depth = 0;
  for (let level = value; Array.isArray(level); level = level[0]) depth += 1;
  return depth;
}
