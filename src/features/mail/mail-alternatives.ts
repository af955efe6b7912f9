/** How a property fits a search now, for e-mails: by which alternative, and how far from the market. */

import { firstMet } from '../../engine/domain/alternatives-criterion.ts';
import { criterionReason, evaluate } from '../../engine/domain/criteria.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import { NO_MEDIANS } from '../../engine/domain/market-prices.ts';
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
}

/** `missed`: says that no alternative holds; empty if one does, or if the search has none. */
export function presentFit(members: SearchMembers, sources: FitSources): PresentFit & { readonly missed: string[] } {
  if (members.alternatives.length === 0)
    return { alternative: null, missed: [], marketPercent: acceptedPercent(members, sources) };
  const { stored, resolvePlace, markets, siteCategoryName, language } = sources;
  const facts = propertyFacts(readingOf(stored.state, stored.crawls, resolvePlace), { ...NO_MEDIANS, markets });
  const evaluations = evaluate(criteriaOf(members, siteCategoryName), facts);
  const evaluation = evaluations.at(-1) as (typeof evaluations)[number] & Parameters<typeof firstMet>[0];
  const reason = criterionReason(evaluation, language);
  const met = members.alternatives[firstMet(evaluation) - 1];
  if (met === undefined)
    return { alternative: null, missed: [reason], marketPercent: acceptedPercent(members, sources) };
  return { alternative: reason, missed: [], marketPercent: acceptedPercent({ ...members, ...met }, sources) };
}
