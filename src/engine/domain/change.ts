/**
 * Applies one intake message to the held state of a property: the new state and the events that describe the difference
 * (decisions, section 4). Pure: the state recognises a redelivered message by its position in the stream.
 */

import { createHash } from 'node:crypto';
import Big from 'big.js';
import type { AdvertContent, AdvertEvent, FieldChange } from './advert.ts';
import type { EventKind } from './codes.ts';
import type { ExpireMessage, IntakeMessage, UpsertMessage } from './intake-message.ts';
import {
  advertsByCrawl,
  type Crawl,
  type Crawls,
  creationOf,
  EVENTS_KEPT,
  type HeldAdvert,
  isLive,
  type PropertyState,
  SUPERSEDED_KEPT,
} from './property.ts';

export interface HeldProperty {
  readonly state: PropertyState;
  readonly crawls: Crawls;
}

/** The origin of a message. */
export interface MessageOrigin {
  /** The number of the stream (store/intake-position.ts). */
  readonly stream: number;
  readonly sequence: number;
  /** The former sequence of a requeued message, if it was in the same stream. */
  readonly requeuedFrom?: number;
}

/**
 * - `created`: the advert was unknown.
 * - `changed`: at least one event.
 * - `recrawled`: nothing changed but the time it was seen.
 * - `stale`: older than the state held, or in it already; without effect.
 * - `unknown`: the expiry of an advert never seen; without effect.
 */
export type ChangeOutcome = 'created' | 'changed' | 'recrawled' | 'stale' | 'unknown';

export interface Change {
  readonly outcome: ChangeOutcome;
  /** The state after the message; null only for `unknown` on an unknown property. */
  readonly held: HeldProperty | null;
  readonly events: readonly AdvertEvent[];
  /** True when the property's document may differ, if only because another advert represents it now. */
  readonly mayAffectMatches: boolean;
}

const DAY_MS = 86_400_000;

/** A message with its origin. */
type Received<M extends IntakeMessage = IntakeMessage> = M & { readonly origin: MessageOrigin };

export function applyMessage(held: HeldProperty | null, message: IntakeMessage, origin: MessageOrigin): Change {
  const last = held?.crawls[message.advertUuid];
  if (last !== undefined && (isOvertaken(last, message.crawledAt, origin) || isSuperseded(last, message, origin))) {
    return withoutEffect('stale', held);
  }
  const advert = held?.state.adverts.find((candidate) => candidate.uuid === message.advertUuid) ?? null;
  if (message.kind === 'expire') {
    return held === null || advert === null
      ? withoutEffect('unknown', held)
      : expire(held, advert, { ...message, origin });
  }
  const received = { ...message, origin };
  return advert === null || held === null ? create(held, received) : update(held, advert, received);
}

/**
 * Whether the state contains the message or a later one. In the stream of the last message the sequence identifies a
 * redelivery, whatever the message's time; otherwise the crawler's clock decides, and the order of arrival between
 * equal times.
 */
export function isOvertaken([lastAt, stream, sequence]: Crawl, crawledAt: string, origin: MessageOrigin): boolean {
  if (origin.stream === stream && origin.sequence <= sequence) return true;
  if (crawledAt !== lastAt) return crawledAt < lastAt;
  return origin.stream === stream && (origin.requeuedFrom ?? origin.sequence) <= sequence;
}

/**
 * Whether the message comes again in another stream, so that its sequence says nothing, and a later message with the
 * same `crawledAt` has already replaced it.
 */
function isSuperseded(
  [lastAt, stream, , ...superseded]: Crawl,
  message: IntakeMessage,
  origin: MessageOrigin,
): boolean {
  if (origin.stream === stream || message.crawledAt !== lastAt || superseded.length === 0) return false;
  return superseded.includes(hashOfMessage(message));
}

/** `replaced`: the advert as it was, when the message changes it. */
function crawlOf({ crawledAt, origin }: Received, last?: Crawl, replaced?: HeldAdvert): Crawl {
  const crawl: Crawl = [crawledAt, origin.stream, origin.sequence];
  if (last === undefined || last[0] !== crawledAt) return crawl;
  const [, , , ...superseded] = last;
  if (replaced !== undefined) superseded.push(hashOfHeld(replaced));
  return [...crawl, ...superseded.slice(-SUPERSEDED_KEPT)];
}

function withoutEffect(outcome: 'stale' | 'unknown', held: HeldProperty | null): Change {
  return { outcome, held, events: [], mayAffectMatches: false };
}

function create(held: HeldProperty | null, message: Received<UpsertMessage>): Change {
  const events = [eventOf(message, 'property.ad.create')];
  const advert: HeldAdvert = {
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
  const adverts = [...(held?.state.adverts ?? []), advert];
  return {
    outcome: 'created',
    held: {
      state: { uuid: message.propertyUuid, adverts },
      crawls: { ...held?.crawls, [advert.uuid]: crawlOf(message) },
    },
    events,
    mayAffectMatches: true,
  };
}

function update(held: HeldProperty, advert: HeldAdvert, message: Received<UpsertMessage>): Change {
  const events = fieldEvents(message, advert.content);
  if (advert.expiredAt !== null) {
    events.push(eventOf(message, 'ad.update.reactivated', returnAfter(advert.expiredAt, message.crawledAt)));
  }
  const isUpdated =
    !isLive(advert) || !isSame(advert.content, message.advert) || !isSame(advert.property, message.property);
  if (isUpdated) events.push(eventOf(message, 'property.ad.update'));
  if (events.length === 0) return recrawl(held, message);
  return replaceAdvert(held, message, events, {
    ...advert,
    content: message.advert,
    property: message.property,
    createdBefore: creationOf(advert),
    expiredAt: null,
    lastLiveCrawledAt: null,
  });
}

function expire(held: HeldProperty, advert: HeldAdvert, message: Received<ExpireMessage>): Change {
  if (!isLive(advert)) return recrawl(held, message);
  const field = { fieldName: 'expired', fieldOldValue: 'false', fieldNewValue: 'true', percentVariation: null };
  return replaceAdvert(held, message, [eventOf(message, 'ad.update.expired', field)], {
    ...advert,
    expiredAt: message.expiredAt ?? message.crawledAt,
    lastLiveCrawledAt: held.crawls[advert.uuid]?.[0] ?? advert.changedAt,
  });
}

function returnAfter(expiredAt: string, crawledAt: string): FieldChange {
  const daysAway = Math.max(0, Math.floor((Date.parse(crawledAt) - Date.parse(expiredAt)) / DAY_MS));
  return { fieldName: 'expired', fieldOldValue: 'true', fieldNewValue: 'false', percentVariation: null, daysAway };
}

function recrawl(held: HeldProperty, message: Received): Change {
  const crawls = { ...held.crawls, [message.advertUuid]: crawlOf(message, held.crawls[message.advertUuid]) };
  const before = advertsByCrawl(held.state, held.crawls);
  const now = advertsByCrawl(held.state, crawls);
  return {
    outcome: 'recrawled',
    held: { state: held.state, crawls },
    events: [],
    mayAffectMatches: now.some((advert, position) => advert !== before[position]),
  };
}

function replaceAdvert(
  held: HeldProperty,
  message: Received,
  events: readonly AdvertEvent[],
  advert: HeldAdvert,
): Change {
  const next: HeldAdvert = {
    ...advert,
    changedAt: message.crawledAt,
    events: [...advert.events, ...events.map(storedEvent)].slice(-EVENTS_KEPT),
  };
  const replaced = held.state.adverts.find(({ uuid }) => uuid === next.uuid);
  const adverts = held.state.adverts.map((candidate) => (candidate === replaced ? next : candidate));
  return {
    outcome: 'changed',
    held: {
      state: { uuid: held.state.uuid, adverts },
      crawls: { ...held.crawls, [next.uuid]: crawlOf(message, held.crawls[next.uuid], replaced) },
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

/** Kinds of event that a changed field of an advert causes. */
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

/** The payload of a changed field's event, in the order in which events are recorded. */
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

/** Integer division, rounding halves away from zero. */
const Whole = Big();
Whole.DP = 0;
Whole.RM = Whole.roundHalfUp;

/**
 * (new − old) / old × 100 with two decimals, half away from zero (decisions, section 4). Null when either value is
 * unknown or the old one is 0. Reckons with the decimal numbers that were written: as binary fractions, halves would be
 * lost.
 */
export function percentVariation(oldValue: number | null, newValue: number | null): number | null {
  if (oldValue === null || newValue === null || oldValue === 0) return null;
  const hundredths = new Whole(newValue).minus(oldValue).times(10_000).div(oldValue);
  return Number(hundredths.toString()) / 100;
}

function asText(value: number | null): string | null {
  return value === null ? null : String(value);
}

/** Whether the advert has changed in anything but these of its fields, or is live again. */
export function differsApartFrom(
  before: HeldAdvert,
  after: HeldAdvert,
  fields: readonly (keyof AdvertContent & keyof HeldAdvert['property'])[],
): boolean {
  const unset = Object.fromEntries(fields.map((field) => [field, null]));
  return (
    isLive(before) !== isLive(after) ||
    !isSame({ ...before.content, ...unset }, { ...after.content, ...unset }) ||
    !isSame({ ...before.property, ...unset }, { ...after.property, ...unset })
  );
}

/**
 * Whether a stored value equals a decoded one, in any order of members. A decoded value has every member; a member that
 * the stored one lacks, because its version did not store it, is unknown, like null or an empty list.
 */
function isSame(before: unknown, after: unknown): boolean {
  if (before === after) return true;
  if (before === undefined && Array.isArray(after)) return after.length === 0;
  if (before === undefined || before === null || after === null) return isUnknown(before) && isUnknown(after);
  if (typeof before !== 'object' || typeof after !== 'object') return false;
  if (Array.isArray(before) && Array.isArray(after) && before.length !== after.length) return false;
  // Copying their members would cost more than everything else here.
  for (const name in after) {
    if (!isSame((before as Record<string, unknown>)[name], (after as Record<string, unknown>)[name])) return false;
  }
  return true;
}

/** Nothing, or an object without a known member: `{}` says as much of a contact as no contact. */
function isUnknown(value: unknown): boolean {
  if (typeof value !== 'object' || Array.isArray(value)) return value === undefined;
  return value === null || Object.values(value).every((member) => member === null);
}

const EXPIRED = 'expired';

/** The hash of the message that left the advert in this state. */
function hashOfHeld(advert: HeldAdvert): number {
  return hashOf(isLive(advert) ? [advert.content, advert.property] : EXPIRED);
}

function hashOfMessage(message: IntakeMessage): number {
  return hashOf(message.kind === 'upsert' ? [message.advert, message.property] : EXPIRED);
}

const BYTES = 6;

/**
 * A hash of what a message says about its advert: it recognises a message that is read again from another stream with
 * the `crawledAt` of the held state (decisions, section 4).
 */
function hashOf(said: unknown): number {
  return createHash('sha256').update(JSON.stringify(said, inOrder)).digest().readUIntBE(0, BYTES);
}

/** Sorts the members, and leaves out null and empty ones: states stored before a member was introduced lack it. */
function inOrder(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const known = Object.entries(value).filter(([, member]) => member !== null && !isEmptyList(member));
  return Object.fromEntries(known.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
