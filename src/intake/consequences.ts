/**
 * What a batch of judged changes leads to: matches that begin, matches that hear of an event, and deliveries with the
 * property document as it was at each change. Pure, but for fresh identifiers.
 */

import type { AdvertEvent } from '../domain/advert.ts';
import type { HeldProperty } from '../domain/change.ts';
import type { ResolvePlace } from '../domain/city.ts';
import type { NewDelivery } from '../domain/delivery.ts';
import { endpointKeyOf } from '../domain/endpoint.ts';
import { createdAtOf, type SearchNumber, timeOrderedUuid, type Uuid, uuidAfter } from '../domain/ids.ts';
import { type MailNotice, mailItemContent, mailNoticesOf, type NewMailItem } from '../domain/mail-item.ts';
import { type PropertyDocument, propertyDocument } from '../domain/property-document.ts';
import { bodyHead, type Notice, noticesOf, type SearchRoute } from '../domain/routing.ts';
import type { FeedEntry, FeedItem } from '../store/feed-batches.ts';
import type { KnownMatch, Match } from '../store/matches.ts';
import type { Snapshot } from '../store/snapshots.ts';

/** A change with the searches that the property satisfied before and after it. */
export interface JudgedChange {
  readonly propertyUuid: Uuid;
  readonly held: HeldProperty;
  readonly events: readonly AdvertEvent[];
  readonly before: readonly SearchNumber[];
  readonly after: readonly SearchNumber[];
  /** The trace that the change's message belongs to. */
  readonly traceparent: string | null;
}

export type AddressedDelivery = NewDelivery & { readonly endpointKey: string };

export interface Consequences {
  readonly newMatches: readonly Match[];
  /** Known ones that begin now, or whose search is told. */
  readonly changedMatches: readonly Match[];
  /** Known ones that only hear of an event: nearly all of those that a change touches. */
  readonly heardMatches: readonly Match[];
  readonly snapshots: readonly Snapshot[];
  readonly deliveries: readonly AddressedDelivery[];
  /** What is told to searches without an endpoint for it. */
  readonly feedItems: readonly FeedItem[];
  /** Deliveries and items, by client. */
  readonly feedEntries: readonly FeedEntry[];
  readonly mailItems: readonly NewMailItem[];
  /** Pairs that began, known or not before. */
  readonly began: readonly Match[];
}

/** What `changes` may touch pairs of, each once. */
export function touchedBy(changes: readonly JudgedChange[]): {
  readonly propertyUuids: ReadonlySet<Uuid>;
  readonly searchNumbers: ReadonlySet<SearchNumber>;
} {
  const propertyUuids = new Set<Uuid>();
  const searchNumbers = new Set<SearchNumber>();
  for (const change of changes) {
    for (const number of searchesTouchedBy(change)) {
      propertyUuids.add(change.propertyUuid);
      searchNumbers.add(number);
    }
  }
  return { propertyUuids, searchNumbers };
}

/**
 * `routes`: the searches that want to be told, and null for those that are gone; the rest is silent. `known`: at least
 * the pairs of the changed properties that a change touches. `sequenceFloor`: every new sequence is above it.
 */
export function consequencesOf(
  changes: readonly JudgedChange[],
  routes: ReadonlyMap<SearchNumber, SearchRoute | null>,
  known: readonly KnownMatch[],
  resolvePlace: ResolvePlace,
  now: Date,
  sequenceFloor = 0,
): Consequences {
  const pairs = byProperty(known, changes);
  const written = new Set<Pair>();
  const snapshots: Snapshot[] = [];
  const told: Told = { deliveries: [], feedItems: [], feedEntries: [] };
  const mailItems: NewMailItem[] = [];
  const began: Match[] = [];

  for (const change of changes) {
    const { propertyUuid, events } = change;
    const before = new Set(change.before);
    const pairsOfProperty = pairs.get(propertyUuid) as Map<SearchNumber, Pair>;
    const idsAt = notBefore(now, pairsOfProperty.values());
    const snapshotOf = snapshotter(change.held, resolvePlace, idsAt, snapshots);
    const mailItemOf = mailItemMaker(change, resolvePlace);
    for (const number of searchesTouchedBy(change)) {
      const route = routes.get(number);
      if (route === null) continue;
      const pair = pairsOfProperty.get(number) ?? { isKnown: false, hasChanged: false, match: null };
      const { match } = pair;
      const startsNow = !before.has(number) && (match?.beganAt ?? null) === null;
      const notices = route === undefined ? [] : noticesOf(route, events, startsNow);
      const mailNotices = route === undefined ? [] : mailNoticesOf(route, events, startsNow);
      if (match === null && !startsNow && notices.length + mailNotices.length === 0) continue;
      let next = touched(match, number, propertyUuid, startsNow, now);
      for (const notice of notices) {
        if (route === undefined) break;
        const head = headOf(notice, route, next);
        const snapshotId = snapshotOf(!route.hidePropertyContact);
        next = counted(next, idsAt, sequenceFloor);
        tell(told, notice, route, next, { head, snapshotId, traceparent: change.traceparent });
      }
      pair.match = next;
      pair.hasChanged ||= startsNow || notices.length > 0;
      if (match === null) pairsOfProperty.set(number, pair);
      written.add(pair);
      if (startsNow) began.push(next);
      if (route === undefined) continue;
      for (const notice of mailNotices) mailItems.push(mailItemOf(notice, route, next));
    }
  }
  const matchesOf = (isAsked: (pair: Pair) => boolean): readonly Match[] =>
    [...written].filter(isAsked).map(({ match }) => match as Match);
  return {
    newMatches: matchesOf(({ isKnown }) => !isKnown),
    changedMatches: matchesOf(({ isKnown, hasChanged }) => isKnown && hasChanged),
    heardMatches: matchesOf(({ isKnown, hasChanged }) => isKnown && !hasChanged),
    snapshots,
    ...told,
    mailItems,
    began,
  };
}

/** A (search, property) pair while the batch goes over it. */
interface Pair {
  /** By the table. */
  readonly isKnown: boolean;
  /** Began, or was told. */
  hasChanged: boolean;
  /** As known, or as written by a change of the batch. */
  match: KnownMatch | Match | null;
}

function byProperty(
  known: readonly KnownMatch[],
  changes: readonly JudgedChange[],
): ReadonlyMap<Uuid, Map<SearchNumber, Pair>> {
  const pairs = new Map(changes.map(({ propertyUuid }) => [propertyUuid, new Map<SearchNumber, Pair>()]));
  for (const match of known)
    pairs.get(match.propertyUuid)?.set(match.searchNumber, { isKnown: true, hasChanged: false, match });
  return pairs;
}

/** Searches that the property starts to satisfy and, when there is an event, those that hear of it. */
function searchesTouchedBy({ before, after, events }: JudgedChange): ReadonlySet<SearchNumber> {
  if (events.length > 0) return new Set([...before, ...after]);
  const satisfied = new Set(before);
  return new Set(after.filter((number) => !satisfied.has(number)));
}

function headOf(notice: Notice, route: SearchRoute, { id, beganAt, updatedAt, propertyUuid }: Match): string {
  const record = { id, beganAt: beganAt?.toISOString() ?? null, updatedAt: updatedAt.toISOString() };
  return bodyHead(notice, route.id, propertyUuid, record);
}

/**
 * The moment that the ids of a change are made for, which is not before those of the property's last deliveries: ids of a
 * match ascend though a clock was set back, and a snapshot's is never later than those of its deliveries.
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

/** Members by name and in one order: copies by spread cost half of the stage. */
function touched(
  match: Pair['match'],
  searchNumber: SearchNumber,
  propertyUuid: Uuid,
  startsNow: boolean,
  now: Date,
): Match {
  return {
    id: match === null ? timeOrderedUuid(now) : match.id,
    searchNumber,
    propertyUuid,
    beganAt: startsNow ? now : (match?.beganAt ?? null),
    updatedAt: now,
    lastSequence: match === null ? 0 : match.lastSequence,
    lastDeliveryId: match === null ? null : match.lastDeliveryId,
  };
}

/** The match with one more delivery, or item of the feed. */
function counted(
  { id, searchNumber, propertyUuid, beganAt, updatedAt, lastSequence, lastDeliveryId }: Match,
  at: Date,
  sequenceFloor: number,
): Match {
  return {
    id,
    searchNumber,
    propertyUuid,
    beganAt,
    updatedAt,
    lastSequence: Math.max(lastSequence, sequenceFloor) + 1,
    lastDeliveryId: uuidAfter(lastDeliveryId, at),
  };
}

interface Told {
  readonly deliveries: AddressedDelivery[];
  readonly feedItems: FeedItem[];
  readonly feedEntries: FeedEntry[];
}

/** `match`: with what is told counted. */
function tell(
  { deliveries, feedItems, feedEntries }: Told,
  { channel, kind, endpoint }: Notice,
  { clientId }: SearchRoute,
  match: Match,
  { head, snapshotId, traceparent }: Pick<NewDelivery, 'head' | 'snapshotId' | 'traceparent'>,
): void {
  const id = match.lastDeliveryId as Uuid;
  const { searchNumber, id: matchId, lastSequence: sequence } = match;
  feedEntries.push({ clientId, id, searchNumber });
  if (endpoint === null) {
    feedItems.push({ id, sequence, searchNumber, matchId, channel, kind, head, snapshotId });
  } else {
    const endpointKey = endpointKeyOf(clientId, endpoint);
    const address = { endpoint, endpointKey, traceparent };
    deliveries.push({ id, sequence, searchNumber, matchId, channel, kind, head, snapshotId, ...address });
  }
}

/** Serialises the document of one change at most once per variant. */
function snapshotter(
  held: HeldProperty,
  resolvePlace: ResolvePlace,
  at: Date,
  snapshots: Snapshot[],
): (withContacts: boolean) => Uuid {
  const ids = new Map<boolean, Uuid>();
  return (withContacts) => {
    const known = ids.get(withContacts);
    if (known !== undefined) return known;
    const document = propertyDocument(held.state, held.crawls, resolvePlace, { withContacts });
    const snapshot = { id: timeOrderedUuid(at), document: JSON.stringify(document) };
    ids.set(withContacts, snapshot.id);
    snapshots.push(snapshot);
    return snapshot.id;
  };
}

/** Makes the document of one change at most once, and none where nothing goes by e-mail. */
function mailItemMaker(
  { held, events, traceparent }: JudgedChange,
  resolvePlace: ResolvePlace,
): (notice: MailNotice, route: SearchRoute, match: Match) => NewMailItem {
  let document: PropertyDocument | null = null;
  return (notice, { clientId, mail }, { id, searchNumber, updatedAt }) => {
    if (mail === null) throw new Error('a notice by e-mail of a search without one');
    document ??= propertyDocument(held.state, held.crawls, resolvePlace, { withContacts: false });
    return {
      id: timeOrderedUuid(updatedAt),
      clientId,
      searchNumber,
      matchId: id,
      kind: notice.reason.kind,
      route: mail,
      content: mailItemContent(document, notice, events),
      traceparent,
    };
  };
}
