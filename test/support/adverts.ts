/** Small builders of adverts, intake messages and stored properties. `at` is in minutes after a fixed morning. */

import { hash } from 'node:crypto';
import type { AdvertContent } from '../../src/engine/domain/advert.ts';
import { applyMessage, type Change, type MessageOrigin, type StoredProperty } from '../../src/engine/domain/change.ts';
import type { City, ResolvePlace } from '../../src/engine/domain/city.ts';
import { EVENT_KINDS } from '../../src/engine/domain/codes.ts';
import { searchNumberOf, type Uuid, uuidOf } from '../../src/engine/domain/ids.ts';
import {
  type ExpireMessage,
  expiryDigest,
  type IntakeMessage,
  type UpsertMessage,
} from '../../src/engine/domain/intake-message.ts';
import type { StatedProperty, StoredAdvert } from '../../src/engine/domain/property.ts';
import type { SearchRoute } from '../../src/engine/domain/routing.ts';
import { readState } from '../../src/engine/domain/stored-property.ts';

export const PROPERTY = uuidOf('0d9e0c6a-0000-4000-8000-000000000001');
export const ADVERT = uuidOf('ad000000-0000-4000-8000-000000000001');
export const OTHER_ADVERT = uuidOf('ad000000-0000-4000-8000-000000000002');

/** SQL for the price that the first advert of a row of `properties` states (domain/stored-property.ts). */
export const PRICE_HELD = `(state::json #>> '{1,0,1,3}')::integer`;

const MORNING = Date.parse('2026-03-10T08:00:00Z');

export function minute(count: number): string {
  return new Date(MORNING + count * 60_000).toISOString();
}

/** Contents of an advert and of its property without any value: `readState` fills in the members that a row lacks. */
export const { content: UNKNOWN_CONTENT, property: UNSTATED_PROPERTY } = readState(
  JSON.stringify([PROPERTY, [[ADVERT, [], [], minute(0), minute(0), []]]]),
).adverts[0] as StoredAdvert;

export const NO_CONTACT = { agency: null, email: null, fax: null, name: null, phone: null, reference: null };

/** The route of a search that is notified of everything, at two endpoints. */
export const ROUTE: SearchRoute = {
  number: searchNumberOf(7),
  id: uuidOf('5ea2c400-0000-4000-8000-000000000007'),
  clientId: uuidOf('c11e2700-0000-4000-8000-000000000001'),
  endpointRecipient: 'https://client.example/matches',
  eventEndpoint: 'https://client.example/events',
  subscribedEvents: EVENT_KINDS,
  hidePropertyContact: false,
  generation: 0,
  version: 7,
  mail: null,
  thresholds: null,
};

export interface MessageParts {
  readonly advertUuid?: Uuid;
  readonly propertyUuid?: Uuid;
  readonly advert?: Partial<AdvertContent>;
  readonly property?: Partial<StatedProperty>;
}

/** The digest does not depend on the time of the crawl. */
export function digested<M extends Pick<IntakeMessage, 'kind'>>(message: M): M & { readonly digest: string } {
  const digest = hash('sha256', JSON.stringify({ ...message, crawledAt: null }));
  return { ...message, digest: message.kind === 'expire' ? expiryDigest(digest) : digest };
}

export function upsertAt(at: number, parts: MessageParts = {}): UpsertMessage {
  return digested({
    kind: 'upsert',
    crawledAt: minute(at),
    propertyUuid: parts.propertyUuid ?? PROPERTY,
    advertUuid: parts.advertUuid ?? ADVERT,
    property: { ...UNSTATED_PROPERTY, ...parts.property },
    advert: { ...UNKNOWN_CONTENT, ...parts.advert },
  });
}

const AN_HOUR_AGO = Date.now() - 3_600_000;
let crawls = 0;

/**
 * A flat for sale, crawled a millisecond after the previous flat, and an hour before this process started. The crawl
 * therefore precedes everything that the test does, even if PostgreSQL's clock differs.
 */
export function recentFlat(
  propertyUuid: Uuid,
  advertUuid: Uuid,
  content: Partial<AdvertContent>,
  insee = TOULON.insee,
): UpsertMessage {
  crawls += 1;
  return digested({
    kind: 'upsert',
    crawledAt: new Date(AN_HOUR_AGO + crawls).toISOString(),
    propertyUuid,
    advertUuid,
    property: {
      ...UNSTATED_PROPERTY,
      transactionType: 0,
      propertyType: 0,
      city: { insee, zipcode: null, name: null },
    },
    advert: { ...UNKNOWN_CONTENT, title: 'Appartement avec balcon', surface: 50, ...content },
  });
}

export function expireAt(
  at: number,
  parts: Pick<MessageParts, 'advertUuid' | 'propertyUuid'> & { readonly expiredAt?: string } = {},
): ExpireMessage {
  return digested({
    kind: 'expire',
    crawledAt: minute(at),
    propertyUuid: parts.propertyUuid ?? PROPERTY,
    advertUuid: parts.advertUuid ?? ADVERT,
    expiredAt: parts.expiredAt ?? null,
  });
}

let newest = 0;

/** Origin of a message that is later in the stream than all others. */
export function nextOrigin(): MessageOrigin {
  newest += 1;
  return { stream: 1, sequence: newest };
}

/** The changes that `messages` cause, one after another. Unless `origins` is given, each message is new. */
export function changesOf(
  messages: readonly IntakeMessage[],
  stored: StoredProperty | null = null,
  origins: readonly MessageOrigin[] = messages.map(nextOrigin),
): readonly Change[] {
  const changes: Change[] = [];
  for (const [position, message] of messages.entries()) {
    const change = applyMessage(changes.at(-1)?.stored ?? stored, message, origins[position] as MessageOrigin);
    changes.push(change);
  }
  return changes;
}

/** The stored property after `messages`; throws if nothing is stored. */
export function heldAfter(...messages: IntakeMessage[]): StoredProperty {
  const stored = changesOf(messages).at(-1)?.stored ?? null;
  if (stored === null) throw new Error('nothing is stored after these messages');
  return stored;
}

export const TOULON: City = {
  id: 30953,
  cityParentId: null,
  insee: '83137',
  name: 'Toulon',
  originalName: 'Toulon',
  zipcode: '83000',
  country: { code: 'FR', id: 1, name: 'France' },
  department: { code: '83', id: 84, name: 'Var' },
  region: { code: '93', id: 16, name: "Provence-Alpes-Côte d'Azur" },
  groupedCityNames: [],
  groupedCityZipcodes: ['83000', '83100', '83200'],
  hasGroupedByName: false,
  hasGroupedByZipcode: true,
  open: true,
  location: { lat: 43.1258, lon: 5.9306 },
};

/** Resolves only Toulon, by its INSEE code. */
export const resolveToulon: ResolvePlace = ({ insee, zipcode }) =>
  insee === TOULON.insee
    ? {
        city: TOULON,
        departmentCode: TOULON.department.code,
        zipcode,
        inseeCodes: [TOULON.insee],
        zipcodes: zipcode === null ? TOULON.groupedCityZipcodes : [zipcode],
      }
    : null;
