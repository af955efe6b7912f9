/**
 * Derives the history of a search and a property from their match, the versions of the search, and the events of the
 * property. `walk` moves back from a moment at which the property is known to satisfy the search. Facts that may have
 * changed without a record count as unknown. If the property may have begun to satisfy the search at several moments,
 * for different reasons, the result is "not recorded".
 */

import { isDeepStrictEqual } from 'node:util';
import { firstMet } from '../../engine/domain/alternatives-criterion.ts';
import type { EventKind } from '../../engine/domain/codes.ts';
import { branchesOf, type Evaluation, failuresOf, without } from '../../engine/domain/criteria.ts';
import { UNBOUNDED } from '../../engine/domain/criterion-kinds.ts';
import type { Criteria } from '../../engine/domain/criterion-table.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import type { PropertyFacts } from '../../engine/domain/property-facts.ts';
import { beforeLastChange, type PropertySummary } from '../../engine/domain/property-summary.ts';

/** An event of the change that caused a match. */
export interface CausingEvent {
  readonly kind: EventKind;
  readonly advert?: Uuid;
  readonly field?: string;
  readonly was?: string | null;
  readonly is?: string | null;
}

/** The recorded events of one message. */
export interface RecordedMessage {
  readonly at: Date;
  readonly events: readonly CausingEvent[];
}

/** A search between two recorded changes. */
export interface SearchVersion {
  readonly version: number;
  /** Null if its beginning is no longer recorded. */
  readonly from: Date | null;
  readonly criteria: Criteria;
  readonly isNotifying: boolean;
  readonly hasMatchEndpoint: boolean;
  readonly hasEventEndpoint: boolean;
  readonly hasMailRecipient: boolean;
  readonly subscribedEvents: readonly EventKind[];
}

export interface PairMatch {
  /** When the match began or, if the property already satisfied the search, when it was first notified. */
  readonly createdAt: Date;
  readonly hasBegun: boolean;
  readonly channel: 'match' | 'event';
  readonly searchVersion: number;
  readonly cause: readonly CausingEvent[];
  /** The last notified end of the match (`endedBy`: the criterion that failed) and its last notified return. */
  readonly endedAt: Date | null;
  readonly endedBy: string | null;
  readonly resumedAt: Date | null;
}

export interface PairHistory {
  readonly evaluations: readonly Evaluation[];
  readonly match: PairMatch | null;
  /** Oldest first; the current version is last. */
  readonly versions: readonly SearchVersion[];
  readonly deletedAt: Date | null;
  /** True if the recipient has unsubscribed from e-mails. */
  readonly isUnsubscribed: boolean;
  /** Newest first, as far back as events are kept. */
  readonly messages: readonly RecordedMessage[];
  readonly heldSince: Date;
  /** Earlier events were removed or not read; null if there are none. */
  readonly keptSince: Date | null;
  readonly summary: PropertySummary;
  /** Derives the facts that matching uses from a summary of this property. */
  readonly factsOf: (summary: PropertySummary) => PropertyFacts;
  /** True with several adverts: crawls may then change, without a record, which one represents the property. */
  readonly hasSeveralAdverts: boolean;
  /** True if events give the former price and surface: the property has one advert and does not state them itself. */
  readonly isRetraceable: boolean;
  /**
   * When the median that decides the price's coherence changed after the last change of the property. Null if it did
   * not change, or if it is not decisive.
   */
  readonly medianMovedAt: Date | null;
  /** Likewise for the market with which `marketDifference` compares. */
  readonly marketMovedAt: Date | null;
  /** True if a delivery was cancelled. */
  readonly isCancelled: boolean;
  /** True if a delivery waits for a paused endpoint. */
  readonly isPaused: boolean;
  /** False if past deliveries are no longer kept. */
  readonly areDeliveriesKept: boolean;
}

/** These codes are stable, because clients distinguish reasons by them. */
export const PAIR_REASON_CODES = [
  'satisfied',
  'unsatisfied',
  'price-incoherent',
  'median-moved',
  'not-notified',
  'began',
  'began-with-advert',
  'began-by-price',
  'began-by-surface',
  'notified-of-event',
  'stood-when-created',
  'stood-when-changed',
  'began-while-silent',
  'not-recorded',
  'left',
  'came-back',
  'end-notified',
  'return-notified',
  'not-subscribed',
  'no-endpoint',
  'cancelled',
  'paused',
  'unsubscribed',
  'deliveries-forgotten',
  'notifications-off',
  'search-deleted',
  'by-alternative',
] as const;
export type PairReasonCode = (typeof PAIR_REASON_CODES)[number];

export interface PairReason {
  readonly code: PairReasonCode;
  /** When it happened; null if unknown, or for a current state. */
  readonly at: Date | null;
  readonly was?: string | null;
  readonly is?: string | null;
  /** The criterion that has failed, or the number of the alternative that holds. */
  readonly criterion?: string | null;
}

export function pairReasons(history: PairHistory): readonly PairReason[] {
  const { evaluations, match } = history;
  const failing = evaluations.filter(({ holds }) => !holds).map(({ criterion }) => criterion);
  const isSatisfied = failing.length === 0;
  const isIncoherent = failing.length === 1 && failing[0] === 'withCoherentPrice';
  const unsatisfied = isIncoherent ? 'price-incoherent' : 'unsatisfied';
  const reasons: PairReason[] =
    match === null
      ? [now(isSatisfied ? 'satisfied' : unsatisfied), now('not-notified'), ...(isSatisfied ? silenceOf(history) : [])]
      : [
          ...startOf(history, match),
          ...followUpsOf(match),
          ...(isSatisfied ? sinceOf(history, match) : [now('left'), now(unsatisfied)]),
        ];
  const alternative = isSatisfied ? evaluations.find(({ criterion }) => criterion === 'alternatives') : undefined;
  if (alternative !== undefined) {
    const number = firstMet(alternative as Parameters<typeof firstMet>[0]);
    reasons.push({ code: 'by-alternative', at: null, criterion: String(number) });
  }
  return [...reasons, ...medianOf(history, reasons), ...sendingOf(history), ...currentStateOf(history)];
}

/** In the order of their notifications. */
function followUpsOf({ endedAt, endedBy, resumedAt }: PairMatch): readonly PairReason[] {
  const end = endedAt === null ? [] : [{ code: 'end-notified', at: endedAt, criterion: endedBy } as const];
  if (resumedAt === null) return end;
  const resumed = { code: 'return-notified', at: resumedAt } as const;
  return endedAt !== null && endedAt > resumedAt ? [resumed, ...end] : [...end, resumed];
}

function now(code: PairReasonCode): PairReason {
  return { code, at: null };
}

/** An alert and the current evaluation may disagree because they used different medians. */
function medianOf(
  { evaluations, match, medianMovedAt, marketMovedAt }: PairHistory,
  reasons: readonly PairReason[],
): readonly PairReason[] {
  const isUnexplained = match === null && reasons.some(({ code }) => code === 'not-recorded');
  const moved = evaluations.flatMap(({ criterion, holds }) => {
    const at = criterion === 'withCoherentPrice' ? medianMovedAt : criterion === 'marketDifference' && marketMovedAt;
    return at && (!holds || isUnexplained) ? at : [];
  });
  const [at] = moved.sort((a, b) => b.getTime() - a.getTime());
  return at === undefined ? [] : [{ code: 'median-moved', at }];
}

/** Explains why a property that satisfies the search has no match. */
function silenceOf(history: PairHistory): readonly PairReason[] {
  return [beginningOf(walk(history, history.summary, null)), ...unsubscribedOf(history, history.messages)];
}

/** `not-subscribed` if the search subscribes to none of the events in `messages` since its current version began. */
function unsubscribedOf({ versions }: PairHistory, messages: readonly RecordedMessage[]): readonly PairReason[] {
  const { from, isNotifying, subscribedEvents } = versions.at(-1) as SearchVersion;
  const kinds = messages
    .filter(({ at }) => from !== null && at > from)
    .flatMap(({ events }) => events.map((e) => e.kind));
  // If the search subscribes to one, the property failed at that time, because medians or adverts were different.
  const isUnsubscribed = isNotifying && kinds.length > 0 && !kinds.some((kind) => subscribedEvents.includes(kind));
  return isUnsubscribed ? [now('not-subscribed')] : [];
}

function startOf(history: PairHistory, match: PairMatch): readonly PairReason[] {
  const { versions, messages } = history;
  const { createdAt: at, cause, searchVersion, hasBegun, channel } = match;
  const version = versions.find((one) => one.version === searchVersion);
  const hasEndpoint = channel === 'match' ? version?.hasMatchEndpoint : version?.hasEventEndpoint;
  const isUnsent = hasEndpoint === false && version?.hasMailRecipient === false;
  const sent = isUnsent ? [{ code: 'no-endpoint', at } as const] : [];
  const place = causeOf(history, match);
  if (!hasBegun) {
    const walked =
      place === -1 ? NOTHING : walk(history, retraced(history.summary, messages.slice(0, place + 1)), match);
    return [{ code: 'notified-of-event', at }, beginningOf(walked), ...sent];
  }
  if (cause.some(({ kind }) => kind === 'property.ad.create')) return [{ code: 'began-with-advert', at }, ...sent];
  const decisive = version === undefined || place === -1 ? null : decisiveOf(history, version, place);
  if (decisive === null) return [{ code: 'began', at }, now('not-recorded'), ...sent];
  const code = decisive.field === 'price' ? 'began-by-price' : 'began-by-surface';
  return [{ code, at, was: decisive.was ?? null, is: decisive.is ?? null }, ...sent];
}

/** The one value that made the property satisfy the search; null if it is unknown, or if several did together. */
function decisiveOf(history: PairHistory, { criteria }: SearchVersion, place: number): CausingEvent | null {
  const { messages, summary, factsOf, isRetraceable } = history;
  if (!isRetraceable) return null;
  const after = retraced(summary, messages.slice(0, place));
  if (failsMeasured(criteria, factsOf(after))) return null;
  const decisive = (messages[place] as RecordedMessage).events.filter(
    (event) => isMeasure(event) && failsMeasured(criteria, factsOf(undone(after, event))),
  );
  return decisive.length === 1 ? (decisive[0] as CausingEvent) : null;
}

/** Explains why changes after the match were not notified. */
function sinceOf(history: PairHistory, match: PairMatch): readonly PairReason[] {
  const returned = returnOf(history, match);
  if (returned.length > 0) return returned;
  return unsubscribedOf(history, history.messages.slice(0, Math.max(0, causeOf(history, match))));
}

/** Explains why a property that stopped matching and matches again is not notified: a match is notified only once. */
function returnOf(history: PairHistory, match: PairMatch): readonly PairReason[] {
  if (!match.hasBegun || match.resumedAt !== null) return [];
  const place = causeOf(history, match);
  const messages = history.messages.filter(({ at }, i) => (place === -1 ? at > match.createdAt : i < place));
  // A return causes no match, even if the search notifies, so every possible moment is a candidate.
  const versions = history.versions.map((version) => ({ ...version, isNotifying: false }));
  const { end, candidates } = walk({ ...history, messages, versions }, history.summary, null, match.searchVersion);
  return end === null ? [] : [{ code: 'came-back', at: candidates.length === 1 ? end : null }];
}

function sendingOf({ isCancelled, isPaused, areDeliveriesKept }: PairHistory): readonly PairReason[] {
  return [
    ...(isCancelled ? [now('cancelled')] : []),
    ...(isPaused ? [now('paused')] : []),
    ...(areDeliveriesKept ? [] : [now('deliveries-forgotten')]),
  ];
}

function currentStateOf({ versions, deletedAt, isUnsubscribed }: PairHistory): readonly PairReason[] {
  return [
    ...(isUnsubscribed ? [now('unsubscribed')] : []),
    ...(versions.at(-1)?.isNotifying === true ? [] : [now('notifications-off')]),
    ...(deletedAt === null ? [] : [{ code: 'search-deleted', at: deletedAt } as const]),
  ];
}

/** Index of the message that caused a match: the nearest in time with the same events; -1 if it is no longer kept. */
function causeOf({ messages, keptSince }: PairHistory, { cause, createdAt }: PairMatch): number {
  if (keptSince !== null && createdAt < keptSince) return -1;
  const away = ({ at }: RecordedMessage): number => Math.abs(at.getTime() - createdAt.getTime());
  const alike = messages.filter(({ events }) => cause.length > 0 && isDeepStrictEqual(events, cause));
  const [nearest] = alike.sort((a, b) => away(a) - away(b));
  return nearest === undefined ? -1 : messages.indexOf(nearest);
}

/** When the property may have begun to satisfy the search, found by walking back. */
interface Walk {
  readonly candidates: readonly PairReason[];
  /** The property certainly did not satisfy the search before this moment; null if there is no such moment. */
  readonly end: Date | null;
}

const NOTHING: Walk = { candidates: [now('not-recorded')], end: null };

function beginningOf({ candidates }: Walk): PairReason {
  const [first, ...others] = candidates;
  if (first === undefined || others.some(({ code }) => code !== first.code)) return now('not-recorded');
  return others.length === 0 ? first : now(first.code);
}

/**
 * Walks back to the beginning of version `toVersion`. It starts when the property, as in `summary`, satisfies the
 * search: now or, with `match`, just before the change that caused the match. While a search notifies, every beginning
 * causes a match, so a beginning without a match is in another period.
 */
function walk(history: PairHistory, summary: PropertySummary, match: PairMatch | null, toVersion = -1): Walk {
  const { factsOf, hasSeveralAdverts, isRetraceable, heldSince, keptSince } = history;
  const versions = history.versions.filter(({ version }) => match === null || version <= match.searchVersion);
  const messages = match === null ? history.messages : history.messages.slice(causeOf(history, match) + 1);
  const candidates: PairReason[] = [];
  let present = summary;
  let isExact = match === null && !hasSeveralAdverts;
  const certainlyFails = (criteria: Criteria): boolean =>
    isExact ? failsNow(criteria, factsOf(present)) : isRetraceable && failsMeasured(criteria, factsOf(present));
  let next = 0;
  for (let i = versions.length - 1; i >= 0; i--) {
    const { version, criteria, isNotifying, from } = versions[i] as SearchVersion;
    if (hasSeveralAdverts && !isNotifying) candidates.push(now('began-while-silent'));
    for (; next < messages.length; next++) {
      const { at, events } = messages[next] as RecordedMessage;
      if (from !== null && at < from) break;
      const isFirst = next === messages.length - 1 && at <= heldSince;
      present = retraced(present, messages.slice(next, next + 1));
      isExact = isExact && events.every(({ kind }) => RETRACES[kind] === 'nothing');
      const wasAway = isRetraceable && messages[next + 1]?.events.some(({ kind }) => RETRACES[kind] === 'presence');
      const isEnd = isFirst || wasAway === true || certainlyFails(criteria);
      if (!isNotifying) candidates.push({ code: 'began-while-silent', at });
      else if (isEnd) candidates.push(now('not-recorded'));
      if (isEnd) return { candidates, end: at };
    }
    if (version <= toVersion) return { candidates, end: null };
    const former = versions[i - 1];
    if (from === null || (keptSince !== null && from < keptSince)) break;
    if (former === undefined)
      return { candidates: [...candidates, { code: 'stood-when-created', at: from }], end: from };
    if (isDeepStrictEqual(criteria, former.criteria)) continue;
    const isEnd = certainlyFails(former.criteria);
    if (isEnd || !isExact) candidates.push({ code: 'stood-when-changed', at: from });
    if (isEnd) return { candidates, end: from };
  }
  return { candidates: [...candidates, now('not-recorded')], end: null };
}

/** Criteria whose values events record. */
const MEASURED: readonly string[] = ['budget', 'pricePerMeter', 'surface'];

function failsMeasured(criteria: Criteria, facts: PropertyFacts): boolean {
  return branchesOf(criteria).every((branch) =>
    failuresOf(branch, facts, Number.POSITIVE_INFINITY).some((name) => MEASURED.includes(name)),
  );
}

/** The criteria that compare with medians and points of interest, which may have been different at other times. */
const MOVING = { withCoherentPrice: false, marketDifference: UNBOUNDED, pointsOfInterest: [] };

function failsNow(criteria: Criteria, facts: PropertyFacts): boolean {
  return failuresOf(without(criteria, MOVING), facts, 1).length > 0;
}

/** The former facts that an event reveals: a value, nothing (no fact changed), the presence, or only a part. */
const RETRACES: Readonly<Record<EventKind, 'value' | 'nothing' | 'presence' | 'part'>> = {
  'ad.update.price': 'value',
  'ad.update.surface': 'value',
  'ad.update.pictures': 'nothing',
  'ad.update.expired': 'presence',
  // The preceding message is the expiry.
  'ad.update.reactivated': 'nothing',
  'property.ad.create': 'part',
  'property.ad.update': 'part',
  'property.match.end': 'nothing',
  'property.match.resume': 'nothing',
};

function isMeasure({ kind }: CausingEvent): boolean {
  return RETRACES[kind] === 'value';
}

/** The property before `messages` (newest first), as far as events show. */
function retraced(summary: PropertySummary, messages: readonly RecordedMessage[]): PropertySummary {
  return messages.flatMap(({ events }) => events.filter(isMeasure).toReversed()).reduce(undone, summary);
}

function undone(summary: PropertySummary, { advert, field, was, is }: CausingEvent): PropertySummary {
  const values = { was: numberOf(was), is: numberOf(is) };
  const change = { at: '', advert: advert as Uuid, field: field as 'price' | 'surface', ...values };
  return { ...(beforeLastChange({ ...summary, changes: [change] }) as PropertySummary), changes: [] };
}

function numberOf(text: string | null | undefined): number | null {
  return text === null || text === undefined ? null : Number(text);
}
