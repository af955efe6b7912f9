/** The index finds exactly the searches that `satisfies` accepts, after any insertions, changes and removals. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Criteria, satisfies } from '../src/engine/domain/criteria.ts';
import { ANYTHING } from '../src/engine/domain/criterion-table.ts';
import { searchNumberOf } from '../src/engine/domain/ids.ts';
import type { PropertyFacts } from '../src/engine/domain/property-facts.ts';
import { SearchIndex } from '../src/engine/matching/search-index.ts';
import { criteria, facts } from './support/criteria-arbitrary.ts';
import { runsOf } from './support/random-runs.ts';

function assertSameAsScan(index: SearchIndex, searches: ReadonlyMap<number, Criteria>, property: PropertyFacts): void {
  const found = index.match(property).sort((a, b) => a - b);
  const expected = [...searches]
    .filter(([, criteria]) => satisfies(criteria, property))
    .map(([number]) => number)
    .sort((a, b) => a - b);
  assert.deepEqual(found, expected);
}

test('the index agrees with a linear scan while searches are added, changed and removed', () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ number: fc.integer({ min: 1, max: 60 }), criteria }) },
    { weight: 2, arbitrary: fc.record({ gone: fc.integer({ min: 1, max: 60 }) }) },
    { weight: 3, arbitrary: fc.record({ property: facts }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150, size: 'max' }), (steps) => {
      const index = new SearchIndex();
      const searches = new Map<number, Criteria>();
      for (const step of steps) {
        if ('property' in step) {
          assertSameAsScan(index, searches, step.property);
        } else if ('gone' in step) {
          assert.equal(index.delete(searchNumberOf(step.gone)), searches.delete(step.gone));
        } else {
          index.upsert(searchNumberOf(step.number), step.criteria);
          searches.set(step.number, step.criteria);
        }
        assert.equal(index.size, searches.size);
        for (const number of [1, 30, 60]) assert.equal(index.has(searchNumberOf(number)), searches.has(number));
      }
    }),
    { numRuns: runsOf(300) },
  );
});

/** Enough searches for leaves to split and to merge again; `seed` makes the run repeatable. */
function manySearches(count: number, seed: number): Criteria[] {
  return fc.sample(criteria, { numRuns: count, seed });
}

test('thousands of searches in one place split their leaves, and leave no trace when removed', () => {
  const index = new SearchIndex();
  const searches = new Map<number, Criteria>();
  for (const [i, criteria] of manySearches(6000, 1).entries()) {
    index.upsert(searchNumberOf(i + 1), criteria);
    searches.set(i + 1, criteria);
  }
  const properties = fc.sample(facts, { numRuns: runsOf(160), seed: 2 });
  for (const property of properties) assertSameAsScan(index, searches, property);
  for (const number of [...searches.keys()]) {
    if (number % 3 === 0) continue;
    assert.ok(index.delete(searchNumberOf(number)));
    searches.delete(number);
  }
  for (const property of properties) assertSameAsScan(index, searches, property);
  for (const [i, criteria] of manySearches(2000, 3).entries()) {
    index.upsert(searchNumberOf(3 * i + 3), criteria);
    searches.set(3 * i + 3, criteria);
  }
  for (const property of properties) assertSameAsScan(index, searches, property);
  for (const number of searches.keys()) assert.ok(index.delete(searchNumberOf(number)));
  const { blocks, expressions, conditions } = index.stats();
  assert.deepEqual({ blocks, expressions, conditions }, { blocks: 0, expressions: 0, conditions: 0 });
});

test('the memory of the index does not count for the heap size by which V8 schedules full collections', () => {
  const searches = manySearches(6000, 10);
  const index = new SearchIndex();
  const before = { bytes: index.stats().bytes, counted: process.memoryUsage().external };
  for (const [i, criteria] of searches.entries()) index.upsert(searchNumberOf(i + 1), criteria);
  const bytes = index.stats().bytes - before.bytes;
  const counted = process.memoryUsage().external - before.counted;
  assert.ok(counted < bytes / 4, `${counted} of ${bytes} bytes are counted`);
});

test('successive matches give each property its own answer, although the last one is cached', () => {
  const index = new SearchIndex();
  const searches = new Map<number, Criteria>();
  for (const [i, criteria] of manySearches(500, 4).entries()) {
    index.upsert(searchNumberOf(i + 1), criteria);
    searches.set(i + 1, criteria);
  }
  const properties = fc.sample(facts, { numRuns: 40, seed: 5 });
  for (const [i, property] of properties.entries()) {
    assertSameAsScan(index, searches, property);
    assertSameAsScan(index, searches, structuredClone(property));
    if (i % 3 !== 0) continue;
    index.delete(searchNumberOf(i + 1));
    searches.delete(i + 1);
    assertSameAsScan(index, searches, property);
  }
});

test('identical searches are added and removed by the thousand', () => {
  const index = new SearchIndex();
  const [alike] = manySearches(1, 6) as [Criteria];
  const search: Criteria = { ...alike, areas: { ...alike.areas, circle: { lat: 48.8566, lon: 2.3522, radiusKm: 10 } } };
  for (let number = 1; number <= 3000; number++) index.upsert(searchNumberOf(number), search);
  for (let number = 1; number <= 3000; number += 2) assert.ok(index.delete(searchNumberOf(number)));
  for (const property of fc.sample(facts, { numRuns: 200, seed: 7 })) {
    assert.equal(index.match(property).length, satisfies(search, property) ? 1500 : 0);
  }
});

test('the largest search number fits', () => {
  const index = new SearchIndex();
  const [criteria] = manySearches(1, 8) as [Criteria];
  const largest = searchNumberOf(2 ** 31 - 1);
  index.upsert(largest, criteria);
  assert.ok(index.delete(largest));
  assert.ok(!index.delete(largest));
});

test('the texts of relevant adverts are read once, regardless of the order in which searches exclude others', () => {
  const categories = ['agences', 'notaires', 'particuliers'];
  const [example] = fc.sample(facts, { numRuns: 1, seed: 8 }) as [PropertyFacts];
  const [advert] = example.adverts;
  assert.ok(advert);
  let reads = 0;
  const adverts = categories.map((siteCategory) =>
    Object.defineProperty({ ...advert, siteCategory }, 'texts', {
      get: () => {
        reads += 1;
        return [`Vu chez les ${siteCategory}`];
      },
    }),
  );
  const property: PropertyFacts = { ...example, texts: [], adverts };
  const searches = Array.from({ length: 300 }, (_, i): Criteria => {
    const expressions = [[{ word: categories[Math.floor(i / 3) % 3] as string, includes: true, strict: true }]];
    return {
      ...ANYTHING,
      withCoherentPrice: false,
      excludedSiteCategories: [categories[i % 3] as string],
      expressions,
    };
  });
  const index = new SearchIndex();
  for (const [i, criteria] of searches.entries()) index.upsert(searchNumberOf(i + 1), criteria);
  const found = index.match(property).sort((a, b) => a - b);
  assert.ok(reads <= 50, `${reads} reads of texts`);
  assert.deepEqual(
    found,
    searches.flatMap((criteria, i) => (satisfies(criteria, property) ? [i + 1] : [])),
  );
  assert.equal(found.length, 200);
});

test('a search of unusual size is matched like any other', () => {
  const corner = (i: number) => [2 + Math.cos(i) * 0.2, 48 + Math.sin(i) * 0.2] as const;
  const ring = [...Array.from({ length: 3000 }, (_, i) => corner((i * 2 * Math.PI) / 3000)), corner(0)];
  const [base] = manySearches(1, 9) as [Criteria];
  const nothing = { circle: null, inseeCodes: [], departmentCodes: [], zipcodes: [], polygons: [] };
  const large: Criteria[] = [
    { ...base, areas: { ...nothing, polygons: [[ring]] } },
    { ...base, areas: { ...nothing, inseeCodes: Array.from({ length: 400 }, (_, i) => `${75056 + i}`) } },
    { ...base, excludedAreas: { ...nothing, inseeCodes: Array.from({ length: 400 }, (_, i) => `${75056 + i}`) } },
    { ...base, excludedAreas: { ...nothing, polygons: [[ring]] } },
    { ...base, excludedAreas: { ...nothing, zipcodes: Array.from({ length: 70_000 }, (_, i) => `${75001 + i}`) } },
    { ...base, excludedSiteCategories: Array.from({ length: 40 }, (_, i) => `category ${i}`) },
    {
      ...base,
      expressions: Array.from({ length: 90 }, (_, i) => [{ word: `balcon ${i}`, includes: true, strict: true }]),
    },
  ];
  const index = new SearchIndex();
  const searches = new Map(large.map((criteria, i) => [i + 1, criteria]));
  for (const [number, criteria] of searches) index.upsert(searchNumberOf(number), criteria);
  for (const property of fc.sample(facts, { numRuns: 100, seed: 10 })) {
    assertSameAsScan(index, searches, property);
    assertSameAsScan(index, searches, { ...property, lat: 48.1, lon: 2.1 });
  }
  for (const number of searches.keys()) assert.ok(index.delete(searchNumberOf(number)));
  assert.equal(index.stats().blocks, 0);
});
