/**
 * What searches that compare prices and surfaces with what they were notified of (decisions, section 16) were notified
 * of, while a batch is processed. Nothing is read and nothing written where a batch touches no such search.
 */

import type { AdvertEvent } from '../domain/advert.ts';
import {
  eventsReaching,
  type NotifiedValue,
  THRESHOLD_FIELDS,
  type ThresholdField,
  thresholdFieldOf,
} from '../domain/event-thresholds.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import { isLive } from '../domain/property.ts';
import type { SearchRoute } from '../domain/routing.ts';
import type { Queryable } from '../store/database.ts';
import {
  type FormerValue,
  type MatchNotice,
  type NotifiedValues,
  readFormerValues,
  readNotices,
} from '../store/match-notices.ts';
import type { KnownMatch, Match } from '../store/matches.ts';
import type { EvaluatedChange } from './evaluated-change.ts';

export interface NotifiedBefore {
  readonly notices: readonly MatchNotice[];
  /** In the order of their events. */
  readonly formerValues: readonly FormerValue[];
}

/** What `routes` were notified of before `changes`; null when none of them compares. */
export async function readNotifiedBefore(
  client: Queryable,
  changes: readonly EvaluatedChange[],
  routes: ReadonlyMap<SearchNumber, SearchRoute | null>,
  known: readonly KnownMatch[],
): Promise<NotifiedBefore | null> {
  const comparing = new Map<SearchNumber, number>();
  for (const [number, route] of routes) {
    const since = route?.thresholds?.comparedSince ?? null;
    if (since !== null) comparing.set(number, since);
  }
  if (comparing.size === 0) return null;
  const afterByProperty = new Map<Uuid, number>();
  for (const { propertyUuid, events, before, after } of changes) {
    if (!events.some((event) => thresholdFieldOf(event) !== null)) continue;
    const [earliest = Number.MAX_SAFE_INTEGER] = [...before, ...after]
      .flatMap((number) => comparing.get(number) ?? [])
      .sort((a, b) => a - b);
    const present = afterByProperty.get(propertyUuid) ?? Number.MAX_SAFE_INTEGER;
    if (earliest < present) afterByProperty.set(propertyUuid, earliest);
  }
  const matchIds = known.filter(({ searchNumber }) => comparing.has(searchNumber)).map(({ id }) => id);
  const [notices, formerValues] = await Promise.all([
    readNotices(client, matchIds),
    readFormerValues(client, afterByProperty),
  ]);
  return { notices, formerValues };
}

export class NotifiedSoFar {
  readonly #notices: Map<Uuid, MatchNotice>;
  readonly #written = new Set<Uuid>();
  readonly #formerValues = new Map<Uuid, FormerValue[]>();

  constructor({ notices, formerValues }: NotifiedBefore) {
    this.#notices = new Map(notices.map((notice) => [notice.matchId, notice]));
    for (const value of formerValues) this.#formerValuesOf(value.propertyUuid).push(value);
  }

  /** Those that the batch has changed. */
  get written(): readonly MatchNotice[] {
    return [...this.#written].map((id) => this.#notices.get(id) as MatchNotice);
  }

  /** Once for each change, before its routes: its events are not in the table yet. */
  begin({ propertyUuid, events }: EvaluatedChange): void {
    for (const event of events) {
      const field = thresholdFieldOf(event);
      const value = event.field?.fieldOldValue ?? null;
      if (field === null || value === null) continue;
      const { advertUuid } = event;
      const former = { id: Number.MAX_SAFE_INTEGER, propertyUuid, advertUuid, field, value: Number(value) };
      this.#formerValuesOf(propertyUuid).push(former);
    }
  }

  /** The value that the search was last notified of, else the first known one since it compares. */
  valuesFor({ thresholds }: SearchRoute, propertyUuid: Uuid, matchId: Uuid | null): NotifiedValue {
    const { keptSince = null, comparedSince = null } = thresholds ?? {};
    const notified = this.#notifiedOf(matchId, keptSince);
    return (advertUuid, field) => {
      const isFirst = (one: FormerValue): boolean =>
        one.advertUuid === advertUuid && one.field === field && comparedSince !== null && one.id > comparedSince;
      const last = notified[advertUuid]?.[THRESHOLD_FIELDS.indexOf(field)] ?? null;
      return last ?? this.#formerValuesOf(propertyUuid).find(isFirst)?.value ?? null;
    };
  }

  /** `events`: what the search saw of the change. A match that begins notifies of all live adverts. */
  record(
    { thresholds, subscribedEvents }: SearchRoute,
    match: Pick<Match, 'id'>,
    { held }: EvaluatedChange,
    { events, hasBegun }: { readonly events: readonly AdvertEvent[]; readonly hasBegun: boolean },
  ): void {
    const { keptSince = null } = thresholds ?? {};
    if (keptSince === null) return;
    const values = new Map(Object.entries(this.#notifiedOf(match.id, keptSince)));
    const of = (uuid: Uuid, changed: Partial<Record<ThresholdField, number | null>>): void => {
      const [price, surface] = values.get(uuid) ?? [null, null];
      const next = { price, surface, ...changed };
      values.set(uuid, [next.price, next.surface]);
      this.#written.add(match.id);
    };
    for (const { uuid, content } of hasBegun ? held.state.adverts.filter(isLive) : []) {
      of(uuid, { price: content.price, surface: content.surface });
    }
    for (const event of events) {
      const field = thresholdFieldOf(event);
      if (field === null || !subscribedEvents.includes(event.kind)) continue;
      const { fieldNewValue = null } = event.field ?? {};
      of(event.advertUuid, { [field]: fieldNewValue === null ? null : Number(fieldNewValue) });
    }
    this.#notices.set(match.id, { matchId: match.id, keptSince, notified: Object.fromEntries(values) });
  }

  #notifiedOf(matchId: Uuid | null, keptSince: number | null): NotifiedValues {
    const notice = matchId === null ? undefined : this.#notices.get(matchId);
    return notice === undefined || notice.keptSince !== keptSince ? {} : notice.notified;
  }

  #formerValuesOf(propertyUuid: Uuid): FormerValue[] {
    const values = this.#formerValues.get(propertyUuid) ?? [];
    this.#formerValues.set(propertyUuid, values);
    return values;
  }
}

/** The events of a change that a search sees: those that reach its thresholds. */
export function eventsSeenBy(
  route: SearchRoute,
  { propertyUuid, former, held, events }: EvaluatedChange,
  matchId: Uuid | null,
  notified: NotifiedSoFar | null,
): readonly AdvertEvent[] {
  if (route.thresholds === null || events.length === 0) return events;
  const valuesOf = notified?.valuesFor(route, propertyUuid, matchId) ?? (() => null);
  const states = { before: (former ?? held).state, after: held.state };
  return eventsReaching(route.thresholds.fields, events, states, valuesOf);
}
