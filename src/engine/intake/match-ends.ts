/**
 * Finds ends of matches and creates the events of ends and returns, for searches that subscribe to them (decisions,
 * section 16). A match ends if a change with events, except an expiry, makes a live property fail the search.
 */

import type { AdvertEvent, FieldChange } from '../domain/advert.ts';
import { criterionReason, type Evaluation, endValue, evaluate } from '../domain/criteria.ts';
import type { Criteria, CriterionName } from '../domain/criterion-table.ts';
import type { SearchNumber } from '../domain/ids.ts';
import type { SearchRoute } from '../domain/routing.ts';
import { criteriaOf } from '../domain/search.ts';
import type { Queryable } from '../store/database.ts';
import { readMembers } from '../store/pairs.ts';
import { siteCategoryNames } from '../store/site-categories.ts';
import type { EvaluatedChange } from './evaluated-change.ts';

const END = 'property.match.end';
const RESUME = 'property.match.resume';

/** Whether the search subscribes to ends or returns of its matches. */
export function followsMatches({ subscribedEvents }: SearchRoute): boolean {
  return subscribedEvents.includes(END) || subscribedEvents.includes(RESUME);
}

function mayEnd({ events, facts }: EvaluatedChange): boolean {
  return events.length > 0 && facts.after !== null && events.every(({ kind }) => kind !== 'ad.update.expired');
}

/** The criteria of the searches in `following` that may be notified of an end by these changes. */
export async function readEndingCriteria(
  client: Queryable,
  changes: readonly EvaluatedChange[],
  following: ReadonlyMap<SearchNumber, SearchRoute>,
): Promise<ReadonlyMap<SearchNumber, Criteria>> {
  const ending = new Set<SearchNumber>();
  for (const change of changes.filter(mayEnd)) {
    const before = change.before.filter((number) => following.get(number)?.subscribedEvents.includes(END));
    const after = before.length === 0 ? null : new Set(change.after);
    for (const number of before) if (after?.has(number) === false) ending.add(number);
  }
  if (ending.size === 0) return new Map();
  const [members, nameOf] = await Promise.all([readMembers(client, [...ending]), siteCategoryNames(client)]);
  return new Map([...members].map(([number, each]) => [number, criteriaOf(each, nameOf)]));
}

/** The values of these criteria are omitted: many mean nothing without context, and names are personal. */
const WITHOUT_VALUES: readonly CriterionName[] = [
  'areas',
  'excludedAreas',
  'includedPublishers',
  'pointsOfInterest',
  'expressions',
  'alternatives',
];
const VALUE_LENGTH_MAX = 200;

/** The end of a match, with the first criterion that fails after the change; null if the change does not end it. */
export function endOf(change: EvaluatedChange, criteria: Criteria | undefined): AdvertEvent | null {
  const { before, after } = change.facts;
  if (criteria === undefined || before === null || after === null || !mayEnd(change)) return null;
  const former = evaluate(criteria, before);
  const failing = evaluate(criteria, after).find(({ holds }) => !holds);
  if (failing === undefined || former.some(({ holds }) => !holds)) return null;
  const { criterion } = failing;
  const [was] = former.filter((one) => one.criterion === criterion);
  const hasValues = was !== undefined && !WITHOUT_VALUES.includes(criterion);
  const [fieldOldValue, fieldNewValue] = hasValues ? [was, failing].map(valueOf) : [null, null];
  return eventOf(change, END, {
    fieldName: criterion,
    fieldOldValue: fieldOldValue ?? null,
    fieldNewValue: fieldNewValue ?? null,
    percentVariation: null,
    reason: { fr: criterionReason(failing, 'fr'), en: criterionReason(failing, 'en') },
  });
}

export function resumeOf(change: EvaluatedChange): AdvertEvent {
  return eventOf(change, RESUME, null);
}

function eventOf({ events }: EvaluatedChange, kind: AdvertEvent['kind'], field: FieldChange | null): AdvertEvent {
  const { advertUuid, createdAt } = events[0] as AdvertEvent;
  return { kind, advertUuid, createdAt, field };
}

/** Null above `VALUE_LENGTH_MAX`, because a truncated JSON text would mislead its reader. */
function valueOf(evaluation: Evaluation): string | null {
  const value = endValue(evaluation);
  if (value === null || value === undefined) return null;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= VALUE_LENGTH_MAX ? text : null;
}
