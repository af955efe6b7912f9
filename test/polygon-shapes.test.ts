/** Polygons in the index contain exactly the places for which `isInPolygon` is true, for any shape. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../bench/adverts/seeded-random.ts';
import { isInPolygon, type Polygon, type Position } from '../src/engine/domain/geo.ts';
import { PolygonShapes } from '../src/engine/matching/records/polygon-shapes.ts';
import { polygonRow } from '../src/engine/matching/rows/area-geometry.ts';
import { runsOf } from './support/random-runs.ts';

const random = createRandom(23);
const between = (min: number, max: number): number => min + (max - min) * random.uniform();

function closed(corners: number, at: (part: number, i: number) => Position): Position[] {
  const ring = Array.from({ length: corners }, (_, i) => at(i / corners, i));
  return [...ring, ring[0] as Position];
}

function rounded(degrees: number): number {
  return Number(degrees.toFixed(7));
}

function coast(lon: number, lat: number, size: number, corners: number): Position[] {
  return closed(corners, (part) => {
    const reach = size * between(0.5, 1);
    return [lon + reach * Math.cos(2 * Math.PI * part), lat + reach * Math.sin(2 * Math.PI * part)];
  });
}

const SHAPES: Record<string, (corners: number) => readonly Polygon[]> = {
  coasts: (n) => [[coast(2, 46, 5, n)]],
  'coasts of seven decimals': (n) => [[coast(2, 46, 5, n).map(([lon, lat]) => [rounded(lon), rounded(lat)])]],
  'coasts with holes': (n) => [[coast(2, 46, 5, n), coast(2, 46, 1.5, n >> 1), coast(3, 47, 0.2, 40)]],
  'slanted combs': (n) => [[closed(n, (part, i) => [2 + 4 * part + (i % 2) * 5, 44 - 4 * part + (i % 2) * 5])]],
  'upright combs': (n) => [[closed(n, (part, i) => [2 + 4 * part, 44 + (i % 2) * 5])]],
  'lying combs': (n) => [[closed(n, (part, i) => [2 + (i % 2) * 5, 44 + 4 * part])]],
  stars: (n) => [
    [
      closed(n | 1, (_, i) => {
        const angle = (2 * Math.PI * ((i * (n >> 1)) % (n | 1))) / (n | 1);
        return [2 + 5 * Math.cos(angle), 46 + 5 * Math.sin(angle)];
      }),
    ],
  ],
  'flat zigzags': (n) => [[closed(n, (part, i) => [2 + (i % 2) * 5, 46 + 0.05 * part + (i % 3) * 3e-5])]],
  'flat zigzags of no height': (n) => [[closed(n, (_, i) => [2 + (i % 2) * 5, 46 + (i % 2) * 1e-9])]],
  'scribbles of a metre': (n) => [[closed(n, () => [between(2, 2 + 1e-5), between(46, 46 + 1e-5)])]],
  'scribbles of a hundred metres': (n) => [[closed(n, () => [between(2, 2 + 1e-3), between(46, 46 + 1e-3)])]],
  'scribbles all over the world': (n) => [[closed(n, () => [between(-180, 180), between(-90, 90)])]],
  scribbles: (n) => [[closed(n, () => [between(0, 4), between(44, 48)])]],
  'corners on a lattice': (n) => [
    [closed(n, () => [Math.round(between(0, 16)) / 4, 44 + Math.round(between(0, 16)) / 4])],
  ],
  'past the date line': (n) => [[coast(179, -17, 3, n)], [coast(-179.5, 60, 2, n)]],
  'round a pole': (n) => [[coast(0, 86, 4, n)]],
  'a line': (n) => [[closed(n, (part) => [2 + part, 46])]],
  'a point': (n) => [[closed(n, () => [2, 46])]],
  'many small polygons': (n) => Array.from({ length: n }, () => [coast(between(0, 4), between(44, 48), 0.1, 4)]),
  'overlapping and nested polygons': (n) => [[coast(2, 46, 2, n)], [coast(3, 46, 2, n)], [coast(2, 46, 0.1, 5)]],
  'a ring that does not close': (n) => [[coast(2, 46, 2, n).slice(0, -1)]],
  'rings of nothing': () => [[], [[]], [[[2, 46]]]],
};

/** Corners, midpoints of edges, points very close to these, and other places. */
function placesOf(polygons: readonly Polygon[], count: number): [lat: number, lon: number][] {
  const positions = polygons.flat(2);
  const places: [number, number][] = [
    [46, 2],
    [-16.5, -179.9],
    [60, 179.9],
    [90, 0],
  ];
  for (let i = 0; i < count && positions.length > 0; i++) {
    const at = Math.floor(random.uniform() * positions.length);
    const [lon, lat] = positions[at] as Position;
    const [lonB, latB] = positions[(at + 1) % positions.length] as Position;
    const part = random.pick([0, 0, 0.5, random.uniform()]);
    const hair = random.pick([0, 1e-12, -1e-12, 2e-9, -2e-9, 1e-7, -1e-7, 1e-3]);
    places.push([lat + part * (latB - lat) + hair, lon + part * (lonB - lon) + random.pick([0, hair])]);
    const west = between(-0.1, 0.1) + Math.min(lon, lonB);
    places.push([between(lat - 1, lat + 1), west], [lat, west], [latB, lonB - random.pick([360, -360])]);
  }
  return places;
}

for (const [name, make] of Object.entries(SHAPES)) {
  test(`${name} contain the places that a check of all edges finds inside`, () => {
    const shapes = new PolygonShapes();
    let inside = 0;
    let places = 0;
    for (const corners of [5, 31, 33, 64, 65, 200, 1000, 4999]) {
      const polygons = make(corners);
      const address = shapes.write(polygons) as number;
      assert.deepEqual(shapes.rowsOf(address), polygons.map(polygonRow));
      for (const [lat, lon] of placesOf(polygons, runsOf(300))) {
        const expected = polygons.some((polygon) => isInPolygon(polygon, lat, lon));
        assert.equal(shapes.hold(address, lat, lon), expected, `${corners} corners, ${lat}, ${lon}`);
        inside += expected ? 1 : 0;
        places += 1;
      }
      if (corners % 2 === 0) shapes.free(address);
    }
    assert.ok(name === 'rings of nothing' || (inside > 0 && inside < places), `${inside} of ${places} inside`);
  });
}

test('polygons with invalid coordinates, or too many for a record, are declined', () => {
  const shapes = new PolygonShapes();
  const square: Position[] = [
    [0, 0],
    [1, 0],
    [1, 1],
    [0, 0],
  ];
  for (const odd of [Number.NaN, Number.POSITIVE_INFINITY]) assert.equal(shapes.write([[[...square, [odd, 0]]]]), null);
  assert.equal(shapes.write([[coast(0, 0, 1, 150_000)]]), null);
});
