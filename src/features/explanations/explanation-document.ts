/** Judgements as clients read them: values short enough to be shown, whatever a search or a property is made of. */

import type { Areas } from '../../engine/domain/areas.ts';
import type { City } from '../../engine/domain/city.ts';
import { criterionReason, type Judgement, shortValues } from '../../engine/domain/criteria.ts';
import { type Language, shownNumber } from '../../engine/domain/criterion-words.ts';
import { distanceKm } from '../../engine/domain/geo.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import { propertyIri } from '../../engine/domain/property-document.ts';
import type { PropertyFacts } from '../../engine/domain/property-facts.ts';
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

/** By INSEE code; null: there is none. */
export type CityOf = (insee: string) => City | null;

export function explanationDocument(explained: Explained, language: Language, cityOf: CityOf): object {
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
      reason: townReason(judgement, language, cityOf) ?? criterionReason(judgement, language),
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

/** Of a search that names towns alone: their edges are not known, and their centres say nearly as much. Null: of another. */
function townReason({ criterion, holds, ...judged }: Judgement, language: Language, cityOf: CityOf): string | null {
  if (criterion !== 'areas' || holds) return null;
  const { circle, inseeCodes: towns, ...others } = judged.expected as Areas;
  if (circle !== null || Object.values(others).some(({ length }) => length > 0)) return null;
  const { lat, lon, inseeCodes } = judged.actual as Pick<PropertyFacts, 'lat' | 'lon' | 'inseeCodes'>;
  const place = lat === null || lon === null ? cityOf(inseeCodes[0] ?? '')?.location : { lat, lon };
  if (place === null || place === undefined) return null;
  let nearest = { km: Infinity, name: '' };
  for (const { name, location } of towns.flatMap((insee) => cityOf(insee) ?? [])) {
    const km = location === null ? Infinity : distanceKm(place.lat, place.lon, location.lat, location.lon);
    if (km < nearest.km) nearest = { km, name };
  }
  if (nearest.name === '') return null;
  const length = `${shownNumber(nearest.km, language, 1)}\u00a0km`;
  return language === 'fr'
    ? `Le bien est en dehors de la zone recherchée, à ${length} du centre de la commune la plus proche (${nearest.name}).`
    : `The property is outside the area searched, ${length} from the centre of the nearest commune (${nearest.name}).`;
}
