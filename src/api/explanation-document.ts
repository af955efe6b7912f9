/** Judgements as clients read them: values short enough to be shown, whatever a search or a property is made of. */

import type { Areas, Judgement } from '../domain/criteria.ts';
import { isRangeName } from '../domain/criterion-names.ts';
import { criterionReason, type Language } from '../domain/criterion-words.ts';
import { type Expressions, entryHolds } from '../domain/expressions.ts';
import { foldTexts } from '../domain/folded-text.ts';
import type { Uuid } from '../domain/ids.ts';
import { propertyIri } from '../domain/property-document.ts';
import { searchIri } from './search-document.ts';

export interface Explained {
  readonly searchId: Uuid;
  readonly propertyUuid: Uuid;
  readonly judgements: readonly Judgement[];
  readonly matchId: Uuid | null;
  readonly matchReason: string;
  readonly deliveryIds: readonly Uuid[];
}

export function explanationDocument(explained: Explained, language: Language): object {
  const { searchId, propertyUuid, judgements, matchId, matchReason, deliveryIds } = explained;
  return {
    '@context': '/contexts/Explanation',
    '@id': `${searchIri(searchId)}/explanation?property=${propertyUuid}`,
    '@type': 'Explanation',
    search: searchIri(searchId),
    property: propertyIri(propertyUuid),
    satisfied: judgements.every(({ holds }) => holds),
    criteria: judgements.map((judgement) => ({
      criterion: judgement.criterion,
      ...shownValues(judgement),
      holds: judgement.holds,
      reason: criterionReason(judgement, language),
    })),
    match: matchId === null ? null : `/matches/${matchId}`,
    matchReason,
    deliveries: deliveryIds.map((id) => `/deliveries/${id}`),
  };
}

/** What was asked for and what there is. A search may name thousands of cities: the first of a long list are shown. */
export function shownValues({ criterion, expected, actual }: Judgement): { expected: unknown; actual: unknown } {
  if (criterion === 'liveAdvert') return { expected: { min: 1 }, actual };
  if (criterion === 'areas') return { expected: shownAreas(expected as Areas), actual };
  if (criterion === 'expressions') return shownExpressions(expected as Expressions, actual as readonly string[]);
  if (!isRangeName(criterion) || criterion === 'advertPrice')
    return { expected: shown(expected), actual: shown(actual) };
  const [value = null] = actual as readonly (number | null)[];
  return { expected, actual: value };
}

const LISTED_MAX = 50;

function shown(value: unknown): unknown {
  return Array.isArray(value) ? value.slice(0, LISTED_MAX) : value;
}

function shownAreas({ circle, inseeCodes, departmentCodes, zipcodes, polygons }: Areas): object {
  return {
    circle,
    inseeCodes: shown(inseeCodes),
    departmentCodes: shown(departmentCodes),
    zipcodes: shown(zipcodes),
    polygons: polygons.length,
  };
}

/** Texts are in the property's document; here is which words they have. */
function shownExpressions(expected: Expressions, texts: readonly string[]): { expected: unknown; actual: unknown } {
  const text = foldTexts(texts);
  return {
    expected,
    actual: expected.map((group) =>
      group.map((entry) => ({ word: entry.word, found: entryHolds({ ...entry, includes: true }, text) })),
    ),
  };
}
