/**
 * Tracks the values that searches were notified of, while a batch is processed. This concerns searches that compare
 * prices and surfaces with these values, or follow the ends and returns of matches (decisions, section 16). If a batch
 * affects no such search, nothing is read or written.
 */

import { isDeepStrictEqual } from 'node:util';
import type { AdvertEvent } from '../domain/advert.ts';
import type { Criteria } from '../domain/criterion-table.ts';
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
import { endOf, followsMatches, readEndingCriteria, resumeOf } from './match-ends.ts';

export interface NotifiedBefore {
  readonly notices: readonly MatchNotice[];
  /** In the order of the events. */
  readonly formerValues: readonly FormerValue[];
  /** The criteria of searches that may be notified of an end. */
  readonly criteria: ReadonlyMap<SearchNumber, Criteria>;
}

/** Reads what the searches of `routes` were notified of before `changes`; null if no search needs this. */
export async function readNotifiedBefore(
  client: Queryable,
  changes: readonly EvaluatedChange[],
  routes: ReadonlyMap<SearchNumber, SearchRoute | null>,
  known: readonly KnownMatch[],
): Promise<NotifiedBefore | null> {
  const comparing = new Map<SearchNumber, number>();
  const following = new Map<SearchNumber, SearchRoute>();
  for (const [number, route] of routes) {
    if (route === null) continue;
    const since = route.thresholds?.comparedSince ?? null;
    if (since !== null) comparing.set(number, since);
    if (followsMatches(route)) following.set(number, route);
  }
  if (comparing.size + following.size === 0) return null;
  const asks = ({ searchNumber: number }: KnownMatch): boolean => comparing.has(number) || following.has(number);
  const [notices, formerValues, criteria] = await Promise.all([
    readNotices(
      client,
      known.filter(asks).map(({ id }) => id),
    ),
    readFormerValues(client, comparedSince(changes, comparing)),
    readEndingCriteria(client, changes, following),
  ]);
  return { notices, formerValues, criteria };
}

/** For each property with a price or surface event, the lowest event id after which a search compares values. */
function comparedSince(
  changes: readonly EvaluatedChange[],
  comparing: ReadonlyMap<SearchNumber, number>,
): ReadonlyMap<Uuid, number> {
  const sinceByProperty = new Map<Uuid, number>();
  for (const { propertyUuid, events, before, after } of comparing.size === 0 ? [] : changes) {
    if (!events.some((event) => thresholdFieldOf(event) !== null)) continue;
    for (const number of [...before, ...after]) {
      const since = comparing.get(number) ?? Number.MAX_SAFE_INTEGER;
      if (since < (sinceByProperty.get(propertyUuid) ?? Number.MAX_SAFE_INTEGER)) {
        sinceByProperty.set(propertyUuid, since);
      }
    }
  }
  return sinceByProperty;
}

const NOTHING_NOTIFIED: Omit<MatchNotice, 'matchId'> = {
  keptSince: null,
  notified: null,
  isEnded: false,
  endedAt: null,
  endedBy: null,
  resumedAt: null,
};

export class NotifiedSoFar {
  readonly #notices: Map<Uuid, MatchNotice>;
  readonly #criteria: ReadonlyMap<SearchNumber, Criteria>;
  #satisfied: ReadonlySet<SearchNumber> = new Set();
  readonly #written = new Set<Uuid>();
  readonly #formerValues = new Map<Uuid, FormerValue[]>();

  constructor({ notices, formerValues, criteria }: NotifiedBefore) {
    this.#notices = new Map(notices.map((notice) => [notice.matchId, notice]));
    this.#criteria = criteria;
    for (const value of formerValues) this.#formerValuesOf(value.propertyUuid).push(value);
  }

  /** The notices that the batch has changed. */
  get written(): readonly MatchNotice[] {
    return [...this.#written].map((id) => this.#notices.get(id) as MatchNotice);
  }

  /** Call this first for each change, because the events of the change are not in the table yet. */
  begin({ propertyUuid, events, after }: EvaluatedChange): void {
    this.#satisfied = new Set(after);
    for (const event of events) {
      const field = thresholdFieldOf(event);
      const value = event.field?.fieldOldValue ?? null;
      if (field === null || value === null) continue;
      const { advertUuid } = event;
      const former = { id: Number.MAX_SAFE_INTEGER, propertyUuid, advertUuid, field, value: Number(value) };
      this.#formerValuesOf(propertyUuid).push(former);
    }
  }

  /** The value that the search was last notified of, or else the first known value since it began to compare. */
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

  /** Whether the property satisfies the search after the current change. */
  isSatisfied(number: SearchNumber): boolean {
    return this.#satisfied.has(number);
  }

  /** Whether the search was notified of the end of this match, and since then of no return or start. */
  isEnded(matchId: Uuid | null): boolean {
    return matchId !== null && this.#notices.get(matchId)?.isEnded === true;
  }

  criteriaOf(number: SearchNumber): Criteria | undefined {
    return this.#criteria.get(number);
  }

  /** Only events of subscribed kinds count as notified. A match that begins notifies of all live adverts. */
  record(
    route: SearchRoute,
    { id: matchId, updatedAt }: Match,
    { stored }: EvaluatedChange,
    { events, hasBegun }: { readonly events: readonly AdvertEvent[]; readonly hasBegun: boolean },
  ): void {
    const { subscribedEvents } = route;
    const { keptSince = null } = route.thresholds ?? {};
    if (keptSince === null && !followsMatches(route)) return;
    const former = this.#notices.get(matchId) ?? { ...NOTHING_NOTIFIED, matchId };
    const values = new Map(Object.entries(this.#notifiedOf(matchId, keptSince))) as Map<Uuid, NotifiedValues[Uuid]>;
    let next = hasBegun ? { ...former, isEnded: false } : former;
    for (const { uuid, content } of hasBegun ? stored.state.adverts.filter(isLive) : []) {
      const [price, surface] = values.get(uuid) ?? [null, null];
      values.set(uuid, [content.price ?? price, content.surface ?? surface]);
    }
    for (const event of events) {
      if (!subscribedEvents.includes(event.kind)) continue;
      const field = thresholdFieldOf(event);
      if (field !== null) setValue(values, event, field);
      else if (event.kind === 'property.match.resume') next = { ...next, isEnded: false, resumedAt: updatedAt };
      else if (event.kind === 'property.match.end') {
        next = { ...next, isEnded: true, endedAt: updatedAt, endedBy: event.field?.fieldName ?? null };
      }
    }
    if (keptSince !== null && values.size > 0) next = { ...next, keptSince, notified: Object.fromEntries(values) };
    if (next === former || (!this.#notices.has(matchId) && isDeepStrictEqual(next, former))) return;
    this.#notices.set(matchId, next);
    this.#written.add(matchId);
  }

  #notifiedOf(matchId: Uuid | null, keptSince: number | null): NotifiedValues {
    const notice = matchId === null || keptSince === null ? undefined : this.#notices.get(matchId);
    return notice?.keptSince === keptSince ? (notice?.notified ?? {}) : {};
  }

  #formerValuesOf(propertyUuid: Uuid): FormerValue[] {
    const values = this.#formerValues.get(propertyUuid) ?? [];
    this.#formerValues.set(propertyUuid, values);
    return values;
  }
}

/** Ignores an unknown value, so that the next known value is compared with the last known value. */
function setValue(
  values: Map<Uuid, NotifiedValues[Uuid]>,
  { advertUuid, field }: AdvertEvent,
  name: ThresholdField,
): void {
  const [price, surface] = values.get(advertUuid) ?? [null, null];
  const value = field?.fieldNewValue ?? null;
  if (value === null) return;
  const next = { price, surface, [name]: Number(value) };
  values.set(advertUuid, [next.price, next.surface]);
}

export interface PairAtChange {
  readonly matchId: Uuid | null;
  readonly startsNow: boolean;
  readonly wasSatisfied: boolean;
}

/**
 * The events of a change that concern a search, in order: return of its match, events that reach its thresholds, end of
 * the match. The search is notified of those that it subscribes to. Its first notified event may create the match.
 */
export function eventsSeenBy(
  route: SearchRoute,
  change: EvaluatedChange,
  { matchId, startsNow, wasSatisfied }: PairAtChange,
  soFar: NotifiedSoFar | null,
): readonly AdvertEvent[] {
  const { propertyUuid, former, stored, events } = change;
  if (events.length === 0) return events;
  let reaching = events;
  if (route.thresholds !== null) {
    const states = { before: (former ?? stored).state, after: stored.state };
    const valuesOf = soFar?.valuesFor(route, propertyUuid, matchId) ?? (() => null);
    reaching = eventsReaching(route.thresholds.fields, events, states, valuesOf);
  }
  if (soFar === null || !followsMatches(route)) return reaching;
  const isSatisfied = soFar.isSatisfied(route.number);
  const resumes = isSatisfied && !startsNow && soFar.isEnded(matchId);
  const isMatch = matchId !== null || reaching.some(({ kind }) => route.subscribedEvents.includes(kind));
  const end = isMatch && wasSatisfied && !isSatisfied ? endOf(change, soFar.criteriaOf(route.number)) : null;
  return [...(resumes ? [resumeOf(change)] : []), ...reaching, ...(end === null ? [] : [end])];
}
