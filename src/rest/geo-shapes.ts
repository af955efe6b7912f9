/**
 * The accepted forms of `geoShapes` (decisions, section 2), read into polygons: longitude first, rings closed.
 * One shape is a ring, a polygon (its rings, outer first) or GeoJSON; `geoShapes` is one shape or several. Among bare
 * arrays only the depth distinguishes them: `[ring, ring]` is two areas, as clients draw them, while a polygon with a
 * hole is `[[ring, hole]]` or GeoJSON. Forms send text: any of these as JSON, or a ring as `lon,lat;lon,lat`.
 */

import type { Polygon, Position, Ring } from '../engine/domain/geo.ts';
import { excessOf } from './json-body.ts';
import { NUMBER } from './member-rules.ts';
import { FAULTS, type Sentence } from './sentences.ts';

/** Corners of one search, all polygons together: matching evaluates them for every advert that gets that far. */
export const CORNERS_MAX = 5_000;

class ShapeError extends Error {
  readonly fault: Sentence;

  constructor(fault: Sentence) {
    super(fault.en);
    this.fault = fault;
  }
}

/** Positions of the smallest ring: a triangle, closed. */
const RING_CORNERS_MIN = 4;
/** Characters of `5.9,43.1` with an altitude, with many times their usual digits. */
const POSITION_LENGTH_MAX = 200;
const TOO_MANY = FAULTS.positions(CORNERS_MAX);

/** The polygons, or the first error in `input`. */
export function parseGeoShapes(input: unknown): readonly Polygon[] | Sentence {
  try {
    return input === null || input === undefined ? [] : new ShapeReader().shapes(input);
  } catch (error) {
    if (error instanceof ShapeError) return error.fault;
    throw error;
  }
}

/** Counts corners while reading: no list is read that is longer than the remaining number. */
class ShapeReader {
  #cornersLeft = CORNERS_MAX;

  shapes(sent: unknown): Polygon[] {
    const input = unwritten(sent);
    if (!Array.isArray(input)) return this.#geoJson(input);
    // One ring on its own: its items are positions.
    return depthOf(input) === 2 ? [[this.#ring(input)]] : this.#rings(input).flatMap((shape) => this.#shape(shape));
  }

  #shape(shape: unknown): Polygon[] {
    if (typeof shape === 'string') return this.shapes(shape);
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

  /** Or what holds rings: each costs as many corners as the smallest ring at least. */
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

/** The meaning of a text; any other value is kept. Forms send an empty text for nothing. */
function unwritten(input: unknown): unknown {
  if (typeof input !== 'string') return input;
  const text = input.trim();
  if (text === '') return [];
  return /^[[{]/.test(text) ? parsed(text) : ringOf(text);
}

function parsed(text: string): unknown {
  const excess = excessOf(Buffer.from(text));
  if (excess !== null) throw new ShapeError(excess === 'depth' ? FAULTS.shapes : TOO_MANY);
  try {
    return JSON.parse(text);
  } catch {
    throw new ShapeError(FAULTS.shapes);
  }
}

/** `5.9,43.1;6,43.1;6,43.2;5.9,43.1` */
function ringOf(text: string): unknown {
  const positions = text.split(';', CORNERS_MAX + 1);
  if (positions.some(({ length }) => length > POSITION_LENGTH_MAX)) throw new ShapeError(FAULTS.shapes);
  return positions.map((position) =>
    position.split(',').map((part) => {
      if (!NUMBER.test(part.trim())) throw new ShapeError(FAULTS.shapes);
      return Number(part);
    }),
  );
}

/** A third number, the altitude of GeoJSON, is left out. */
function readPosition(position: unknown): Position {
  const [lon, lat] = Array.isArray(position) && position.length <= 3 ? position : [];
  if (typeof lon !== 'number' || typeof lat !== 'number' || !(Math.abs(lon) <= 180) || !(Math.abs(lat) <= 90)) {
    throw new ShapeError(FAULTS.position);
  }
  return [lon, lat];
}

/** Levels of arrays down the first items: 1 for a position, 2 for a ring, 3 for a polygon. */
function depthOf(value: unknown): number {
  let depth = 0;
  for (let level = value; Array.isArray(level); level = level[0]) depth += 1;
  return depth;
}
