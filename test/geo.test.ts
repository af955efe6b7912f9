/** Distances on the sphere, and points in polygons: at edges, in holes, and across the date line. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { distanceKm, isInPolygon, type Polygon, type Position } from '../src/engine/domain/geo.ts';

const SQUARE: Polygon = [
  [
    [2, 48],
    [3, 48],
    [3, 49],
    [2, 49],
    [2, 48],
  ],
  [
    [2.4, 48.4],
    [2.6, 48.4],
    [2.6, 48.6],
    [2.4, 48.6],
    [2.4, 48.4],
  ],
];

test('distances follow the great circle, the short way across the date line and the pole', () => {
  assert.ok(Math.abs(distanceKm(48.8566, 2.3522, 45.764, 4.8357) - 391.5) < 0.5);
  assert.ok(distanceKm(-16, 179.99, -16, -179.99) < 2.2);
  assert.ok(Math.abs(distanceKm(89, 0, 89, 180) - 222.4) < 0.1);
});

test('edges, corners and the edges of holes are inside, and holes are not', () => {
  for (const [lon, lat] of [
    [2, 48.3],
    [3, 49],
    [2.5, 48],
    [2.4, 48.5],
    [2.6, 48.6],
    [2.1, 48.1],
  ] as const) {
    assert.ok(isInPolygon(SQUARE, lat, lon), `${lon} ${lat}`);
  }
  for (const [lon, lat] of [
    [2.5, 48.5],
    [1.999, 48.5],
    [2.5, 49.001],
    [3.5, 49],
  ] as const) {
    assert.ok(!isInPolygon(SQUARE, lat, lon), `${lon} ${lat}`);
  }
});

test('a point computed to lie on a slanted edge is inside, despite rounding', () => {
  const coordinate = fc.double({ min: -60, max: 60, noNaN: true });
  const position = fc.tuple(coordinate, coordinate);
  fc.assert(
    fc.property(position, position, position, fc.double({ min: 0, max: 1, noNaN: true }), (a, b, c, part) => {
      const on = [a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])] as const;
      assert.ok(isInPolygon([[a, b, c, a]], on[1], on[0]));
    }),
    { numRuns: 2000 },
  );
});

test('away from its edges a polygon agrees with the winding number', () => {
  const coordinate = fc.integer({ min: -50, max: 50 });
  const ring = fc.array(fc.tuple(coordinate, coordinate), { minLength: 3, maxLength: 9 });
  fc.assert(
    fc.property(ring, coordinate, coordinate, (corners, x, y) => {
      // No line through two corners meets this point: corners are integers, and 1, √2 and √3 are linearly independent
      // over the rational numbers.
      const point = [x + Math.SQRT2 / 4, y + Math.sqrt(3) / 4] as const;
      const closed = [...corners, corners[0] as Position];
      let turn = 0;
      for (let i = 1; i < closed.length; i++) {
        const [a, b] = [closed[i - 1] as Position, closed[i] as Position];
        const from = Math.atan2(a[1] - point[1], a[0] - point[0]);
        let angle = Math.atan2(b[1] - point[1], b[0] - point[0]) - from;
        if (angle > Math.PI) angle -= 2 * Math.PI;
        if (angle < -Math.PI) angle += 2 * Math.PI;
        turn += angle;
      }
      const isInside = Math.round(turn / (2 * Math.PI)) % 2 !== 0;
      assert.equal(isInPolygon([closed], point[1], point[0]), isInside);
    }),
    { numRuns: 2000 },
  );
});

test('a polygon that extends across the date line contains places on the other side', () => {
  const across: Polygon = [
    [
      [179, -18],
      [181, -18],
      [181, -16],
      [179, -16],
      [179, -18],
    ],
  ];
  assert.ok(isInPolygon(across, -17, 179.5));
  assert.ok(isInPolygon(across, -17, -179.5));
  assert.ok(isInPolygon(across, -17, -180));
  assert.ok(!isInPolygon(across, -17, -178.9));
});
