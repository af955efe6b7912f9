/** The shapes of a search, which forms send as text. */

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
const OTHER = RING.map(([lon = 0, lat = 0]) => [lon + 1, lat]);
const TEXT = '5.9,43.1;6,43.1;6,43.2;5.9,43.1';

describe('shapes written as text', () => {
  const one = [[RING]];
  const two = [[RING], [OTHER]];
  const geoJson = { type: 'Polygon', coordinates: [RING] };
  for (const [what, sent, expected] of [
    ['a ring in JSON', JSON.stringify(RING), one],
    ['rings in JSON', JSON.stringify([RING, OTHER]), two],
    ['a list of rings in JSON', [JSON.stringify(RING), JSON.stringify(OTHER)], two],
    ['positions', TEXT, one],
    ['positions with blanks', ' 5.9, 43.1; 6, 43.1; 6, 43.2; 5.9, 43.1 ', one],
    ['a list of positions and of JSON', [TEXT, JSON.stringify(OTHER)], two],
    ['text beside arrays, as a form adds it', [[RING], OTHER.map((position) => position.join(',')).join(';')], two],
    ['GeoJSON', JSON.stringify(geoJson), one],
    ['a list of GeoJSON', [JSON.stringify(geoJson)], one],
    ['nothing', '', []],
    ['a list of nothing', [''], []],
  ] as const) {
    it(`may be ${what}`, () => assert.deepEqual(parseGeoShapes(sent), expected));
  }

  for (const [what, sent] of [
    ['no numbers', 'a,b;c,d;e,f;a,b'],
    ['broken JSON', '[[5,43],[6,43]'],
    ['a word', 'Toulon'],
    ['an open ring', '5.9,43.1;6,43.1;6,43.2'],
    ['a position of a million digits', `5.9${'0'.repeat(1_000_000)},43.1;6,43.1;6,43.2;5.9,43.1`],
    ['latitudes first', '143.1,5.9;43.1,96;43.2,6;143.1,5.9'],
    ['a position of four', '1,2,3,4;1,2,3,4;1,2,3,4;1,2,3,4'],
    ['an empty position', '5.9,43.1;;6,43.2;5.9,43.1'],
    ['levels without end', '['.repeat(100_000)],
    ['a word in a list', ['Toulon']],
  ] as const) {
    it(`are refused with a word when they are ${what}`, () => assert.notEqual(refusalOf(sent), ''));
  }

  it('have as many corners as others', () => {
    const text = Array.from({ length: CORNERS_MAX + 2 }, () => '5,43').join(';');
    assert.match(refusalOf(text), /at most/);
    assert.match(refusalOf(Array.from({ length: 2_000 }, () => TEXT)), /at most/);
  });
});
