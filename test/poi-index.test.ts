/** The index of points of interest returns what a scan of all points returns. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { createRandom } from '../bench/adverts/seeded-random.ts';
import { distanceKm } from '../src/engine/domain/geo.ts';
import { FACILITIES, type Facility, type PointOfInterest } from '../src/engine/domain/point-of-interest.ts';
import { buildPointIndex, type PointQuery } from '../src/engine/matching/points/poi-index.ts';

function samplePoints(count: number, seed: number, lat: readonly [number, number], lon: readonly [number, number]) {
  const random = createRandom(seed);
  const between = ([min, max]: readonly [number, number]) => min + (max - min) * random.uniform();
  return Array.from({ length: count }, (_, i): PointOfInterest => {
    return { facility: random.pick(FACILITIES), lat: between(lat), lon: between(lon), name: String(i), attributes: {} };
  });
}

/** Names of all points that a linear scan finds; at equal distance by facility, then in the order given. */
function scan(points: readonly PointOfInterest[], query: PointQuery): readonly (string | null)[] {
  return points
    .filter(({ facility }) => query.facilities.length === 0 || query.facilities.includes(facility))
    .map((point) => ({
      name: point.name,
      apart: distanceKm(query.lat, query.lon, point.lat, point.lon),
      facility: FACILITIES.indexOf(point.facility),
    }))
    .filter(({ apart }) => apart <= query.radiusKm)
    .sort((a, b) => a.apart - b.apart || a.facility - b.facility)
    .slice(0, query.limit)
    .map(({ name }) => name);
}

const namesOf = (points: readonly PointOfInterest[]): readonly (string | null)[] => points.map(({ name }) => name);

const facilities = fc.subarray<Facility>([...FACILITIES]);

describe('points within a radius', () => {
  it('are those that a scan finds, nearest first, in France', async () => {
    const points = samplePoints(5_000, 1, [43, 45], [4, 7]);
    const index = await buildPointIndex((add) => add(points));
    const query = fc.record({
      lat: fc.double({ min: 42.9, max: 45.1, noNaN: true }),
      lon: fc.double({ min: 3.9, max: 7.1, noNaN: true }),
      radiusKm: fc.oneof(fc.double({ min: 0.01, max: 6, noNaN: true }), fc.double({ min: 5, max: 50, noNaN: true })),
      facilities,
      limit: fc.constantFrom(1, 10, 1_000),
    });
    fc.assert(
      fc.property(query, (asked) => {
        assert.deepEqual(namesOf(index.within(asked)), scan(points, asked));
      }),
      { numRuns: 300 },
    );
  });

  it('are right at the poles and across the antimeridian', async () => {
    const points = samplePoints(2_000, 2, [-90, 90], [-180, 180]);
    points.push(...samplePoints(500, 6, [-17.02, -16.98], [179.97, 180]));
    points.push(...samplePoints(500, 7, [-17.02, -16.98], [-180, -179.97]));
    points.push(...samplePoints(500, 8, [89.95, 90], [-180, 180]));
    const index = await buildPointIndex((add) => add(points));
    for (const radiusKm of [0.001, 4.9, 1_500])
      for (const [lat, lon] of [
        [89.9, 10],
        [-90, 0],
        [0, 179.99],
        [-17, -180],
        [0, 0],
      ] as const) {
        const query = { lat, lon, radiusKm, facilities: [], limit: 1_000 };
        assert.deepEqual(namesOf(index.within(query)), scan(points, query));
      }
  });

  it('include the border and exclude a millimetre beyond', async () => {
    const school: PointOfInterest = { facility: 'school', lat: 43.13, lon: 5.93, name: null, attributes: {} };
    const index = await buildPointIndex((add) => add([school]));
    const apart = distanceKm(43.12, 5.93, 43.13, 5.93);
    const query = { lat: 43.12, lon: 5.93, radiusKm: apart, facilities: [], limit: 10 };
    assert.deepEqual(index.within(query), [school]);
    assert.deepEqual(index.within({ ...query, radiusKm: apart - 1e-6 }), []);
  });

  it('are of the requested facilities, each once even if a facility is repeated', async () => {
    const points = samplePoints(200, 3, [43, 43.01], [5, 5.01]);
    const index = await buildPointIndex((add) => add(points));
    const query = { lat: 43, lon: 5, radiusKm: 10, limit: 1_000 };
    const found = index.within({ ...query, facilities: ['school', 'school', 'parking'] });
    assert.equal(found.length, points.filter(({ facility }) => facility === 'school' || facility === 'parking').length);
    assert.equal(index.within({ ...query, facilities: [] }).length, 200);
  });
});

describe('points at the same or nearly the same location', () => {
  it('are distinguished to the last bit, and have a fixed order at equal distances', async () => {
    const crowd = (apart: number): PointOfInterest[] =>
      Array.from({ length: 3_000 }, (_, i) => ({
        facility: FACILITIES[i % 2] as Facility,
        lat: 43 + (i % 50) * apart,
        lon: 5 - (i % 60) * apart,
        name: String(i),
        attributes: {},
      }));
    for (const apart of [0, 1e-13, 1e-9, 1e-6]) {
      const points = crowd(apart);
      const index = await buildPointIndex((add) => add(points));
      for (const limit of [1, 999, 1_000, 2_999, 4_000])
        for (const radiusKm of [0, 1e-9, 1e-6, 1e-3, 5]) {
          const query = { lat: 43, lon: 5, radiusKm, facilities: [], limit };
          assert.deepEqual(namesOf(index.within(query)), scan(points, query));
        }
    }
  });
});

describe('building an index', () => {
  it('lets the event loop run more than a hundred times for a hundred thousand points', async () => {
    const given = samplePoints(100_000, 9, [43, 45], [4, 7]);
    let isDone = false;
    let ticks = 0;
    const built = buildPointIndex((add) => add(given)).finally(() => {
      isDone = true;
    });
    for (; !isDone; ticks++) await setImmediate();
    const index = await built;
    assert.ok(ticks > 100, `${ticks} ticks`);
    const query = { lat: 44, lon: 5.5, radiusKm: 50, facilities: [], limit: 1_000 };
    assert.deepEqual(namesOf(index.within(query)), scan(given, query));
  });
});
