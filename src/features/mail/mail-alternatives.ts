/** How a property fits a search now, for e-mails: the alternative, the market difference and distances to points. */

import { firstMet } from '../../engine/domain/alternatives-criterion.ts';
import { criterionReason, evaluate } from '../../engine/domain/criteria.ts';
import type { CriterionMembers } from '../../engine/domain/criterion-table.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import { NO_MEDIANS } from '../../engine/domain/market-prices.ts';
import { distanceTo, isAccepted } from '../../engine/domain/point-distances.ts';
import { nearbyText } from '../../engine/domain/points-criterion.ts';
import { propertyFacts, readingOf } from '../../engine/domain/property-document.ts';
import { criteriaOf, type SearchMembers, type SiteCategoryName } from '../../engine/domain/search.ts';
import { acceptedPercent, type MarketSources } from './mail-markets.ts';

export interface FitSources extends MarketSources {
  readonly siteCategoryName: SiteCategoryName;
  readonly language: MailLanguage;
}

export interface PresentFit {
  /** Names the first alternative that holds; null if there is none. */
  readonly alternative: string | null;
  /** The difference of the price from the market, if the search compares it and accepts it. Per cent. */
  readonly marketPercent: number | null;
  /** The accepted distances to points of interest, such as `école publique à 420 m`. */
  readonly nearby: readonly string[];
}

/** `missed`: says that no alternative holds; empty if one does, or if the search has none. */
export function presentFit(members: SearchMembers, sources: FitSources): PresentFit & { readonly missed: string[] } {
  const fitOf = (one: CriterionMembers): Omit<PresentFit, 'alternative'> => ({
    marketPercent: acceptedPercent(one, sources),
    nearby: nearbyTexts(one, sources),
  });
  if (members.alternatives.length === 0) return { alternative: null, missed: [], ...fitOf(members) };
  const { stored, resolvePlace, markets, siteCategoryName, language } = sources;
  const facts = propertyFacts(readingOf(stored.state, stored.crawls, resolvePlace), { ...NO_MEDIANS, markets });
  const evaluations = evaluate(criteriaOf(members, siteCategoryName), facts);
  const evaluation = evaluations.at(-1) as (typeof evaluations)[number] & Parameters<typeof firstMet>[0];
  const reason = criterionReason(evaluation, language);
  const met = members.alternatives[firstMet(evaluation) - 1];
  if (met === undefined) return { alternative: null, missed: [reason], ...fitOf(members) };
  return { alternative: reason, missed: [], ...fitOf({ ...members, ...met }) };
}

/** By the distances that are stored with the property. */
function nearbyTexts({ pointsOfInterest }: CriterionMembers, { stored, language }: FitSources): readonly string[] {
  return pointsOfInterest.flatMap((term) => {
    const distanceM = distanceTo(term, stored.state.distances ?? null);
    return distanceM !== null && isAccepted(term, distanceM) ? nearbyText(term, distanceM, language) : [];
  });
}
