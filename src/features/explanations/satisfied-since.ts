/** Since when a property satisfies a search, as far as its recorded prices and surfaces tell (decisions, section 11). */

import { NOWHERE } from '../../engine/domain/areas.ts';
import { type Criteria, satisfies } from '../../engine/domain/criteria.ts';
import { beforeLastChange, factsOf, type MedianOf, type PropertyDigest } from '../../engine/domain/property-digest.ts';

export interface SatisfiedSince {
  /** ISO 8601. */
  readonly at: string;
  /** What made it so; null: it has done since it was created. */
  readonly change: PropertyDigest['changes'][number] | null;
}

/**
 * Of a property that satisfies `criteria` now: the later of its creation and the last recorded change of price or surface
 * that made it do so, all other facts, its texts among them, and the medians as they are today.
 */
export function satisfiedSince(criteria: Criteria, digest: PropertyDigest, median: MedianOf): SatisfiedSince {
  // Neither its texts nor its place were others: what is left compares a few numbers.
  const priced = { ...criteria, areas: NOWHERE, excludedInseeCodes: [], expressions: [] };
  for (let present = digest; ; ) {
    const former = beforeLastChange(present);
    if (former === null) return { at: digest.createdAt, change: null };
    if (!satisfies(priced, factsOf(former, median))) {
      const change = present.changes.at(-1) as PropertyDigest['changes'][number];
      return { at: change.at > digest.createdAt ? change.at : digest.createdAt, change };
    }
    present = former;
  }
}
