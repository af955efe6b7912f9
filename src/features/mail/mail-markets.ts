/** The market of a property, for the e-mails of searches that compare prices with it. */

import { alternativesOf } from '../../engine/domain/alternatives.ts';
import type { StoredProperty } from '../../engine/domain/change.ts';
import type { ResolvePlace } from '../../engine/domain/city.ts';
import { isInRange, signedRangeOf } from '../../engine/domain/criterion-kinds.ts';
import type { CriterionMembers } from '../../engine/domain/criterion-table.ts';
import { type MarketPrices, marketPercent, NO_MEDIANS } from '../../engine/domain/market-prices.ts';
import { propertyFacts, readingOf } from '../../engine/domain/property-document.ts';

type Bounds = Pick<CriterionMembers, 'marketDifferenceMin' | 'marketDifferenceMax'>;

export interface MarketSources {
  readonly stored: StoredProperty;
  readonly resolvePlace: ResolvePlace;
  readonly markets: MarketPrices;
}

/** Whether the search or an alternative compares. */
export function comparesMarkets(members: CriterionMembers): boolean {
  return [members, ...alternativesOf(members)].some(compares);
}

function compares({ marketDifferenceMin: min, marketDifferenceMax: max }: Bounds): boolean {
  return min !== null || max !== null;
}

/** Per cent. Null if the search does not compare, or if it does not accept the difference. */
export function acceptedPercent(bounds: Bounds, { stored, resolvePlace, markets }: MarketSources): number | null {
  if (!compares(bounds)) return null;
  const reading = readingOf(stored.state, stored.crawls, resolvePlace);
  const percent = marketPercent(propertyFacts(reading, { ...NO_MEDIANS, markets }));
  return isInRange(signedRangeOf(bounds.marketDifferenceMin, bounds.marketDifferenceMax), percent) ? percent : null;
}
