/** The alternative by which a property matches a search, for e-mails. */

import { firstMet } from '../../engine/domain/alternatives-criterion.ts';
import type { StoredProperty } from '../../engine/domain/change.ts';
import type { ResolvePlace } from '../../engine/domain/city.ts';
import { criterionReason, evaluate } from '../../engine/domain/criteria.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import { type MarketPrices, NO_MEDIANS } from '../../engine/domain/market-prices.ts';
import { propertyFacts, readingOf } from '../../engine/domain/property-document.ts';
import { criteriaOf, type SearchMembers, type SiteCategoryName } from '../../engine/domain/search.ts';

interface Sources {
  readonly stored: StoredProperty;
  readonly resolvePlace: ResolvePlace;
  readonly markets: MarketPrices;
  readonly siteCategoryName: SiteCategoryName;
  readonly language: MailLanguage;
}

export interface MetAlternative {
  /** From 1; 0 if none holds. */
  readonly number: number;
  /** Sentence that says so. */
  readonly reason: string;
}

/** The first alternative that holds now; null for a search without alternatives. */
export function metAlternative(members: SearchMembers, sources: Sources): MetAlternative | null {
  if (members.alternatives.length === 0) return null;
  const { stored, resolvePlace, markets, siteCategoryName, language } = sources;
  const facts = propertyFacts(readingOf(stored.state, stored.crawls, resolvePlace), { ...NO_MEDIANS, markets });
  const evaluations = evaluate(criteriaOf(members, siteCategoryName), facts);
  const evaluation = evaluations.at(-1) as (typeof evaluations)[number] & Parameters<typeof firstMet>[0];
  return { number: firstMet(evaluation), reason: criterionReason(evaluation, language) };
}
