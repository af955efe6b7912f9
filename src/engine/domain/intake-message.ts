/**
 * Decodes a crawler's bytes into an `IntakeMessage`, or throws a `RejectedMessageError` with the reasons why they
 * violate the intake contract (decisions, section 8). Members that the contract does not define are reported and
 * ignored. Absent members are unknown.
 */

import { hash } from 'node:crypto';
import type { AdvertContent } from './advert.ts';
import { parseUuid, type Uuid, uuidOf } from './ids.ts';
import {
  type IntakeViolation,
  MESSAGE_SCHEMAS,
  type SentMessage,
  type SentUpsert,
  VALIDATORS,
  violationsOf,
} from './intake-schema.ts';
import type { StatedProperty } from './property.ts';
import { propertyOf } from './rejection.ts';
import { ADVERTS } from './streams.ts';
import { storable } from './text.ts';
import { dropUnknownMembers, type ReportUnknown } from './unknown-members.ts';

interface IntakeMessageBase {
  /** UTC, in the format of `Date.prototype.toISOString`. */
  readonly crawledAt: string;
  readonly propertyUuid: Uuid;
  readonly advertUuid: Uuid;
  /** Messages with the same digest differ at most in the time of the crawl. */
  readonly digest: string;
}

export interface UpsertMessage extends IntakeMessageBase {
  readonly kind: 'upsert';
  readonly property: StatedProperty;
  readonly advert: AdvertContent;
}

export interface ExpireMessage extends IntakeMessageBase {
  readonly kind: 'expire';
  readonly expiredAt: string | null;
}

export type IntakeMessage = UpsertMessage | ExpireMessage;

/** The message violates the contract, exceeds a limit or triggers a bug. Retries are useless. */
export class RejectedMessageError extends Error {
  readonly code = 'REJECTED';
  /** The first errors in members; empty if the message is rejected for another reason, such as invalid JSON. */
  readonly violations: readonly IntakeViolation[];
  /** The property's UUID; null if it was not decoded, or if the caller knows it. */
  readonly propertyUuid: Uuid | null;

  constructor(
    reason: string,
    { violations = [], propertyUuid = null, cause }: Partial<RejectedMessageError> & { readonly cause?: unknown } = {},
  ) {
    super(reason, { cause });
    this.violations = violations;
    this.propertyUuid = propertyUuid;
  }
}

/** Throws `RejectedMessageError`. Calls `reportUnknown` for members that the contract does not define. */
export function decodeIntakeMessage(bytes: Uint8Array, reportUnknown: ReportUnknown = () => undefined): IntakeMessage {
  const { text, json } = parseJson(bytes);
  const sent = validated(json, reportUnknown);
  const { kind } = sent;
  const identity = {
    crawledAt: inUtc(sent.crawledAt),
    propertyUuid: uuidOf(sent.property.uuid),
    advertUuid: uuidOf(sent.advert.uuid),
    digest: digestOf(text, kind),
  };
  if (kind === 'expire') return { ...identity, kind, expiredAt: inUtcIfKnown(sent.expiredAt) };
  if (isHalf(sent.property.locations)) {
    const fault = {
      propertyPath: 'property.locations',
      message: 'must have both lat and lon, or neither',
      code: 'anyOf',
    };
    throw rejectedFor(sent, [fault]);
  }
  return { ...identity, kind, property: statedProperty(sent.property), advert: advertContent(sent.advert) };
}

/**
 * Returns the message. Throws `RejectedMessageError` if the subject names a different property, because subscribers to
 * the property's subject would miss the message.
 */
export function onItsSubject(subject: string, message: IntakeMessage): IntakeMessage {
  const { propertyUuid } = message;
  const named = propertyOf(null, subject);
  if (named === null || named === propertyUuid) return message;
  const reason = `is ${propertyUuid}, but the subject names ${named}: publish it on ${ADVERTS.subjectOf(propertyUuid)}`;
  const violation = { propertyPath: 'property.uuid', message: reason, code: 'subject' };
  throw new RejectedMessageError(`property.uuid: ${reason}`, { propertyUuid, violations: [violation] });
}

const AHEAD_MAX_MS = 600_000;

/**
 * Returns the message. Throws `RejectedMessageError` if `crawledAt` or `expiredAt` is more than ten minutes after the
 * stream stored the message. After a wrong `crawledAt`, later messages would seem older and have no effect.
 */
export function inItsTime(message: IntakeMessage, storedAtMs: number): IntakeMessage {
  const times = { crawledAt: message.crawledAt, expiredAt: message.kind === 'expire' ? message.expiredAt : null };
  const violations = Object.entries(times).flatMap(([propertyPath, time]) => {
    if (time === null || Date.parse(time) <= storedAtMs + AHEAD_MAX_MS) return [];
    const storedAt = new Date(storedAtMs).toISOString();
    const fault = `is ${time}, more than ten minutes after NATS stored the message (${storedAt})`;
    return [
      {
        propertyPath,
        message: `${fault}; send local times with their offset, and synchronise clocks by NTP`,
        code: FUTURE,
      },
    ];
  });
  if (violations.length > 0) throw rejectedFor({ property: { uuid: message.propertyUuid } }, violations);
  return message;
}

const FUTURE = 'future';

/** Whether `inItsTime` has rejected the message. */
export function isFromFuture(message: unknown): boolean {
  return message instanceof RejectedMessageError && message.violations[0]?.code === FUTURE;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parseJson(bytes: Uint8Array): { readonly text: string; readonly json: unknown } {
  try {
    const text = utf8.decode(bytes);
    return { text, json: JSON.parse(text) };
  } catch (cause) {
    // The reason is stored and may quote bytes that PostgreSQL refuses.
    const reason = storable((cause as Error).message);
    throw new RejectedMessageError(`not JSON in UTF-8: ${reason}`, { cause });
  }
}

/** The crawl times in the text of a message, which the digest ignores. Only the message's own `crawledAt` is used. */
const CRAWL_TIMES = /"(?:c|lastC)rawledAt"\s*:\s*"[^"\\]*"/g;
/** Replaces the crawl times, so that digests change with the schemas. Increase the 1 if texts get another meaning. */
const CONTRACT = hash('sha256', JSON.stringify([1, MESSAGE_SCHEMAS]), 'base64url');
/** In characters of base64url, of which 22 have 132 bits. */
const DIGEST_LENGTH = 22;
const EXPIRY = 'expire:';

function digestOf(text: string, kind: IntakeMessage['kind']): string {
  const digest = hash('sha256', text.replace(CRAWL_TIMES, CONTRACT), 'base64url').slice(0, DIGEST_LENGTH);
  return kind === 'expire' ? expiryDigest(digest) : digest;
}

export function expiryDigest(digest: string): string {
  return EXPIRY + digest;
}

/** Whether the digest is that of a message that expires its advert. */
export function isExpiryDigest(digest: string): boolean {
  return digest.startsWith(EXPIRY);
}

function validated(sent: unknown, reportUnknown: ReportUnknown): SentMessage {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) {
    throw rejectedFor(sent, [{ propertyPath: '', message: 'must be an object', code: 'type' }]);
  }
  const { kind } = sent as { kind?: unknown };
  if (kind !== 'upsert' && kind !== 'expire') {
    throw rejectedFor(sent, [{ propertyPath: 'kind', message: 'must be one of upsert, expire', code: 'enum' }]);
  }
  dropUnknownMembers(sent, kind, reportUnknown);
  const validate = VALIDATORS[kind];
  if (!validate(sent)) throw rejectedFor(sent, violationsOf(validate.errors ?? []));
  return sent;
}

const FAULTS_SHOWN = 5;
const VIOLATIONS_MAX = 50;

function rejectedFor(sent: unknown, violations: readonly IntakeViolation[]): RejectedMessageError {
  const shown = violations.slice(0, FAULTS_SHOWN);
  const faults = shown.map(({ propertyPath, message }) => `${propertyPath || 'message'}: ${message}`);
  if (violations.length > FAULTS_SHOWN) faults.push(`and ${violations.length - FAULTS_SHOWN} more`);
  const uuid = (sent as { property?: { uuid?: unknown } | null } | null)?.property?.uuid;
  const propertyUuid = typeof uuid === 'string' ? parseUuid(uuid) : null;
  return new RejectedMessageError(faults.join('; '), { violations: violations.slice(0, VIOLATIONS_MAX), propertyUuid });
}

function statedProperty(sent: SentUpsert['property']): StatedProperty {
  const { uuid: _uuid, ...property } = sent;
  return Object.assign(property, {
    price: unlessZero(sent.price),
    surface: unlessZero(sent.surface),
    landSurface: unlessZero(sent.landSurface),
    room: unlessZero(sent.room),
    createdAt: inUtcIfKnown(sent.createdAt),
    stations: sent.stations?.map((station) => ({ ...station, lines: station.lines ?? [] })) ?? null,
    locations: placeOf(sent.locations),
  });
}

function advertContent(sent: SentUpsert['advert']): AdvertContent {
  const { uuid: _uuid, ...content } = sent;
  return Object.assign(content, {
    price: unlessZero(sent.price),
    surface: unlessZero(sent.surface),
    landSurface: unlessZero(sent.landSurface),
    constructionYear: unlessZero(sent.constructionYear),
    createdAt: inUtcIfKnown(sent.createdAt),
    updatedAt: inUtcIfKnown(sent.updatedAt),
    features: sent.features ?? [],
    pictures: sent.pictures ?? [],
    picturesRemote: sent.picturesRemote ?? [],
  });
}

/** Sources write 0 for an unknown value: no home has 0 m² or 0 rooms, or costs 0 €. */
function unlessZero(value: number | null): number | null {
  return value === 0 ? null : value;
}

type SentPlace = SentUpsert['property']['locations'];

function isHalf(sent: SentPlace): boolean {
  return sent !== null && (sent.lat === null) !== (sent.lon === null);
}

/** A location whose coordinates are null is unknown, like an absent location. */
function placeOf(sent: SentPlace): StatedProperty['locations'] {
  if (sent === null || sent.lat === null || sent.lon === null) return null;
  return { lat: sent.lat, lon: sent.lon };
}

/** The schema accepts only one format with this length and a `Z` at the end. */
const LENGTH_IN_UTC = '2026-03-10T08:15:00.000Z'.length;

function inUtc(instant: string): string {
  if (instant.length === LENGTH_IN_UTC && instant.endsWith('Z')) return instant;
  return new Date(instant).toISOString();
}

function inUtcIfKnown(instant: string | null): string | null {
  return instant === null ? null : inUtc(instant);
}
