/** The index finds exactly the searches that `satisfies` accepts, whatever came, changed and went before. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Criteria, explain, satisfies } from '../src/domain/criteria.ts';
import type { PropertyFacts } from '../src/domain/property-facts.ts';
import { createSearchIndex, type SearchIndex } from '../src/matching/search-index.ts';
import { criteria, facts } from './support/criteria-arbitrary.ts';

function assertSameAsScan(index: SearchIndex, searches: ReadonlyMap<number, Criteria>, property: PropertyFacts): void {
  const found = index.match(property).sort((a, b) => a - b);
  const expected = [...searches]
    .filter(([, criteria]) => satisfies(criteria, property))
    .map(([number]) => number)
    .sort((a, b) => a - b);
  assert.deepEqual(found, expected);
}

for (const simd of [true, false]) {
  const kernel = simd ? 'SIMD' : 'plain';
  test(`the ${kernel} index agrees with a linear scan while searches come, change and go`, () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ number: fc.integer({ min: 1, max: 60 }), criteria }) },
      { weight: 2, arbitrary: fc.record({ gone: fc.integer({ min: 1, max: 60 }) }) },
      { weight: 3, arbitrary: fc.record({ property: facts }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150, size: 'max' }), (steps) => {
        const index = createSearchIndex(simd);
        const searches = new Map<number, Criteria>();
        for (const step of steps) {
          if ('property' in step) {
            assertSameAsScan(index, searches, step.property);
          } else if ('gone' in step) {
            assert.equal(index.delete(step.gone), searches.delete(step.gone));
          } else {
            index.upsert(step.number, step.criteria);
            searches.set(step.number, step.criteria);
          }
          assert.equal(index.size, searches.size);
        }
      }),
      { numRuns: 150 },
    );
  });
}

/** Enough searches for leaves to split and to merge again; `seed` makes the run repeatable. */
function manySearches(count: number, seed: number): Criteria[] {
  return fc.sample(criteria, { numRuns: count, seed });
}

test('thousands of searches in one place split their leaves, and leave without a trace', () => {
  const index = createSearchIndex();
  const searches = new Map<number, Criteria>();
  for (const [i, criteria] of manySearches(6000, 1).entries()) {
    index.upsert(i + 1, criteria);
    searches.set(i + 1, criteria);
  }
  const properties = fc.sample(facts, { numRuns: 60, seed: 2 });
  for (const property of properties) assertSameAsScan(index, searches, property);
  for (const number of [...searches.keys()]) {
    if (number % 3 === 0) continue;
    assert.ok(index.delete(number));
    searches.delete(number);
  }
  for (const property of properties) assertSameAsScan(index, searches, property);
  for (const [i, criteria] of manySearches(2000, 3).entries()) {
    index.upsert(3 * i + 3, criteria);
    searches.set(3 * i + 3, criteria);
  }
  for (const property of properties) assertSameAsScan(index, searches, property);
  for (const number of searches.keys()) assert.ok(index.delete(number));
  const { rows, blocks, areas, places, expressions } = index.stats();
  assert.deepEqual(
    { rows, blocks, areas, places, expressions },
    { rows: 0, blocks: 0, areas: 0, places: 0, expressions: 0 },
  );
});

test('explain says of a search in the index what it says of its criteria', () => {
  const index = createSearchIndex();
  fc.assert(
    fc.property(criteria, facts, (criteria, property) => {
      index.upsert(7, criteria);
      assert.deepEqual(index.explain(7, property), explain(criteria, property));
      assert.equal(index.explain(8, property), null);
    }),
    { numRuns: 2000 },
  );
});
