/**
 * What one intake message does to the state held of a property: the new state and the events that tell the
 * difference (decisions, section 4). Pure: the same message on the same state always gives the same answer, so a
 * redelivered message is found out by the state itself.
 */

import Big from 'big.js';
import type { AdvertContent, AdvertEvent, FieldChange } from './advert.ts';
import type { EventKind } from './codes.ts';
import type { IntakeMessage, UpsertMessage } from './intake-message.ts';
import {
  type Crawls,
  creationOf,
  EVENTS_KEPT,
  type HeldAdvert,
  isLive,
  type PropertyState,
  speakingAdvert,
} from './property.ts';

export interface HeldProperty {
  readonly state: PropertyState;
  readonly crawls: Crawls;
}

/**
 * - `created`: the advert was unknown.
 * - `changed`: at least one event.
 * - `recrawled`: nothing changed but the time it was seen.
 * - `stale`: older than the state held; without effect.
 * - `unknown`: the expiry of an advert never seen; without effect.
 */
export type ChangeOutcome = 'created' | 'changed' | 'recrawled' | 'stale' | 'unknown';

export interface Change {
  readonly outcome: ChangeOutcome;
  /** The state after the message; null only for `unknown` on an unknown property. */
  readonly held: HeldProperty | null;
  readonly events: readonly AdvertEvent[];
  /** True when the property itself may read differently, be it only because another advert speaks for it now. */
  readonly mayAffectMatches: boolean;
}

export function applyMessage(held: HeldProperty | null, message: IntakeMessage): Change {
  const advert = held?.state.adverts.find((candidate) => candidate.uuid === message.advertUuid) ?? null;
  if (advert !== null && held !== null && message.crawledAt < (held.crawls[advert.uuid] ?? '')) {
    return withoutEffect('stale', held);
  }
  if (message.kind === 'expire') {
    return held === null || advert === null ? withoutEffect('unknown', held) : expire(held, advert, message);
  }
  return advert === null || held === null ? create(held, message) : update(held, advert, message);
}

function withoutEffect(outcome: 'stale' | 'unknown', held: HeldProperty | null): Change {
  return { outcome, held, events: [], mayAffectMatches: false };
}

function create(held: HeldProperty | null, message: UpsertMessage): Change {
  const events = [eventOf(message, 'property.ad.create')];
  const advert: HeldAdvert = {
    uuid: message.advertUuid,
    content: message.advert,
    property: message.property,
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
      crawls: { ...held?.crawls, [advert.uuid]: message.crawledAt },
    },
    events,
    mayAffectMatches: true,
  };
}

function update(held: HeldProperty, advert: HeldAdvert, message: UpsertMessage): Change {
  const fields = fieldChanges(advert.content, message.advert);
  const isUpdated =
    !isLive(advert) || !isSame(advert.content, message.advert) || !isSame(advert.property, message.property);
  const events = fields.map(([kind, field]) => eventOf(message, kind, field));
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

function expire(held: HeldProperty, advert: HeldAdvert, message: IntakeMessage & { kind: 'expire' }): Change {
  if (!isLive(advert)) return recrawl(held, message);
  const field = { fieldName: 'expired', fieldOldValue: 'false', fieldNewValue: 'true', percentVariation: null };
  return replaceAdvert(held, message, [eventOf(message, 'ad.update.expired', field)], {
    ...advert,
    expiredAt: message.expiredAt ?? message.crawledAt,
    lastLiveCrawledAt: held.crawls[advert.uuid] ?? advert.changedAt,
  });
}

function recrawl(held: HeldProperty, message: IntakeMessage): Change {
  const crawls = { ...held.crawls, [message.advertUuid]: message.crawledAt };
  const spokeBefore = speakingAdvert(held.state, held.crawls);
  const speaksNow = speakingAdvert(held.state, crawls);
  return {
    outcome: 'recrawled',
    held: { state: held.state, crawls },
    events: [],
    mayAffectMatches: spokeBefore !== speaksNow,
  };
}

function replaceAdvert(
  held: HeldProperty,
  message: IntakeMessage,
  events: readonly AdvertEvent[],
  advert: HeldAdvert,
): Change {
  const next: HeldAdvert = {
    ...advert,
    changedAt: message.crawledAt,
    events: [...advert.events, ...events].slice(-EVENTS_KEPT),
  };
  const adverts = held.state.adverts.map((candidate) => (candidate.uuid === next.uuid ? next : candidate));
  return {
    outcome: 'changed',
    held: {
      state: { uuid: held.state.uuid, adverts },
      crawls: { ...held.crawls, [next.uuid]: message.crawledAt },
    },
    events,
    mayAffectMatches: true,
  };
}

/** The fields that have an event kind of their own. */
function fieldChanges(before: AdvertContent, after: AdvertContent): [EventKind, FieldChange][] {
  const changes: [EventKind, FieldChange][] = [];
  for (const fieldName of ['price', 'surface'] as const) {
    if (before[fieldName] === after[fieldName]) continue;
    changes.push([
      `ad.update.${fieldName}`,
      {
        fieldName,
        fieldOldValue: asText(before[fieldName]),
        fieldNewValue: asText(after[fieldName]),
        percentVariation: percentVariation(before[fieldName], after[fieldName]),
      },
    ]);
  }
  if (!isSame(before.pictures, after.pictures)) {
    const counts = { fieldOldValue: String(before.pictures.length), fieldNewValue: String(after.pictures.length) };
    changes.push(['ad.update.pictures', { fieldName: 'pictures', ...counts, percentVariation: null }]);
  }
  return changes;
}

function eventOf(message: IntakeMessage, kind: EventKind, field: FieldChange | null = null): AdvertEvent {
  return { kind, advertUuid: message.advertUuid, createdAt: message.crawledAt, field };
}

/** Divides to whole numbers, halves away from zero. */
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

/** Structural equality of JSON values, in whatever order their members come. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const [keysA, keysB] = [Object.keys(a), Object.keys(b)];
  if (keysA.length !== keysB.length) return false;
  return keysA.every((key) => isSame((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]));
}
