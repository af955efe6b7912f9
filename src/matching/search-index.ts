/**
 * One property against all saved searches, in memory, exact while searches come and go. `satisfies` in
 * `domain/criteria` is the definition that every answer agrees with.
 */

import { type Criteria, type CriterionVerdict, explain, satisfies } from '../domain/criteria.ts';
import type { SearchNumber } from '../domain/ids.ts';
import type { PropertyFacts } from '../domain/property-facts.ts';

export interface SearchIndexStats {
  readonly searches: number;
}

export interface SearchIndex {
  readonly size: number;
  /** Adds the search, or replaces its criteria. */
  upsert(number: SearchNumber, criteria: Criteria): void;
  /** False when the search is not in the index. */
  delete(number: SearchNumber): boolean;
  /** The searches that the property satisfies: exact, each once, in no particular order. */
  match(facts: PropertyFacts): SearchNumber[];
  /** The verdict of every criterion that is set; null when the search is not in the index. */
  explain(number: SearchNumber, facts: PropertyFacts): readonly CriterionVerdict[] | null;
  stats(): SearchIndexStats;
}

export function createSearchIndex(): SearchIndex {
  const searches = new Map<SearchNumber, Criteria>();
  return {
    get size() {
      return searches.size;
    },
    upsert(number, criteria) {
      searches.set(number, criteria);
    },
    delete(number) {
      return searches.delete(number);
    },
    match(facts) {
      const matched: SearchNumber[] = [];
      for (const [number, criteria] of searches) {
        if (satisfies(criteria, facts)) matched.push(number);
      }
      return matched;
    },
    explain(number, facts) {
      const criteria = searches.get(number);
      return criteria === undefined ? null : explain(criteria, facts);
    },
    stats() {
      return { searches: searches.size };
    },
  };
}
