/**
 * Derives the alerts of a batch of changes: deliveries with the property document as of each change, and their matches.
 * A pair (search, property) without a notification is omitted. `deriveAlerts` is pure, except for new ids.
 */

import type { AdvertEvent } from '../domain/advert.ts';
import type { StoredProperty } from '../domain/change.ts';
import type { ResolvePlace } from '../domain/city.ts';
import type { NewDelivery } from '../domain/delivery.ts';
import { endpointKeyOf } from '../domain/endpoint.ts';
import { createdAtOf, type SearchNumber, timeOrderedUuid, type Uuid, uuidAfter } from '../domain/ids.ts';
import { propertyDocument } from '../domain/property-document.ts';
import { bodyHead, type Notification, notificationsOf, type SearchRoute } from '../domain/routing.ts';
import type { Statement } from '../store/database.ts';
import type { FeedEntry, FeedItem } from '../store/feed-batches.ts';
import type { MatchNotice } from '../store/match-notices.ts';
import type { KnownMatch, Match } from '../store/matches.ts';
import type { Snapshot } from '../store/snapshots.ts';
import type { EvaluatedChange } from './evaluated-change.ts';
import { eventsSeenBy, type NotifiedBefore, NotifiedSoFar } from './notified-values.ts';

/** A pair whose search is notified of a change: by webhook, only in the feed, or by a feature such as e-mail. */
export interface NotifiedPair {
  readonly route: SearchRoute;
  readonly match: Match;
  readonly change: EvaluatedChange;
  /** The events of the change that concern the search (`eventsSeenBy`). */
  readonly events: readonly AdvertEvent[];
  /** True if the property starts to satisfy the search, and no earlier change has begun this match. */
  readonly hasBegun: boolean;
}

/** How a feature records notified pairs. The engine itself writes their matches, sequences and feed rows. */
export interface PairFeature {
  /** Whether the feature records the notified pairs of this search. */
  readonly wants: (route: SearchRoute) => boolean;
  /** Returns statements for the transaction that records the pairs. */
  readonly record: (pairs: readonly NotifiedPair[], now: Date) => readonly Statement[];
  /** Called after the commit. */
  readonly onRecorded: (pairs: readonly NotifiedPair[]) => void;
}

export type AddressedDelivery = NewDelivery & { readonly endpointKey: string };

export interface Alerts {
  /** Pairs that were never notified before. */
  readonly newMatches: readonly Match[];
  /** Pairs that were notified before and are notified again, including those that begin to match now. */
  readonly changedMatches: readonly Match[];
  readonly snapshots: readonly Snapshot[];
  readonly deliveries: readonly AddressedDelivery[];
  /** Notifications of searches that have no endpoint for them. */
  readonly feedItems: readonly FeedItem[];
  /** Deliveries and feed items, by client. */
  readonly feedEntries: readonly FeedEntry[];
  /** The pairs that each feature records, in the order of the features. */
  readonly featurePairs: readonly (readonly NotifiedPair[])[];
  /** Matches that began in this batch, whether new or known. */
  readonly began: readonly Match[];
  /** The changed notified values and ends of matches, for searches that depend on them (`NotifiedSoFar`). */
  readonly notices: readonly MatchNotice[];
}

/**
 * The properties and searches whose pairs `changes` may affect, each once. `isNotifying` selects the searches to
 * include.
 */
export function touchedBy(
  changes: readonly EvaluatedChange[],
  isNotifying: (number: SearchNumber) => boolean = () => true,
) {
  const propertyUuids = new Set<Uuid>();
  const searchNumbers = new Set<SearchNumber>();
  for (const change of changes) {
    if (change.before.length + change.after.length > 0) propertyUuids.add(change.propertyUuid);
    for (const number of searchesTouchedBy(change, isNotifying)) searchNumbers.add(number);
  }
  return { propertyUuids, searchNumbers };
}

export interface AlertOptions {
  /** Every new sequence is above this number. */
  readonly sequenceFloor?: number;
  readonly features?: readonly PairFeature[];
  readonly notifiedBefore?: NotifiedBefore | null;
}

/**
 * `routes` contains the searches that notify, and null for deleted searches. Searches that it lacks are not notified.
 * `known` contains at least the stored pairs of the changed properties that a change affects.
 */
export function deriveAlerts(
  changes: readonly EvaluatedChange[],
  routes: ReadonlyMap<SearchNumber, SearchRoute | null>,
  known: readonly KnownMatch[],
  resolvePlace: ResolvePlace,
  now: Date,
  { sequenceFloor = 0, features = [], notifiedBefore = null }: AlertOptions = {},
): Alerts {
  const pairs = byProperty(known, changes);
  const notified = new Set<Pair>();
  const snapshots: Snapshot[] = [];
  const rows: AlertRows = { deliveries: [], feedItems: [], feedEntries: [] };
  const featurePairs = features.map((): NotifiedPair[] => []);
  const began = new Set<Pair>();
  const notifiedSoFar = notifiedBefore === null ? null : new NotifiedSoFar(notifiedBefore);

  for (const change of changes) {
    const { propertyUuid } = change;
    notifiedSoFar?.begin(change);
    const before = new Set(change.before.filter((number) => routes.has(number)));
    const pairsOfProperty = pairs.get(propertyUuid) as Map<SearchNumber, Pair>;
    const idsAt = notBefore(now, pairsOfProperty.values());
    const snapshotOf = snapshotter(change.stored, resolvePlace, idsAt, snapshots);
    for (const number of searchesTouchedBy(change, (each) => routes.has(each))) {
      const route = routes.get(number) ?? null;
      if (route === null) continue;
      const pair = pairsOfProperty.get(number) ?? { isKnown: false, match: null };
      const wasSatisfied = before.has(number);
      const startsNow = !wasSatisfied && pair.match?.hasBegun !== true;
      const matchId = pair.match?.id ?? null;
      const events = eventsSeenBy(route, change, { matchId, startsNow, wasSatisfied }, notifiedSoFar);
      const notifications = notificationsOf(route, events, startsNow);
      if (notifications.length === 0) continue;
      const opening = openMatch(pair.match, route, change, startsNow, now);
      const snapshotId = snapshotOf(!route.hidePropertyContact);
      const { traceparent } = change;
      const match = notifyAll(rows, notifications, route, opening, { snapshotId, traceparent, idsAt, sequenceFloor });
      pair.match = match;
      pairsOfProperty.set(number, pair);
      notified.add(pair);
      notifiedSoFar?.record(route, match, change, { events, hasBegun: startsNow });
      if (startsNow) began.add(pair);
      for (let at = 0; at < features.length; at++) {
        if (features[at]?.wants(route) !== true) continue;
        featurePairs[at]?.push({ route, match, change, events, hasBegun: startsNow });
      }
    }
  }
  const matchesOf = (written: ReadonlySet<Pair>, isKnown?: boolean): readonly Match[] =>
    [...written].filter((pair) => isKnown === undefined || pair.isKnown === isKnown).map(({ match }) => match as Match);
  return {
    newMatches: matchesOf(notified, false),
    changedMatches: matchesOf(notified, true),
    snapshots,
    ...rows,
    featurePairs,
    began: matchesOf(began),
    notices: notifiedSoFar?.written ?? [],
  };
}

/** A (search, property) pair while the batch is processed. */
interface Pair {
  /** Whether the table already has the match. */
  readonly isKnown: boolean;
  /** The match as stored, or as an earlier change in the batch has set it. */
  match: (KnownMatch & Partial<Pick<Match, 'cause'>>) | null;
}

function byProperty(
  known: readonly KnownMatch[],
  changes: readonly EvaluatedChange[],
): ReadonlyMap<Uuid, Map<SearchNumber, Pair>> {
  const pairs = new Map(changes.map(({ propertyUuid }) => [propertyUuid, new Map<SearchNumber, Pair>()]));
  for (const match of known) pairs.get(match.propertyUuid)?.set(match.searchNumber, { isKnown: true, match });
  return pairs;
}

/** The requested searches that the property begins to satisfy or, if there are events, satisfied before the change. */
function searchesTouchedBy(
  { before, after, events }: EvaluatedChange,
  isRequested: (number: SearchNumber) => boolean,
): ReadonlySet<SearchNumber> {
  if (events.length > 0) return new Set([...before.filter(isRequested), ...after.filter(isRequested)]);
  const satisfied = new Set(before.filter(isRequested));
  return new Set(after.filter((number) => isRequested(number) && !satisfied.has(number)));
}

function headOf(notification: Notification, route: SearchRoute, match: OpenMatch): string {
  const { id, createdAt, updatedAt, propertyUuid } = match;
  const record = { id, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
  return bodyHead(notification, route.id, propertyUuid, record);
}

/**
 * Returns the time for the ids of a change: now, or the time of the property's last delivery if that is later. The ids
 * of a match therefore ascend even if a clock is set back, and a snapshot's id is never above those of its deliveries.
 */
function notBefore(now: Date, pairs: Iterable<Pair>): Date {
  let last: Uuid | null = null;
  for (const { match } of pairs) {
    const id = match?.lastDeliveryId ?? null;
    if (id !== null && (last === null || id > last)) last = id;
  }
  const lastAt = last === null ? now : createdAtOf(last);
  return lastAt > now ? lastAt : now;
}

/** A match before its notifications are counted. */
type OpenMatch = Omit<Match, 'lastDeliveryId'> & { readonly lastDeliveryId: Uuid | null };

/** Copies the members by name, always in one order, because the spread syntax would take half of this stage's time. */
function openMatch(
  match: Pair['match'],
  { number, version }: SearchRoute,
  { propertyUuid, events }: EvaluatedChange,
  startsNow: boolean,
  now: Date,
): OpenMatch {
  const isCause = match === null || startsNow;
  return {
    id: match === null ? timeOrderedUuid(now) : match.id,
    searchNumber: number,
    propertyUuid,
    hasBegun: startsNow || match?.hasBegun === true,
    createdAt: isCause ? now : match.createdAt,
    updatedAt: now,
    lastSequence: match === null ? 0 : match.lastSequence,
    lastDeliveryId: match === null ? null : match.lastDeliveryId,
    cause: isCause ? { searchVersion: version, channel: startsNow ? 'match' : 'event', events } : (match.cause ?? null),
  };
}

function countNotification(match: OpenMatch, at: Date, sequenceFloor: number): Match {
  const { id, searchNumber, propertyUuid, hasBegun, createdAt, updatedAt, lastSequence, lastDeliveryId, cause } = match;
  return {
    id,
    searchNumber,
    propertyUuid,
    hasBegun,
    createdAt,
    updatedAt,
    lastSequence: Math.max(lastSequence, sequenceFloor) + 1,
    lastDeliveryId: uuidAfter(lastDeliveryId, at),
    cause,
  };
}

interface AlertRows {
  readonly deliveries: AddressedDelivery[];
  readonly feedItems: FeedItem[];
  readonly feedEntries: FeedEntry[];
}

type Recorded = Pick<NewDelivery, 'snapshotId' | 'traceparent'> & Required<Pick<AlertOptions, 'sequenceFloor'>>;

/** Adds one or more notifications; returns the match after them. */
function notifyAll(
  rows: AlertRows,
  notifications: readonly Notification[],
  route: SearchRoute,
  opening: OpenMatch,
  { snapshotId, traceparent, sequenceFloor, idsAt }: Recorded & { readonly idsAt: Date },
): Match {
  let match = opening;
  for (const notification of notifications) {
    const head = headOf(notification, route, match);
    const counting = countNotification(match, idsAt, sequenceFloor);
    notify(rows, notification, route, counting, { head, snapshotId, traceparent });
    match = counting;
  }
  return match as Match;
}

/** `match` already counts this notification. */
function notify(
  { deliveries, feedItems, feedEntries }: AlertRows,
  { channel, kind, endpoint }: Notification,
  { clientId, generation }: SearchRoute,
  match: Match,
  { head, snapshotId, traceparent }: Pick<NewDelivery, 'head' | 'snapshotId' | 'traceparent'>,
): void {
  const { searchNumber, id: matchId, lastSequence: sequence, lastDeliveryId: id } = match;
  feedEntries.push({ clientId, id, searchNumber });
  if (endpoint === null) {
    feedItems.push({ id, sequence, searchNumber, matchId, channel, kind, head, snapshotId });
  } else {
    const endpointKey = endpointKeyOf(clientId, endpoint);
    const address = { endpoint, endpointKey, traceparent, generation };
    deliveries.push({ id, sequence, searchNumber, matchId, channel, kind, head, snapshotId, ...address });
  }
}

/** Serialises the document of a change at most once with contacts and once without. */
function snapshotter(
  stored: StoredProperty,
  resolvePlace: ResolvePlace,
  at: Date,
  snapshots: Snapshot[],
): (withContacts: boolean) => Uuid {
  const ids = new Map<boolean, Uuid>();
  return (withContacts) => {
    const known = ids.get(withContacts);
    if (known !== undefined) return known;
    const document = propertyDocument(stored.state, stored.crawls, resolvePlace, { withContacts });
    const snapshot = { id: timeOrderedUuid(at), document: JSON.stringify(document) };
    ids.set(withContacts, snapshot.id);
    snapshots.push(snapshot);
    return snapshot.id;
  };
}
