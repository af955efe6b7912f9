/**
 * Applies an intake message to the stored state of a property. Returns the new state and the events that describe the
 * difference (decisions, section 4). The position of a message in the stream shows whether it is a redelivery.
 */

import { createHash } from 'node:crypto';
import Big from 'big.js';
import type { AdvertContent, AdvertEvent, FieldChange } from './advert.ts';
import type { EventKind } from './codes.ts';
import type { Uuid } from './ids.ts';
import { type ExpireMessage, type IntakeMessage, isExpiryDigest, type UpsertMessage } from './intake-message.ts';
import {
  advertsByCrawl,
  type Crawl,
  type Crawls,
  creationOf,
  EVENTS_KEPT,
  isLive,
  type PropertyState,
  type StoredAdvert,
  SUPERSEDED_KEPT,
} from './property.ts';

export interface StoredProperty {
  readonly state: PropertyState;
  readonly crawls: Crawls;
}

export interface MessageOrigin {
  /** Number of the stream (store/intake-position.ts). */
  readonly stream: number;
  readonly sequence: number;
  /** The original sequence of a requeued message, if it was in the same stream. */
  readonly requeuedFrom?: number;
}

/**
 * - `created`: the message adds an advert.
 * - `changed`: the message causes at least one event of a known advert.
 * - `recrawled`: only the advert's last crawl changes (see `Crawls`).
 * - `stale`: the advert's state is newer than the message or already includes it. The message has no effect.
 * - `unknown`: the message expires an unknown advert. It has no effect.
 */
export type ChangeOutcome = 'created' | 'changed' | 'recrawled' | 'stale' | 'unknown';

export interface Change {
  readonly outcome: ChangeOutcome;
  /** State after the message. Null only if the outcome is `unknown` and the property is unknown, too. */
  readonly stored: StoredProperty | null;
  readonly events: readonly AdvertEvent[];
  /** True if facts that searches compare may have changed, even if only because the adverts' order by crawl changed. */
  readonly mayAffectMatches: boolean;
}

const DAY_MS = 86_400_000;

type Received<M extends IntakeMessage = IntakeMessage> = M & { readonly origin: MessageOrigin };

export function applyMessage(stored: StoredProperty | null, message: IntakeMessage, origin: MessageOrigin): Change {
  const last = stored?.crawls[message.advertUuid];
  if (last !== undefined && isStale(last, message, origin)) return withoutEffect('stale', stored);
  const advert = stored?.state.adverts.find((candidate) => candidate.uuid === message.advertUuid) ?? null;
  if (message.kind === 'expire') {
    return stored === null || advert === null
      ? withoutEffect('unknown', stored)
      : expire(stored, advert, { ...message, origin });
  }
  const received = { ...message, origin };
  return advert === null || stored === null ? create(stored, received) : update(stored, advert, received);
}

export interface UnreadRecrawl {
  readonly outcome: 'recrawled' | 'stale';
  /** The crawls of the property after the message. */
  readonly crawls: Crawls;
}

/**
 * The outcome of a message that is stale or changes only the crawls. Does not read the property's state. Null if the
 * state is needed. Then the advert is unknown, the message differs from the advert's last message, or the adverts
 * may get another order by crawl.
 */
export function recrawlUnread(crawls: Crawls, message: IntakeMessage, origin: MessageOrigin): UnreadRecrawl | null {
  const last = crawls[message.advertUuid];
  if (last === undefined) return null;
  if (isStale(last, message, origin)) return { outcome: 'stale', crawls };
  const [, , , digest] = last;
  if (digest !== message.digest || mayOvertakeAdverts(crawls, last, message)) return null;
  return { outcome: 'recrawled', crawls: { ...crawls, [message.advertUuid]: crawlOf({ ...message, origin }, last) } };
}

/**
 * True if another live advert was last crawled between `last` and the message. The message may then change the order of
 * the adverts by crawl. For crawls at the same time, only the state has the order of the adverts.
 */
function mayOvertakeAdverts(crawls: Crawls, last: Crawl, { kind, advertUuid, crawledAt }: IntakeMessage): boolean {
  // A repeated expiry changes no order, because an expired advert is ordered by its last live crawl.
  if (kind === 'expire') return false;
  for (const uuid in crawls) {
    const [at, , , digest] = crawls[uuid as Uuid] as Crawl;
    if (uuid !== advertUuid && at >= last[0] && at <= crawledAt && !isExpiryDigest(digest)) return true;
  }
  return false;
}

function isStale(last: Crawl, message: IntakeMessage, origin: MessageOrigin): boolean {
  return isOvertaken(last, message.crawledAt, origin) || isSuperseded(last, message, origin);
}

/**
 * Whether the state already includes the message or a later message. If the last message is from the same stream, a
 * sequence that is not higher shows a redelivery, even if `crawledAt` is later. Otherwise the crawler's clock decides.
 * If the times are equal, only a requeued message may be overtaken: its original sequence decides.
 */
export function isOvertaken([lastAt, stream, sequence]: Crawl, crawledAt: string, origin: MessageOrigin): boolean {
  if (origin.stream === stream && origin.sequence <= sequence) return true;
  if (crawledAt !== lastAt) return crawledAt < lastAt;
  return origin.stream === stream && (origin.requeuedFrom ?? origin.sequence) <= sequence;
}

/**
 * True if the message is from another stream, whose sequences cannot be compared, and a later message with the same
 * `crawledAt` has already replaced it.
 */
function isSuperseded(last: Crawl, message: IntakeMessage, origin: MessageOrigin): boolean {
  if (origin.stream === last[1] || message.crawledAt !== last[0]) return false;
  const [, , , , ...superseded] = last;
  return superseded.length > 0 && superseded.includes(hashOfMessage(message));
}

/** `replaced`: the former state of the advert, if the message changes it. */
function crawlOf({ crawledAt, origin, digest }: Received, last?: Crawl, replaced?: StoredAdvert): Crawl {
  const crawl: Crawl = [crawledAt, origin.stream, origin.sequence, digest];
  if (last === undefined || last[0] !== crawledAt) return crawl;
  const [, , , , ...superseded] = last;
  if (replaced !== undefined) superseded.push(hashOfStored(replaced));
  return [...crawl, ...superseded.slice(-SUPERSEDED_KEPT)];
}

function withoutEffect(outcome: 'stale' | 'unknown', stored: StoredProperty | null): Change {
  return { outcome, stored, events: [], mayAffectMatches: false };
}

function create(stored: StoredProperty | null, message: Received<UpsertMessage>): Change {
  const events = [eventOf(message, 'property.ad.create')];
  const advert: StoredAdvert = {
    uuid: message.advertUuid,
    content: message.advert,
    property: message.property,
    createdBefore: null,
    firstCrawledAt: message.crawledAt,
    changedAt: message.crawledAt,
    expiredAt: null,
    lastLiveCrawledAt: null,
    events,
  };
  const adverts = [...(stored?.state.adverts ?? []), advert];
  return {
    outcome: 'created',
    stored: {
      state: { uuid: message.propertyUuid, adverts },
      crawls: { ...stored?.crawls, [advert.uuid]: crawlOf(message) },
    },
    events,
    mayAffectMatches: true,
  };
}

function update(stored: StoredProperty, advert: StoredAdvert, message: Received<UpsertMessage>): Change {
  const events = fieldEvents(message, advert.content);
  if (advert.expiredAt !== null) {
    events.push(eventOf(message, 'ad.update.reactivated', returnAfter(advert.expiredAt, message.crawledAt)));
  }
  const isUpdated =
    !isLive(advert) || !isSame(advert.content, message.advert) || !isSame(advert.property, message.property);
  if (isUpdated) events.push(eventOf(message, 'property.ad.update'));
  if (events.length === 0) return recrawl(stored, message);
  return replaceAdvert(stored, message, events, {
    ...advert,
    content: message.advert,
    property: message.property,
    createdBefore: creationOf(advert),
    expiredAt: null,
    lastLiveCrawledAt: null,
  });
}

function expire(stored: StoredProperty, advert: StoredAdvert, message: Received<ExpireMessage>): Change {
  if (!isLive(advert)) return recrawl(stored, message);
  const field = { fieldName: 'expired', fieldOldValue: 'false', fieldNewValue: 'true', percentVariation: null };
  return replaceAdvert(stored, message, [eventOf(message, 'ad.update.expired', field)], {
    ...advert,
    expiredAt: message.expiredAt ?? message.crawledAt,
    lastLiveCrawledAt: stored.crawls[advert.uuid]?.[0] ?? advert.changedAt,
  });
}

function returnAfter(expiredAt: string, crawledAt: string): FieldChange {
  const daysAway = Math.max(0, Math.floor((Date.parse(crawledAt) - Date.parse(expiredAt)) / DAY_MS));
  return { fieldName: 'expired', fieldOldValue: 'true', fieldNewValue: 'false', percentVariation: null, daysAway };
}

function recrawl(stored: StoredProperty, message: Received): Change {
  const crawls = { ...stored.crawls, [message.advertUuid]: crawlOf(message, stored.crawls[message.advertUuid]) };
  const before = advertsByCrawl(stored.state, stored.crawls);
  const now = advertsByCrawl(stored.state, crawls);
  return {
    outcome: 'recrawled',
    stored: { state: stored.state, crawls },
    events: [],
    mayAffectMatches: now.some((advert, position) => advert !== before[position]),
  };
}

function replaceAdvert(
  stored: StoredProperty,
  message: Received,
  events: readonly AdvertEvent[],
  advert: StoredAdvert,
): Change {
  const next: StoredAdvert = {
    ...advert,
    changedAt: message.crawledAt,
    events: [...advert.events, ...events.map(storedEvent)].slice(-EVENTS_KEPT),
  };
  const replaced = stored.state.adverts.find(({ uuid }) => uuid === next.uuid);
  const adverts = stored.state.adverts.map((candidate) => (candidate === replaced ? next : candidate));
  return {
    outcome: 'changed',
    stored: {
      state: { uuid: stored.state.uuid, adverts },
      crawls: { ...stored.crawls, [next.uuid]: crawlOf(message, stored.crawls[next.uuid], replaced) },
    },
    events,
    mayAffectMatches: true,
  };
}

function storedEvent(event: AdvertEvent): AdvertEvent {
  if (event.field?.daysAway === undefined) return event;
  const { daysAway: _away, ...field } = event.field;
  return { ...event, field };
}

type FieldEventKind = Exclude<EventKind, 'ad.update.expired' | 'ad.update.reactivated' | `property.${string}`>;
type DescribeChange = (before: AdvertContent, after: AdvertContent) => FieldChange;

function numberChange(fieldName: 'price' | 'surface'): DescribeChange {
  return ({ [fieldName]: before }, { [fieldName]: after }) => ({
    fieldName,
    fieldOldValue: asText(before),
    fieldNewValue: asText(after),
    percentVariation: percentVariation(before, after),
  });
}

/** For each of these kinds, its field and how to describe the change, in the order in which events are recorded. */
const FIELD_EVENTS: { readonly [Kind in FieldEventKind]: readonly [field: keyof AdvertContent, DescribeChange] } = {
  'ad.update.price': ['price', numberChange('price')],
  'ad.update.surface': ['surface', numberChange('surface')],
  'ad.update.pictures': [
    'pictures',
    ({ pictures: before }, { pictures: after }) => ({
      fieldName: 'pictures',
      fieldOldValue: String(before.length),
      fieldNewValue: String(after.length),
      percentVariation: null,
    }),
  ],
};
const FIELD_EVENT_KINDS = Object.keys(FIELD_EVENTS) as readonly FieldEventKind[];

function fieldEvents(message: UpsertMessage, before: AdvertContent): AdvertEvent[] {
  const events: AdvertEvent[] = [];
  for (const kind of FIELD_EVENT_KINDS) {
    const [field, describe] = FIELD_EVENTS[kind];
    if (!isSame(before[field], message.advert[field]))
      events.push(eventOf(message, kind, describe(before, message.advert)));
  }
  return events;
}

function eventOf(message: IntakeMessage, kind: EventKind, field: FieldChange | null = null): AdvertEvent {
  return { kind, advertUuid: message.advertUuid, createdAt: message.crawledAt, field };
}

/** Decimal numbers whose division gives an integer, with halves rounded away from zero. */
const Whole = Big();
Whole.DP = 0;
Whole.RM = Whole.roundHalfUp;

/**
 * (new − old) / old × 100, rounded to two decimals, halves away from zero (decisions, section 4). Null if a value is
 * unknown or the old value is 0. Uses decimal arithmetic, because binary fractions would round some halves wrongly.
 */
export function percentVariation(oldValue: number | null, newValue: number | null): number | null {
  if (oldValue === null || newValue === null || oldValue === 0) return null;
  const hundredths = new Whole(newValue).minus(oldValue).times(10_000).div(oldValue);
  return Number(hundredths.toString()) / 100;
}

function asText(value: number | null): string | null {
  return value === null ? null : String(value);
}

/** Whether an advert or its `property` differs in other members than `fields`, has expired, or is live again. */
export function differsApartFrom(
  before: StoredAdvert,
  after: StoredAdvert,
  fields: readonly (keyof AdvertContent & keyof StoredAdvert['property'])[],
): boolean {
  const unset = Object.fromEntries(fields.map((field) => [field, null]));
  return (
    isLive(before) !== isLive(after) ||
    !isSame({ ...before.content, ...unset }, { ...after.content, ...unset }) ||
    !isSame({ ...before.property, ...unset }, { ...after.property, ...unset })
  );
}

/**
 * Whether a stored value equals a decoded value, regardless of the order of members. A decoded value has every member.
 * If the stored value lacks a member, because an older version did not store it, the member counts as null or as empty.
 */
function isSame(before: unknown, after: unknown): boolean {
  if (before === after) return true;
  if (before === undefined && Array.isArray(after)) return after.length === 0;
  if (before === undefined || before === null || after === null) return isUnknown(before) && isUnknown(after);
  if (typeof before !== 'object' || typeof after !== 'object') return false;
  if (Array.isArray(before) && Array.isArray(after) && before.length !== after.length) return false;
  // Loops over the members, because copying them first would cost more than comparing them.
  for (const name in after) {
    if (!isSame((before as Record<string, unknown>)[name], (after as Record<string, unknown>)[name])) return false;
  }
  return true;
}

/** True if the value is absent or null, or is an object whose members are all null, such as a contact `{}`. */
function isUnknown(value: unknown): boolean {
  if (typeof value !== 'object' || Array.isArray(value)) return value === undefined;
  return value === null || Object.values(value).every((member) => member === null);
}

const EXPIRED = 'expired';

/** `hashOfMessage` of the message that led to this state of the advert. */
function hashOfStored(advert: StoredAdvert): number {
  return hashOf(isLive(advert) ? [advert.content, advert.property] : EXPIRED);
}

function hashOfMessage(message: IntakeMessage): number {
  return hashOf(message.kind === 'upsert' ? [message.advert, message.property] : EXPIRED);
}

const BYTES = 6;

/**
 * Hash of what a message states about its advert. It identifies a message that is read again from another stream and
 * has the `crawledAt` of the stored state (decisions, section 4).
 */
function hashOf(value: unknown): number {
  return createHash('sha256').update(JSON.stringify(value, inOrder)).digest().readUIntBE(0, BYTES);
}

/** Sorts members. Omits nulls and empty lists, because hashes that were stored before a member existed lack it. */
function inOrder(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const known = Object.entries(value).filter(([, member]) => member !== null && !isEmptyList(member));
  return Object.fromEntries(known.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
