/** Time per advert of a matching method: raw, and the best of several passes, which depends less on other load. */

import type { PropertyFacts } from '../../src/engine/domain/property-facts.ts';
import { sized } from '../smoke.ts';

export interface Summary {
  readonly meanUs: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly maxUs: number;
}

export interface Latencies extends Summary {
  /** Summary of the best time of each advert. */
  readonly best: Summary;
  readonly matchesPerAdvert: number;
  readonly candidatesPerAdvert: number;
}

const WARM_UP_MS = sized(1_500, 20);
const PASSES = 5;

/** `candidates` returns the number of candidates of the last match. */
export function measureMatches(
  adverts: readonly PropertyFacts[],
  match: (facts: PropertyFacts) => number[],
  candidates: () => number,
): Latencies {
  const warm = performance.now() + WARM_UP_MS;
  for (let i = 0; performance.now() < warm; i++) match(adverts[(i * 7) % adverts.length] as PropertyFacts);
  const raw = new Float64Array(PASSES * adverts.length);
  const best = new Float64Array(adverts.length).fill(Infinity);
  let matches = 0;
  let candidateCount = 0;
  for (let pass = 0; pass < PASSES; pass++) {
    for (const [i, facts] of adverts.entries()) {
      const started = performance.now();
      const found = match(facts);
      const tookUs = (performance.now() - started) * 1000;
      raw[pass * adverts.length + i] = tookUs;
      best[i] = Math.min(best[i] as number, tookUs);
      matches += found.length;
      candidateCount += candidates();
    }
  }
  return {
    ...summarise(raw),
    best: summarise(best),
    matchesPerAdvert: matches / raw.length,
    candidatesPerAdvert: candidateCount / raw.length,
  };
}

export function summarise(times: Float64Array): Summary {
  const sorted = times.toSorted();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;
  return {
    meanUs: times.reduce((sum, time) => sum + time, 0) / times.length,
    p50Us: at(0.5),
    p99Us: at(0.99),
    maxUs: sorted[sorted.length - 1] as number,
  };
}
