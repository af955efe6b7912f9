/** Judgements as clients read them: values short enough to be shown, whatever a search or a property is made of. */

import { criterionReason, type Judgement, shortValues } from '../../engine/domain/criteria.ts';
import type { Language } from '../../engine/domain/criterion-words.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import { propertyIri } from '../../engine/domain/property-document.ts';
import { searchIri } from '../../rest/search-document.ts';
import type { PairReason } from './pair-history.ts';
import { matchReasonOf, reasonSentence } from './pair-words.ts';

export interface Explained {
  readonly searchId: Uuid;
  readonly propertyUuid: Uuid;
  readonly judgements: readonly Judgement[];
  readonly matchId: Uuid | null;
  readonly reasons: readonly PairReason[];
  readonly deliveryIds: readonly Uuid[];
}

export function explanationDocument(explained: Explained, language: Language): object {
  const { searchId, propertyUuid, judgements, matchId, reasons, deliveryIds } = explained;
  return {
    '@context': '/contexts/Explanation',
    '@id': `${searchIri(searchId)}/explanation?property=${propertyUuid}`,
    '@type': 'Explanation',
    search: searchIri(searchId),
    property: propertyIri(propertyUuid),
    satisfied: judgements.every(({ holds }) => holds),
    criteria: judgements.map((judgement) => ({
      criterion: judgement.criterion,
      ...shortValues(judgement),
      holds: judgement.holds,
      reason: criterionReason(judgement, language),
    })),
    match: matchId === null ? null : `/matches/${matchId}`,
    matchReason: matchReasonOf(reasons, judgements, language),
    matchReasons: reasons.map((reason) => ({
      code: reason.code,
      at: reason.at?.toISOString() ?? null,
      reason: reasonSentence(reason, language),
    })),
    deliveries: deliveryIds.map((id) => `/deliveries/${id}`),
  };
}
