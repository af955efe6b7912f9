/** Time per advert of one way to match. */

import type { PropertyFacts } from '../../src/domain/property-facts.ts';

export interface Latencies {
  readonly meanUs: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly maxUs: number;
  readonly matchesPerAdvert: number;
  readonly candidatesPerAdvert: number;
}

const WARM_UP_MS = 1500;

/** `candidates`: of the last match. */
export function measureMatches(
  adverts: readonly PropertyFacts[],
  match: (facts: PropertyFacts) => number[],
  candidates: () => number,
): Latencies {
  const warm = performance.now() + WARM_UP_MS;
  for (let i = 0; performance.now() < warm; i++) match(adverts[(i * 7) % adverts.length] as PropertyFacts);
  const times = new Float64Array(adverts.length);
  let matches = 0;
  let candidateCount = 0;
  for (const [i, facts] of adverts.entries()) {
    const started = performance.now();
    const found = match(facts);
    times[i] = (performance.now() - started) * 1000;
    matches += found.length;
    candidateCount += candidates();
  }
  return {
    ...summarise(times),
    matchesPerAdvert: matches / adverts.length,
    candidatesPerAdvert: candidateCount / adverts.length,
  };
}

export function summarise(times: Float64Array): { meanUs: number; p50Us: number; p99Us: number; maxUs: number } {
  const sorted = times.toSorted();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;
  return {
    meanUs: times.reduce((sum, time) => sum + time, 0) / times.length,
    p50Us: at(0.5),
    p99Us: at(0.99),
    maxUs: sorted[sorted.length - 1] as number,
  };
}
