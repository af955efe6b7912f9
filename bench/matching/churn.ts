/** Measures deleting and inserting searches, alone and while adverts are matched. */

import type { Criteria } from '../../src/engine/domain/criteria.ts';
import { searchNumberOf } from '../../src/engine/domain/ids.ts';
import type { PropertyFacts } from '../../src/engine/domain/property-facts.ts';
import type { SearchIndex } from '../../src/engine/matching/search-index.ts';
import { sized } from '../smoke.ts';
import { summarise } from './latency.ts';

const UPDATES = sized(20_000, 200);
const UPDATES_PER_SECOND = 1000;
const CHURN_SECONDS = sized(5, 1);

export interface Updates {
  readonly insertUs: number;
  readonly deleteUs: number;
  readonly longestStallMs: number;
  /** The criteria that replaced those at a position; null if they were not replaced. */
  replaced(position: number): Criteria | null;
}

export interface Churn {
  readonly updates: number;
  readonly matches: ReturnType<typeof summarise>;
  readonly longestStallMs: number;
}

/** Deletes searches from all over the index, and inserts others under their numbers. */
export function measureUpdates(
  index: SearchIndex,
  searchCount: number,
  searchAt: (position: number) => Criteria,
): Updates {
  const updates = Math.min(UPDATES, searchCount >> 1);
  const stride = Math.floor(searchCount / updates);
  const fresh = Array.from({ length: updates }, (_, i) => searchAt(i));
  const deletes = new Float64Array(updates);
  // Collects now, because the first collections of the measurement would otherwise copy the new searches.
  globalThis.gc?.();
  const inserts = new Float64Array(updates);
  for (let i = 0; i < updates; i++) {
    const started = performance.now();
    index.delete(searchNumberOf(1 + i * stride));
    deletes[i] = (performance.now() - started) * 1000;
  }
  for (const [i, criteria] of fresh.entries()) {
    const started = performance.now();
    index.upsert(searchNumberOf(1 + i * stride), criteria);
    inserts[i] = (performance.now() - started) * 1000;
  }
  const deleted = summarise(deletes);
  const inserted = summarise(inserts);
  return {
    insertUs: inserted.meanUs,
    deleteUs: deleted.meanUs,
    longestStallMs: Math.max(deleted.maxUs, inserted.maxUs) / 1000,
    replaced: (position) => (position % stride === 0 ? (fresh[position / stride] ?? null) : null),
  };
}

/** Matches without a pause for some seconds, with an update due every millisecond; leaves the index unchanged. */
export function churn(
  index: SearchIndex,
  adverts: readonly PropertyFacts[],
  searchCount: number,
  searchAt: (position: number) => Criteria,
): Churn {
  const updatesMax = CHURN_SECONDS * UPDATES_PER_SECOND;
  const coming = Array.from({ length: updatesMax >> 1 }, (_, i) => searchAt(i));
  const matchTimes: number[] = [];
  globalThis.gc?.();
  let longestMs = 0;
  let updates = 0;
  const timed = (act: () => unknown): number => {
    const started = performance.now();
    act();
    const took = performance.now() - started;
    longestMs = Math.max(longestMs, took);
    return took;
  };
  const start = performance.now();
  for (let i = 0; updates < updatesMax; i++) {
    const due = Math.min(updatesMax, ((performance.now() - start) * UPDATES_PER_SECOND) / 1000);
    for (; updates < due; updates++) {
      const number = searchNumberOf(searchCount + 1 + (updates >> 1));
      if (updates % 2 === 0) timed(() => index.upsert(number, coming[updates >> 1] as Criteria));
      else timed(() => index.delete(number));
    }
    matchTimes.push(timed(() => index.match(adverts[i % adverts.length] as PropertyFacts)) * 1000);
  }
  return { updates, matches: summarise(Float64Array.from(matchTimes)), longestStallMs: longestMs };
}
