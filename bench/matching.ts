/**
 * One advert against all saved searches (issue 3): our index, the plain way and a typed-array scan on the same seeded
 * searches and adverts, in one process. Then adverts in Paris only, updates while matching, and a mix with 3 % of
 * searches without geography. Answers are compared all along.
 *
 *   npm run bench:matching -- [--searches 1000000] [--adverts 2000] [--seed 1] [--json] [--only-ours]
 */

import { parseArgs } from 'node:util';
import type { Criteria } from '../src/domain/criteria.ts';
import type { PropertyFacts } from '../src/domain/property-facts.ts';
import { createSearchIndex, type SearchIndex } from '../src/matching/search-index.ts';
import { type Churn, churn, measureUpdates } from './matching/churn.ts';
import { type Latencies, measureMatches } from './matching/latency.ts';
import { createPlainIndex, type PlainIndex } from './matching/plain.ts';
import { propertyOf, searchOf } from './matching/population.ts';
import { printReport, type Section } from './matching/report.ts';
import { createScan, type Scan } from './matching/scan.ts';
import { loadTowns, type Town, type Towns } from './matching/towns.ts';

const { values: options } = parseArgs({
  options: {
    searches: { type: 'string', default: '1000000' },
    adverts: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    'only-ours': { type: 'boolean', default: false },
  },
});
const searchCount = Number(options.searches);
const advertCount = Number(options.adverts);
const seed = Number(options.seed);
const isAlone = options['only-ours'];

const MAIN_MIX = { nowhereShare: 0.003 };
const NOWHERE_MIX = { nowhereShare: 0.03 };
/** Adverts for the slow ways: enough for a 99th percentile. */
const PLAIN_ADVERTS = Math.min(advertCount, 1000);
const SCAN_ADVERTS = Math.min(advertCount, 300);
/** Searches made at a time before they are timed going in. */
const BATCH = 10_000;

interface Built {
  readonly index: SearchIndex;
  readonly buildSeconds: number;
  readonly bytesPerSearch: number;
  readonly longestUpsertMs: number;
}

type SearchAt = (position: number) => Criteria;

function residentBytes(): number {
  if (globalThis.gc === undefined) throw new Error('run with --expose-gc');
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().rss;
}

function build(searchAt: SearchAt): Built {
  for (let position = 0; position < BATCH; position++) searchAt(position);
  const before = residentBytes();
  const index = createSearchIndex();
  let buildMs = 0;
  let longestUpsertMs = 0;
  for (let start = 0; start < searchCount; start += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, searchCount - start) }, (_, i) => searchAt(start + i));
    const started = performance.now();
    let last = started;
    for (const [i, criteria] of batch.entries()) {
      index.upsert(start + i + 1, criteria);
      const now = performance.now();
      longestUpsertMs = Math.max(longestUpsertMs, now - last);
      last = now;
    }
    buildMs += last - started;
  }
  return {
    index,
    buildSeconds: buildMs / 1000,
    bytesPerSearch: (residentBytes() - before) / searchCount,
    longestUpsertMs,
  };
}

function buildPlain(searchAt: SearchAt): PlainIndex {
  const plain = createPlainIndex();
  for (let position = 0; position < searchCount; position++) plain.upsert(position + 1, searchAt(position));
  return plain;
}

/** Adverts on which the answers differ. */
function countMismatches(
  adverts: readonly PropertyFacts[],
  index: SearchIndex,
  others: readonly { match(facts: PropertyFacts): number[] }[],
): number {
  let mismatches = 0;
  for (const facts of adverts) {
    const found = index
      .match(facts)
      .sort((a, b) => a - b)
      .join();
    if (
      others.some(
        (other) =>
          other
            .match(facts)
            .sort((a, b) => a - b)
            .join() !== found,
      )
    )
      mismatches += 1;
  }
  return mismatches;
}

function compare(
  name: string,
  adverts: readonly PropertyFacts[],
  index: SearchIndex,
  plain: PlainIndex | null,
  scan: Scan | null,
): Section {
  const testedRows = () => index.stats().testedRows;
  const ours = measureMatches(adverts, (facts) => index.match(facts), testedRows);
  const plainAdverts = adverts.slice(0, PLAIN_ADVERTS);
  const scanAdverts = adverts.slice(0, SCAN_ADVERTS);
  const plainLatencies =
    plain &&
    measureMatches(
      plainAdverts,
      (facts) => plain.match(facts),
      () => plain.candidates,
    );
  const scanLatencies =
    scan &&
    measureMatches(
      scanAdverts,
      (facts) => scan.match(facts),
      () => searchCount,
    );
  const mismatches =
    (plain === null ? 0 : countMismatches(plainAdverts, index, [plain])) +
    (scan === null ? 0 : countMismatches(scanAdverts, index, [scan]));
  return { name, ours, plain: plainLatencies, scan: scanLatencies, mismatches };
}

function advertsOf(towns: Towns, count: number, isWanted: (town: Town) => boolean): PropertyFacts[] {
  return Array.from({ length: count }, (_, i) => propertyOf(towns, seed, i, isWanted));
}

const towns = await loadTowns(seed);
const adverts = advertsOf(towns, advertCount, () => true);
const parisAdverts = advertsOf(towns, Math.min(advertCount, 500), (town) => town.departmentCode === '75');
const searchAt: SearchAt = (position) => searchOf(towns, seed, position, MAIN_MIX);

const built = build(searchAt);
const scan = isAlone ? null : createScan(searchCount, searchAt);
const plain = isAlone ? null : buildPlain(searchAt);
const sections = [
  compare('everywhere', adverts, built.index, plain, scan),
  compare('Paris only', parisAdverts, built.index, plain, null),
];
const updates = measureUpdates(built.index, plain, searchCount, (position) =>
  searchOf(towns, seed + 1, position, MAIN_MIX),
);
const churned: Churn = churn(built.index, adverts, searchCount, searchAt);
const mismatchesAfterChurn = plain === null ? 0 : countMismatches(adverts.slice(0, 200), built.index, [plain]);
sections.push(nowhereSection());

const total = {
  ...updates,
  buildSeconds: built.buildSeconds,
  bytesPerSearch: built.bytesPerSearch,
  longestStallMs: Math.max(built.longestUpsertMs, updates.longestStallMs, churned.longestStallMs),
  mismatches: sections.reduce((sum, section) => sum + section.mismatches, mismatchesAfterChurn),
};
printReport({ searchCount, seed, sections, churned, total, stats: built.index.stats() });
if (options.json) {
  const [main] = sections as [Section];
  const inShort = (latencies: Latencies | null) =>
    latencies && { meanUs: latencies.meanUs, p50Us: latencies.p50Us, p99Us: latencies.p99Us };
  const { mismatches, bytesPerSearch, buildSeconds, insertUs, deleteUs, longestStallMs } = total;
  const ways = { ours: inShort(main.ours), plain: inShort(main.plain), scan: inShort(main.scan) };
  console.log(
    JSON.stringify({ ...ways, mismatches, bytesPerSearch, buildSeconds, insertUs, deleteUs, longestStallMs }),
  );
}

/** In a function of its own, so that its indexes can be collected. */
function nowhereSection(): Section {
  const nowhereAt: SearchAt = (position) => searchOf(towns, seed, position, NOWHERE_MIX);
  const { index } = build(nowhereAt);
  return compare('3 % without geography', adverts, index, isAlone ? null : buildPlain(nowhereAt), null);
}
