/** Shapes of a search that are refused. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CORNERS_MAX, parseGeoShapes } from '../src/rest/geo-shapes.ts';

function refusalOf(sent: unknown): string {
  const parsed = parseGeoShapes(sent);
  return 'en' in parsed ? parsed.en : '';
}

const RING = [
  [5.9, 43.1],
  [6, 43.1],
  [6, 43.2],
  [5.9, 43.1],
];

describe('shapes', () => {
  it('may be empty', () => {
    for (const sent of [null, undefined, '', []]) assert.deepEqual(parseGeoShapes(sent), []);
  });

  it('may have an altitude, which is ignored', () => {
    assert.deepEqual(parseGeoShapes([RING.map((position) => [...position, 12])]), [[RING]]);
  });

  for (const [what, sent] of [
    ['a word', 'Toulon'],
    ['a word in a list', ['Toulon']],
    ['an open ring', [RING.slice(0, 3)]],
    ['positions in text', [RING.map((position) => position.map(String))]],
    ['GeoJSON of another type', { type: 'Point', coordinates: [5.9, 43.1] }],
    ['beyond the pole', [RING.map(([lon, lat = 0]) => [lon, lat + 50])]],
    ['positions of four', [RING.map((position) => [...position, 3, 4])]],
  ] as const) {
    it(`are refused with an explanation when they are ${what}`, () => assert.notEqual(refusalOf(sent), ''));
  }

  it('have a limited number of corners in total', () => {
    assert.match(refusalOf([Array.from({ length: CORNERS_MAX + 2 }, () => [5, 43])]), /at most/);
    assert.match(refusalOf(Array.from({ length: 2_000 }, () => RING)), /at most/);
  });
});
