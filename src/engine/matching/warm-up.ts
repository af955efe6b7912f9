/**
 * Warms up the index. Code that has not run yet is ten times slower, and nothing else runs while a search is inserted.
 * Without a warm-up, the first search of maximum size would block a new process for a tenth of a second.
 */

import { ANYTHING } from '../domain/criterion-table.ts';
import type { Polygon, Position } from '../domain/geo.ts';
import { searchNumberOf } from '../domain/ids.ts';
import type { SearchIndex } from './search-index.ts';

/** Searches of each kind. */
const SEARCHES = 12;
const CORNERS = 200;
/** With a quarter of the triangles, the first large search took up to three times as long. */
const TRIANGLES = 400;
/** Modulo 1, the multiples of these irrational numbers are evenly spread. */
const [ACROSS, UP] = [Math.SQRT2, Math.sqrt(3)];

/** Adds searches to an empty index that is not in use, and removes them again, step by step. */
export function* warmUp(index: SearchIndex): Generator<null> {
  for (let i = 1; i <= SEARCHES; i++) {
    const kinds = [[[scribble(i)]], Array.from({ length: TRIANGLES }, (_, k) => [triangle(TRIANGLES * i + k)])];
    for (const [kind, polygons] of kinds.entries()) {
      index.upsert(searchNumberOf(2 * i + kind), shaped(polygons));
      yield null;
    }
  }
  for (let i = 1; i <= SEARCHES; i++) {
    for (const kind of [0, 1]) index.delete(searchNumberOf(2 * i + kind));
    yield null;
  }
}

function shaped(polygons: readonly Polygon[]) {
  return { ...ANYTHING, areas: { ...ANYTHING.areas, polygons } };
}

/** A ring across much of the world that crosses itself many times. */
function scribble(n: number): Position[] {
  const ring = Array.from({ length: CORNERS }, (_, i): Position => {
    return [150 * Math.sin(n + 2.4 * i), 70 * Math.sin(n + 3.7 * i)];
  });
  return [...ring, ring[0] as Position];
}

function triangle(n: number): Position[] {
  const [west, south] = [8 * ((n * ACROSS) % 1), 43 + 6 * ((n * UP) % 1)];
  return [
    [west, south],
    [west + 0.01, south],
    [west, south + 0.01],
    [west, south],
  ];
}
