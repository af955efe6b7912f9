/** Small builders of adverts, intake messages and what they leave behind. Times are minutes after one morning. */

import type { AdvertContent } from '../../src/engine/domain/advert.ts';
import { applyMessage, type Change, type HeldProperty, type MessageOrigin } from '../../src/engine/domain/change.ts';
import type { City, ResolvePlace } from '../../src/engine/domain/city.ts';
import { type Uuid, uuidOf } from '../../src/engine/domain/ids.ts';
import type { ExpireMessage, IntakeMessage, UpsertMessage } from '../../src/engine/domain/intake-message.ts';
import type { StatedProperty } from '../../src/engine/domain/property.ts';
import { eachFlag } from '../../src/engine/domain/property-flags.ts';

export const PROPERTY = uuidOf('0d9e0c6a-0000-4000-8000-000000000001');
export const ADVERT = uuidOf('ad000000-0000-4000-8000-000000000001');
export const OTHER_ADVERT = uuidOf('ad000000-0000-4000-8000-000000000002');

/** In SQL, the price that the first advert of a row of `properties` states (domain/stored-property.ts). */
export const PRICE_HELD = `(state::json #>> '{1,0,1,3}')::integer`;

const MORNING = Date.parse('2026-03-10T08:00:00Z');

export function minute(count: number): string {
  return new Date(MORNING + count * 60_000).toISOString();
}

export const UNKNOWN_CONTENT: AdvertContent = {
  title: null,
  description: null,
  url: null,
  virtualTour: null,
  contact: null,
  publisher: null,
  createdAt: null,
  updatedAt: null,
  features: [],
  energy: null,
  greenHouseGas: null,
  constructionYear: null,
  floorQuantity: null,
  floor: null,
  lotCount: null,
  price: null,
  priceExcludingFees: null,
  renterFees: null,
  rentalPledge: null,
  inventoryPrice: null,
  rentalCharges: null,
  feesPercentage: null,
  condominiumFees: null,
  feesResponsibility: null,
  surface: null,
  landSurface: null,
  ...eachFlag(() => null),
  pictures: [],
  picturesRemote: [],
};

export const UNSTATED_PROPERTY: StatedProperty = {
  title: null,
  description: null,
  transactionType: null,
  propertyType: null,
  price: null,
  surface: null,
  landSurface: null,
  room: null,
  bedroom: null,
  floor: null,
  ...eachFlag(() => null),
  createdAt: null,
  pictures: null,
  stations: null,
  locations: null,
  city: null,
};

export interface MessageParts {
  readonly advertUuid?: Uuid;
  readonly propertyUuid?: Uuid;
  readonly advert?: Partial<AdvertContent>;
  readonly property?: Partial<StatedProperty>;
}

export function upsertAt(at: number, parts: MessageParts = {}): UpsertMessage {
  return {
    kind: 'upsert',
    crawledAt: minute(at),
    propertyUuid: parts.propertyUuid ?? PROPERTY,
    advertUuid: parts.advertUuid ?? ADVERT,
    property: { ...UNSTATED_PROPERTY, ...parts.property },
    advert: { ...UNKNOWN_CONTENT, ...parts.advert },
  };
}

const AN_HOUR_AGO = Date.now() - 3_600_000;
let crawls = 0;

/** A flat for sale, crawled after all others but before anything that this process does, whatever clock PostgreSQL has. */
export function recentFlat(
  propertyUuid: Uuid,
  advertUuid: Uuid,
  content: Partial<AdvertContent>,
  insee = TOULON.insee,
): UpsertMessage {
  crawls += 1;
  return {
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
  };
}

export function expireAt(
  at: number,
  parts: Pick<MessageParts, 'advertUuid' | 'propertyUuid'> & { readonly expiredAt?: string } = {},
): ExpireMessage {
  return {
    kind: 'expire',
    crawledAt: minute(at),
    propertyUuid: parts.propertyUuid ?? PROPERTY,
    advertUuid: parts.advertUuid ?? ADVERT,
    expiredAt: parts.expiredAt ?? null,
  };
}

let newest = 0;

/** Of a message that comes after all others. */
export function nextOrigin(): MessageOrigin {
  newest += 1;
  return { stream: 1, sequence: newest };
}

/** Every change that `messages` make, one after the other; they are new ones unless `origins` says where they are from. */
export function changesOf(
  messages: readonly IntakeMessage[],
  held: HeldProperty | null = null,
  origins: readonly MessageOrigin[] = messages.map(nextOrigin),
): readonly Change[] {
  const changes: Change[] = [];
  for (const [position, message] of messages.entries()) {
    const change = applyMessage(changes.at(-1)?.held ?? held, message, origins[position] as MessageOrigin);
    changes.push(change);
  }
  return changes;
}

/** What is held after `messages`; throws when that is nothing. */
export function heldAfter(...messages: IntakeMessage[]): HeldProperty {
  const held = changesOf(messages).at(-1)?.held ?? null;
  if (held === null) throw new Error('nothing is held after these messages');
  return held;
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

/** Knows Toulon by its INSEE code, and nothing else. */
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
