import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { distanceKm } from '../src/domain/geo.ts';
import { createCommuneLocator } from '../src/matching/commune-locator.ts';

const point = fc.record({
  lat: fc.double({ min: -90, max: 90, noNaN: true }),
  lon: fc.double({ min: -180, max: 180, noNaN: true }),
});

describe('the nearest commune centre', () => {
  it('is the one a scan of all centres finds, on the whole globe', () => {
    fc.assert(
      fc.property(fc.array(point, { minLength: 1, maxLength: 200 }), point, (centres, from) => {
        const index = createCommuneLocator(centres, 40_000)(from.lat, from.lon);
        assert.notEqual(index, null);
        const distances = centres.map(({ lat, lon }) => distanceKm(from.lat, from.lon, lat, lon));
        const found = distances[index as number] as number;
        assert.ok(found <= Math.min(...distances) + 1e-6);
      }),
    );
  });

  it('is none beyond the greatest distance, and one on the border', () => {
    const centres = [{ lat: 43, lon: 5 }];
    const apart = distanceKm(43, 5, 43.2, 5);
    assert.equal(createCommuneLocator(centres, apart)(43.2, 5), 0);
    assert.equal(createCommuneLocator(centres, apart - 1e-9)(43.2, 5), null);
    assert.equal(createCommuneLocator(centres)(44, 5), null);
  });

  it('is none where there are no centres', () => {
    assert.equal(createCommuneLocator([])(43, 5), null);
  });
});
