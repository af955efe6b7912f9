/**
 * Matches adverts against all saved searches in one process, with our index, an R-tree and a typed-array scan, on the
 * same seeded searches and adverts. Further parts measure adverts only in Paris, updates during matching, and a mix
 * with 3 % of searches without geography. Others measure a second population, the most expensive searches that limits
 * allow, and points of interest. Answers are compared with those of another method.
 *
 *   npm run bench:matching -- [--searches 1000000] [--adverts 2000] [--points 1000000] [--seed 1] [--json] [--homes 0]
 *   [--rich 0] [--only-ours] [--part first|second|hostile|points]
 *
 * `--homes`: share of the searches with criteria of the home, such as floor or energy. `--rich`: share of the searches
 * with excluded areas, publishers, market differences, alternatives or points of interest. The scan supports neither
 * option. `--only-ours` leaves out the R-tree and the scan.
 */

import { parseArgs } from 'node:util';
import type { Criteria } from '../src/engine/domain/criteria.ts';
import { searchNumberOf } from '../src/engine/domain/ids.ts';
import type { PropertyFacts } from '../src/engine/domain/property-facts.ts';
import { SearchIndex } from '../src/engine/matching/search-index.ts';
import { type Churn, churn, measureUpdates, type Updates } from './matching/churn.ts';
import { withHomeAsked, withHomeStated } from './matching/homes.ts';
import { measureHostile } from './matching/hostile.ts';
import { type Latencies, measureMatches } from './matching/latency.ts';
import { PlainIndex } from './matching/plain.ts';
import { measurePoints } from './matching/points.ts';
import { type Mix, propertyOf, searchOf } from './matching/population.ts';
import { printHostile, printPoints, printReport, type Section } from './matching/report.ts';
import { marketsOf, withRichAsked, withRichStated } from './matching/rich.ts';
import { Scan } from './matching/scan.ts';
import { secondPropertyOf, secondSearchOf } from './matching/second-population.ts';
import { loadTowns, type Town } from './matching/towns.ts';
import { SMOKE, sized } from './smoke.ts';

const { values: options } = parseArgs({
  options: {
    ...SMOKE,
    searches: { type: 'string', default: sized('1000000', '2000') },
    adverts: { type: 'string', default: sized('2000', '20') },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    points: { type: 'string', default: sized('1000000', '2000') },
    homes: { type: 'string', default: '0' },
    rich: { type: 'string', default: '0' },
    'only-ours': { type: 'boolean', default: false },
    part: { type: 'string', multiple: true, default: ['first', 'second', 'hostile', 'points'] },
  },
});
const searchCount = Number(options.searches);
const advertCount = Number(options.adverts);
const seed = Number(options.seed);
const homeShare = Number(options.homes);
const richShare = Number(options.rich);
const towns = await loadTowns(seed);
const markets = marketsOf(towns);
const isAlone = options['only-ours'];

const MAIN_MIX = { nowhereShare: 0.003 };
const NOWHERE_MIX = { nowhereShare: 0.03 };
/** Number of adverts for the slow alternatives, enough for a 99th percentile. */
const PLAIN_ADVERTS = Math.min(advertCount, 1000);
const SCAN_ADVERTS = Math.min(advertCount, 300);
/** Number of searches that are created, then inserted and timed: few, so that garbage collections copy little. */
const BATCH = 500;
const WARM_UP_SEARCHES = sized(10_000, 100);

interface Built {
  readonly index: SearchIndex;
  readonly buildSeconds: number;
  readonly bytesPerSearch: number;
  /** Longest time of a single insertion. */
  readonly longestStepMs: number;
}

type SearchAt = (position: number) => Criteria;

function residentBytes(): number {
  if (globalThis.gc === undefined) throw new Error('Run Node.js with --expose-gc.');
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().rss;
}

function build(searchAt: SearchAt): Built {
  for (let position = 0; position < WARM_UP_SEARCHES; position++) searchAt(position);
  const before = residentBytes();
  const index = new SearchIndex();
  let buildMs = 0;
  let longestStepMs = 0;
  for (let start = 0; start < searchCount; start += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, searchCount - start) }, (_, i) => searchAt(start + i));
    const started = performance.now();
    let last = started;
    for (const [i, criteria] of batch.entries()) {
      index.upsert(searchNumberOf(start + i + 1), criteria);
      const now = performance.now();
      longestStepMs = Math.max(longestStepMs, now - last);
      last = now;
    }
    buildMs += last - started;
  }
  return {
    index,
    buildSeconds: buildMs / 1000,
    bytesPerSearch: (residentBytes() - before) / searchCount,
    longestStepMs,
  };
}

/** Our answers to some adverts, with their latencies. */
interface Answered {
  readonly name: string;
  readonly adverts: readonly PropertyFacts[];
  readonly ours: Latencies;
  /** Search numbers as text, ascending. */
  readonly answers: readonly string[];
}

function answer(name: string, adverts: readonly PropertyFacts[], index: SearchIndex): Answered {
  const match = (facts: PropertyFacts) => index.match(facts);
  const ours = measureMatches(adverts, match, () => index.stats().testedRows);
  return { name, adverts, ours, answers: adverts.map((facts) => textOf(index.match(facts))) };
}

interface Compared {
  readonly latencies: Latencies;
  /** Number of adverts whose answers differ from ours. */
  readonly mismatches: number;
}

function compare(
  { adverts, answers }: Answered,
  count: number,
  match: (facts: PropertyFacts) => number[],
  candidates: () => number,
): Compared {
  const latencies = measureMatches(adverts.slice(0, count), match, candidates);
  const mismatches = adverts.slice(0, count).filter((facts, i) => textOf(match(facts)) !== answers[i]).length;
  return { latencies, mismatches };
}

function comparePlain(answered: readonly Answered[], searchAt: SearchAt): Compared[] {
  const plain = new PlainIndex(searchCount, searchAt);
  return answered.map((one) =>
    compare(
      one,
      PLAIN_ADVERTS,
      (facts) => plain.match(facts),
      () => plain.candidates,
    ),
  );
}

function compareScan(answered: Answered, searchAt: SearchAt): Compared {
  const scan = new Scan(searchCount, searchAt);
  return compare(
    answered,
    SCAN_ADVERTS,
    (facts) => scan.match(facts),
    () => searchCount,
  );
}

function textOf(numbers: number[]): string {
  return numbers.sort((a, b) => a - b).join();
}

/** Adverts state the facts of `--homes` and `--rich` at every share, so that only the searches differ. */
function withStated(facts: PropertyFacts, position: number): PropertyFacts {
  return withRichStated(withHomeStated(facts, seed, position), markets, seed, position);
}

function withAsked(criteria: Criteria, from: number, position: number): Criteria {
  const asked = withHomeAsked(criteria, from, position, homeShare);
  return withRichAsked(asked, towns, from, position, richShare);
}

function measureFirst(): object {
  const advertsIn = (count: number, isWanted: (town: Town) => boolean): PropertyFacts[] =>
    Array.from({ length: count }, (_, i) => withStated(propertyOf(towns, seed, i, isWanted), i));
  const adverts = advertsIn(advertCount, () => true);
  const parisAdverts = advertsIn(Math.min(advertCount, 500), (town) => town.departmentCode === '75');
  const searchesOf =
    (mix: Mix, from: number): SearchAt =>
    (position) =>
      withAsked(searchOf(towns, from, position, mix), from, position);
  const searchAt = searchesOf(MAIN_MIX, seed);
  const nowhereAt = searchesOf(NOWHERE_MIX, seed);

  const built = build(searchAt);
  const updates = measureUpdates(built.index, searchCount, searchesOf(MAIN_MIX, seed + 1));
  // The answers below are computed after the updates. Ours are first, because a million objects of another index in
  // the same heap would lengthen every garbage collection.
  const everywhere = answer('everywhere', adverts, built.index);
  const paris = answer('Paris only', parisAdverts, built.index);
  const churned: Churn = churn(built.index, adverts, searchCount, searchAt);
  const nowhere = answer('3 % without geography', adverts, build(nowhereAt).index);

  const currentAt: SearchAt = (position) => updates.replaced(position) ?? searchAt(position);
  const scanned = isAlone || homeShare + richShare > 0 ? null : compareScan(everywhere, currentAt);
  const plain = isAlone ? [] : comparePlain([everywhere, paris], currentAt);
  const plainNowhere = isAlone ? [] : comparePlain([nowhere], nowhereAt);
  const sections = [everywhere, paris, nowhere].map(({ name, ours }, i): Section => {
    const ways = [[...plain, ...plainNowhere][i], i === 0 ? scanned : null];
    const mismatches = ways.reduce((sum, way) => sum + (way?.mismatches ?? 0), 0);
    return { name, ours, plain: ways[0]?.latencies ?? null, scan: ways[1]?.latencies ?? null, mismatches };
  });
  return reported('first population', sections, built, updates, churned);
}

function measureSecond(): object {
  const adverts = Array.from({ length: advertCount }, (_, i) => withStated(secondPropertyOf(towns, seed, i), i));
  const searchesOf =
    (from: number): SearchAt =>
    (position) =>
      withAsked(secondSearchOf(towns, from, position), from, position);
  const searchAt = searchesOf(seed);
  const built = build(searchAt);
  const updates = measureUpdates(built.index, searchCount, searchesOf(seed + 1));
  const everywhere = answer('everywhere', adverts, built.index);
  const churned = churn(built.index, adverts, searchCount, searchAt);
  const currentAt: SearchAt = (position) => updates.replaced(position) ?? searchAt(position);
  const [plain] = isAlone ? [] : comparePlain([everywhere], currentAt);
  const mismatches = plain?.mismatches ?? 0;
  const section = {
    name: everywhere.name,
    ours: everywhere.ours,
    plain: plain?.latencies ?? null,
    scan: null,
    mismatches,
  };
  return reported('second population', [section], built, updates, churned);
}

function reported(name: string, sections: readonly Section[], built: Built, updates: Updates, churned: Churn): object {
  const total = {
    ...updates,
    buildSeconds: built.buildSeconds,
    bytesPerSearch: built.bytesPerSearch,
    longestStallMs: Math.max(built.longestStepMs, updates.longestStallMs, churned.longestStallMs),
    mismatches: sections.reduce((sum, section) => sum + section.mismatches, 0),
  };
  printReport({ name, searchCount, seed, sections, churned, total, stats: built.index.stats() });
  const [main] = sections as [Section];
  const inShort = (latencies: Latencies | null) =>
    latencies && { meanUs: latencies.meanUs, p50Us: latencies.p50Us, p99Us: latencies.p99Us };
  const { mismatches, bytesPerSearch, buildSeconds, insertUs, deleteUs, longestStallMs } = total;
  const ways = { ours: inShort(main.ours), plain: inShort(main.plain), scan: inShort(main.scan) };
  return { ...ways, mismatches, bytesPerSearch, buildSeconds, insertUs, deleteUs, longestStallMs };
}

const isWanted = (part: string): boolean => options.part.includes(part);
const findings = {
  first: isWanted('first') ? measureFirst() : null,
  second: isWanted('second') ? measureSecond() : null,
};
if (isWanted('hostile')) {
  const adverts = Array.from({ length: sized(100, 3) }, (_, i) =>
    withHomeStated(secondPropertyOf(towns, seed, i), seed, i),
  );
  printHostile(measureHostile(adverts));
}
if (isWanted('points')) printPoints(await measurePoints(towns, seed, Number(options.points)));
if (options.json) console.log(JSON.stringify({ ...findings.first, second: findings.second }));
