/** Since when a property satisfies a search, as far as its recorded prices and surfaces show (decisions, section 11). */

import { NOWHERE } from '../../engine/domain/areas.ts';
import { type Criteria, satisfies } from '../../engine/domain/criteria.ts';
import {
  beforeLastChange,
  factsOf,
  type MedianOf,
  type PropertySummary,
} from '../../engine/domain/property-summary.ts';

export interface SatisfiedSince {
  /** ISO 8601. */
  readonly at: string;
  /** What made it so; null: it has done since it was created. */
  readonly change: PropertySummary['changes'][number] | null;
}

/**
 * Of a property that satisfies `criteria` now: the later of its creation and the last recorded change of price or surface
 * that made it do so, all other facts, its texts among them, and the medians as they are today.
 */
export function satisfiedSince(criteria: Criteria, summary: PropertySummary, median: MedianOf): SatisfiedSince {
  // Neither its texts nor its place were others: what is left compares a few numbers.
  const priced = { ...criteria, areas: NOWHERE, excludedInseeCodes: [], expressions: [] };
  for (let present = summary; ; ) {
    const former = beforeLastChange(present);
    if (former === null) return { at: summary.createdAt, change: null };
    if (!satisfies(priced, factsOf(former, median))) {
      const change = present.changes.at(-1) as PropertySummary['changes'][number];
      return { at: change.at > summary.createdAt ? change.at : summary.createdAt, change };
    }
    present = former;
  }
}
