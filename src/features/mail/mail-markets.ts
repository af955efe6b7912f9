/** The market of a property, for the e-mails of searches that compare prices with it. */

import type { StoredProperty } from '../../engine/domain/change.ts';
import type { ResolvePlace } from '../../engine/domain/city.ts';
import { isInRange, signedRangeOf } from '../../engine/domain/criterion-kinds.ts';
import { type MarketPrices, marketPercent, NO_MEDIANS } from '../../engine/domain/market-prices.ts';
import { propertyFacts, readingOf } from '../../engine/domain/property-document.ts';
import type { SearchMembers } from '../../engine/domain/search.ts';

type Bounds = Pick<SearchMembers, 'marketDifferenceMin' | 'marketDifferenceMax'>;

interface Sources {
  readonly stored: StoredProperty;
  readonly resolvePlace: ResolvePlace;
  readonly markets: MarketPrices;
}

export function comparesMarkets({ marketDifferenceMin: min, marketDifferenceMax: max }: Bounds): boolean {
  return min !== null || max !== null;
}

/** Per cent. Null if the search does not compare, or if it does not accept the difference. */
export function acceptedPercent(bounds: Bounds, { stored, resolvePlace, markets }: Sources): number | null {
  if (!comparesMarkets(bounds)) return null;
  const reading = readingOf(stored.state, stored.crawls, resolvePlace);
  const percent = marketPercent(propertyFacts(reading, { ...NO_MEDIANS, markets }));
  return isInRange(signedRangeOf(bounds.marketDifferenceMin, bounds.marketDifferenceMax), percent) ? percent : null;
}
