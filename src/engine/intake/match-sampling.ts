/**
 * Samples one in a hundred evaluations of a property, before or after a change, and counts how many match each search.
 * The counts correct the estimates of how many adverts match each search.
 */

import type { SearchNumber } from '../domain/ids.ts';
import type { PropertyFacts } from '../domain/property-facts.ts';
import type { MatchSample } from '../store/search-totals.ts';
import type { Matcher } from './matcher.ts';

const EVALUATED_PER_SAMPLE = 100;
/** A sample ends early once it has at least this many different searches. */
const SEARCHES_MAX = 100_000;

export type MatchSampling = ReturnType<typeof sampleMatches>;

export function sampleMatches(match: Matcher['match']) {
  let evaluated = 0;
  let adverts = 0;
  let matched = new Map<SearchNumber, number>();
  return {
    match(facts: PropertyFacts) {
      const numbers = match(facts);
      evaluated += 1;
      if (evaluated % EVALUATED_PER_SAMPLE === 0 && matched.size < SEARCHES_MAX) {
        adverts += 1;
        for (const number of numbers) matched.set(number, (matched.get(number) ?? 0) + 1);
      }
      return numbers;
    },
    /** The counts since the last call. */
    flush(): MatchSample {
      const sample = { adverts, matched };
      adverts = 0;
      matched = new Map();
      return sample;
    },
  };
}
