import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { distanceKm } from '../src/engine/domain/geo.ts';
import { createCommuneLocator } from '../src/engine/matching/commune-locator.ts';

const point = fc.record({
  lat: fc.double({ min: -90, max: 90, noNaN: true }),
  lon: fc.double({ min: -180, max: 180, noNaN: true }),
});

describe('the nearest commune centre', () => {
  it('is the one a scan of all centres finds, on the whole globe', () => {
    fc.assert(
      fc.property(fc.array(point, { minLength: 1, maxLength: 200 }), point, (centres, from) => {
        const [index, ...others] = createCommuneLocator(centres)(from.lat, from.lon, 40_000);
        assert.notEqual(index, undefined);
        assert.deepEqual(others, []);
        const distances = centres.map(({ lat, lon }) => distanceKm(from.lat, from.lon, lat, lon));
        const found = distances[index as number] as number;
        assert.ok(found <= Math.min(...distances) + 1e-6);
      }),
    );
  });

  it('is none beyond the greatest distance, and one on the border', () => {
    const centres = [{ lat: 43, lon: 5 }];
    const apart = distanceKm(43, 5, 43.2, 5);
    assert.deepEqual(createCommuneLocator(centres)(43.2, 5, apart), [0]);
    assert.deepEqual(createCommuneLocator(centres)(43.2, 5, apart - 1e-9), []);
    assert.deepEqual(createCommuneLocator(centres)(44, 5), []);
  });

  it('comes first of all within a distance', () => {
    fc.assert(
      fc.property(fc.array(point, { minLength: 1, maxLength: 200 }), point, (centres, from) => {
        const found = createCommuneLocator(centres)(from.lat, from.lon, 3000, Number.POSITIVE_INFINITY);
        const distances = centres.map(({ lat, lon }) => distanceKm(from.lat, from.lon, lat, lon));
        const within = distances.flatMap((km, i) => (km <= 3000 ? [i] : []));
        assert.deepEqual([...found].sort(), within.sort());
        for (const [i, index] of found.slice(1).entries()) {
          assert.ok((distances[index] as number) >= (distances[found[i] as number] as number) - 1e-6);
        }
      }),
    );
  });

  it('is none where there are no centres', () => {
    assert.deepEqual(createCommuneLocator([])(43, 5), []);
  });
});
