/** Only a name that the user may have meant is suggested, because another would mislead. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestHint, nearestName } from '../src/engine/domain/nearest-name.ts';
import { SEARCH_MEMBERS } from '../src/rest/search-schema.ts';

const MEMBERS = Object.keys(SEARCH_MEMBERS);
const MEANT: readonly (readonly [string, string])[] = [
  ['titel', 'title'],
  ['bugdetMax', 'budgetMax'],
  ['BUDGETMAX', 'budgetMax'],
  ['rooms', 'roomMin'],
  ['propertyType', 'propertyTypes'],
  ['endpoint', 'eventEndpoint'],
  ['departments', 'includedDepartments'],
];

test('a mistyped name gets the nearest known one', () => {
  for (const [typed, meant] of MEANT) assert.equal(nearestName(typed, MEMBERS), meant, typed);
  assert.equal(nearestHint('titel', MEMBERS), '; the nearest one is title');
  assert.equal(nearestHint('jsn', ['json', 'help'], '--'), '; the nearest one is --json');
});

test('a name that differs from all known ones in at least half of the letters gets none', () => {
  for (const typed of ['email', 'url', 'zip', 'lng', 'terrace', 'x', '', 'é'.repeat(100_000)]) {
    assert.equal(nearestName(typed, MEMBERS), null, typed.slice(0, 10));
  }
  assert.equal(nearestHint('email', MEMBERS), '');
  assert.equal(nearestName('a', []), null);
});
