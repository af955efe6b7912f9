/** How a property fits a search now, for e-mails: the alternative, the market difference and distances to points. */

import { alternativesOf } from '../../engine/domain/alternatives.ts';
import { firstMet } from '../../engine/domain/alternatives-criterion.ts';
import type { StoredProperty } from '../../engine/domain/change.ts';
import type { ResolvePlace } from '../../engine/domain/city.ts';
import { criterionReason, evaluate } from '../../engine/domain/criteria.ts';
import { isInRange, signedRangeOf } from '../../engine/domain/criterion-kinds.ts';
import type { CriterionMembers } from '../../engine/domain/criterion-table.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import { type MarketPrices, marketPercent, NO_MEDIANS } from '../../engine/domain/market-prices.ts';
import { distanceTo, isAccepted } from '../../engine/domain/point-distances.ts';
import { nearbyText } from '../../engine/domain/points-criterion.ts';
import { propertyFacts, readingOf } from '../../engine/domain/property-document.ts';
import { criteriaOf, type SearchMembers, type SiteCategoryName } from '../../engine/domain/search.ts';

export interface FitSources {
  readonly stored: StoredProperty;
  readonly resolvePlace: ResolvePlace;
  readonly markets: MarketPrices;
  readonly siteCategoryName: SiteCategoryName;
  readonly language: MailLanguage;
}

export interface PresentFit {
  /** Names the first alternative that holds; null if there is none. */
  readonly alternative: string | null;
  /** The difference of the price from the market, in per cent; null unless the search compares and accepts it. */
  readonly marketPercent: number | null;
  /** The accepted distances to points of interest, such as `école publique à 420 m`. */
  readonly nearby: readonly string[];
}

/** Whether the search or an alternative compares the price with the market. */
export function comparesMarkets(members: CriterionMembers): boolean {
  return [members, ...alternativesOf(members)].some(compares);
}

function compares({ marketDifferenceMin: min, marketDifferenceMax: max }: CriterionMembers): boolean {
  return min !== null || max !== null;
}

/** `missed`: says that no alternative holds; empty if one does, or if the search has none. */
export function presentFit(members: SearchMembers, sources: FitSources): PresentFit & { readonly missed: string[] } {
  const { stored, resolvePlace, markets, siteCategoryName, language } = sources;
  const factsNow = () =>
    propertyFacts(readingOf(stored.state, stored.crawls, resolvePlace), { ...NO_MEDIANS, markets });
  const fitOf = (one: CriterionMembers): Omit<PresentFit, 'alternative'> => {
    const percent = compares(one) ? marketPercent(factsNow()) : null;
    const isFitting = isInRange(signedRangeOf(one.marketDifferenceMin, one.marketDifferenceMax), percent);
    return { marketPercent: isFitting ? percent : null, nearby: nearbyTexts(one, sources) };
  };
  if (members.alternatives.length === 0) return { alternative: null, missed: [], ...fitOf(members) };
  const evaluations = evaluate(criteriaOf(members, siteCategoryName), factsNow());
  const evaluation = evaluations.at(-1) as (typeof evaluations)[number] & Parameters<typeof firstMet>[0];
  const reason = criterionReason(evaluation, language);
  const met = members.alternatives[firstMet(evaluation) - 1];
  if (met === undefined) return { alternative: null, missed: [reason], ...fitOf(members) };
  return { alternative: reason, missed: [], ...fitOf({ ...members, ...met }) };
}

/** The accepted distances, of those that are stored with the property. */
function nearbyTexts({ pointsOfInterest }: CriterionMembers, { stored, language }: FitSources): readonly string[] {
  return pointsOfInterest.flatMap((term) => {
    const distanceM = distanceTo(term, stored.state.distances ?? null);
    return distanceM !== null && isAccepted(term, distanceM) ? nearbyText(term, distanceM, language) : [];
  });
}
