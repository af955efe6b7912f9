/** Operators are warned about unsupported versions of Node.js. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unsupportedNode } from '../src/version.ts';

test('an unsupported version is reported from the day after its last day of support', () => {
  assert.equal(unsupportedNode('20.20.2', new Date('2026-04-30T23:00:00Z')), null);
  const told = 'Node.js 20.20.2 has been out of support since 2026-04-30. Install a version that gets security fixes.';
  assert.equal(unsupportedNode('20.20.2', new Date('2026-05-01T00:00:00Z')), told);
});

test('a version of Node.js newer than this release of Vigie causes no warning', () => {
  assert.equal(unsupportedNode('40.0.0', new Date('2040-01-01')), null);
});
