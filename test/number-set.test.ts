/** A set of numbers tells each apart once, however many there are, and forgets all of them at once. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { NumberSet } from '../src/engine/matching/search-index.ts';

test('each number is new once, until all are forgotten', () => {
  const numbers = new NumberSet();
  const number = fc.oneof(fc.integer({ min: 1, max: 2 ** 31 - 1 }), fc.integer({ min: 1, max: 50 }));
  fc.assert(
    fc.property(fc.array(number, { maxLength: 3000, size: 'max' }), (drawn) => {
      numbers.clear();
      const met = new Set<number>();
      for (const each of drawn) {
        assert.equal(numbers.add(each), !met.has(each));
        met.add(each);
      }
    }),
    { numRuns: 60 },
  );
});
