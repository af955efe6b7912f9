/**
 * The intake contract (decisions, section 8): bytes from a crawler become an `IntakeMessage` or a `PoisonError` that
 * says what is wrong with them. Members the contract does not know are ignored; an absent member is unknown.
 */

import type { ErrorObject } from 'ajv';
import type { AdvertContent } from './advert.ts';
import type { Uuid } from './ids.ts';
import { describeFault, type SentMessage, type SentUpsert, VALIDATORS } from './intake-schema.ts';
import type { StatedProperty } from './property.ts';

interface IntakeMessageBase {
  /** UTC, as `Date.prototype.toISOString` writes it. */
  readonly crawledAt: string;
  readonly propertyUuid: Uuid;
  readonly advertUuid: Uuid;
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

/** A message that no retry can make understood. */
export class PoisonError extends Error {
  readonly code = 'POISON';
}

/** Throws `PoisonError`. */
export function decodeIntakeMessage(bytes: Uint8Array): IntakeMessage {
  const sent = validated(parseJson(bytes));
  const { kind } = sent;
  const identity = {
    crawledAt: inUtc(sent.crawledAt),
    propertyUuid: sent.property.uuid.toLowerCase(),
    advertUuid: sent.advert.uuid.toLowerCase(),
  };
  if (kind === 'expire') return { ...identity, kind, expiredAt: inUtcIfKnown(sent.expiredAt) };
  return { ...identity, kind, property: statedProperty(sent.property), advert: advertContent(sent.advert) };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    // The reason quotes the bytes, and is stored itself.
    const reason = (cause as Error).message.toWellFormed().replaceAll('\0', '\ufffd');
    throw new PoisonError(`not JSON in UTF-8: ${reason}`, { cause });
  }
}

function validated(sent: unknown): SentMessage {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent))
    throw new PoisonError('message: must be an object');
  const { kind } = sent as { kind?: unknown };
  if (kind !== 'upsert' && kind !== 'expire') throw new PoisonError('kind: must be one of upsert, expire');
  const validate = VALIDATORS[kind];
  if (!validate(sent)) throw new PoisonError(describeFaults(validate.errors ?? []));
  return sent;
}

const FAULTS_SHOWN = 5;

function describeFaults(errors: readonly ErrorObject[]): string {
  const faults = errors.map(describeFault);
  const more = faults.length > FAULTS_SHOWN ? `; and ${faults.length - FAULTS_SHOWN} more` : '';
  return faults.slice(0, FAULTS_SHOWN).join('; ') + more;
}

function statedProperty(sent: SentUpsert['property']): StatedProperty {
  const { uuid: _uuid, ...property } = sent;
  return Object.assign(property, {
    createdAt: inUtcIfKnown(sent.createdAt),
    stations: sent.stations?.map((station) => ({ ...station, lines: station.lines ?? [] })) ?? null,
    locations: placeOf(sent.locations),
  });
}

function advertContent(sent: SentUpsert['advert']): AdvertContent {
  const { uuid: _uuid, ...content } = sent;
  return Object.assign(content, {
    createdAt: inUtcIfKnown(sent.createdAt),
    updatedAt: inUtcIfKnown(sent.updatedAt),
    features: sent.features ?? [],
    pictures: sent.pictures ?? [],
    picturesRemote: sent.picturesRemote ?? [],
  });
}

/** A place whose coordinates are both null is as unknown as none. */
function placeOf(sent: SentUpsert['property']['locations']): StatedProperty['locations'] {
  if (sent === null || (sent.lat === null && sent.lon === null)) return null;
  const { lat, lon } = sent;
  if (lat === null || lon === null) throw new PoisonError('property.locations: must have both lat and lon, or none');
  return { lat, lon };
}

function inUtc(instant: string): string {
  return new Date(instant).toISOString();
}

function inUtcIfKnown(instant: string | null): string | null {
  return instant === null ? null : inUtc(instant);
}
