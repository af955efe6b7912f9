/** Parses and writes resource names (AIP-122, `collection/id`), and parses other fields that several requests share. */

import type { StoredProperty } from '../engine/domain/change.ts';
import { parseUuid, type Uuid } from '../engine/domain/ids.ts';
import { DISPLAY_NAME_LENGTH_MAX } from '../engine/domain/search-limits.ts';
import { storable } from '../engine/domain/text.ts';
import { findClientByName, isClient } from '../engine/store/clients.ts';
import type { Queryable } from '../engine/store/database.ts';
import { findStoredProperty, type WantedProperty } from '../engine/store/property-summaries.ts';
import { both, Fault, text, type ValueRule } from '../values.ts';
import { invalidArgument, notFound, quoted } from './errors.ts';

export const nameOf = {
  apiKey: (clientId: Uuid, id: Uuid) => `clients/${clientId}/apiKeys/${id}`,
  client: (id: Uuid) => `clients/${id}`,
  deadLetter: (id: number) => `deadLetters/${id}`,
  delivery: (id: Uuid) => `deliveries/${id}`,
  endpoint: (key: string) => `endpoints/${key}`,
  instance: (id: Uuid) => `instances/${id}`,
  match: (id: Uuid) => `matches/${id}`,
  pointSource: (name: string) => `pointSources/${name}`,
  property: (uuid: Uuid) => `properties/${uuid}`,
  recovery: (id: Uuid) => `recoveries/${id}`,
  search: (id: Uuid) => `searches/${id}`,
  siteCategory: (id: number) => `siteCategories/${id}`,
  stage: (name: string) => `stages/${name}`,
  stream: (name: string) => `streams/${name}`,
};

/** `collection`: such as `clients`. Throws INVALID_ARGUMENT, which names `field`. */
export function uuidOfName(field: string, collection: string, name: string): Uuid {
  const id = parseUuid(idOfName(field, collection, name));
  if (id === null) throw invalidArgument(field, `must be ${collection}/{uuid}`);
  return id;
}

/** Null when the field is empty, which means no condition. */
export function optionalUuidOfName(field: string, collection: string, name: string): Uuid | null {
  return name === '' ? null : uuidOfName(field, collection, name);
}

/** `client`: `clients/{client}`, or the client's display name. Throws INVALID_ARGUMENT or NOT_FOUND. */
export async function clientIdOf(field: string, client: string, database: Queryable): Promise<Uuid> {
  if (client === '') throw invalidArgument(field, 'must be clients/{client} or a display name');
  if (!client.startsWith('clients/')) {
    const called = await findClientByName(database, valueOf(field, text(DISPLAY_NAME_LENGTH_MAX), client));
    if (called === null) throw notFound('Client', client, `There is no client with the name ${client}.`);
    return called.id;
  }
  const id = uuidOfName(field, 'clients', client);
  if (!(await isClient(database, id))) throw notFound('Client', client);
  return id;
}

/** Null when the field is empty. */
export async function optionalClientId(field: string, client: string, database: Queryable): Promise<Uuid | null> {
  return client === '' ? null : clientIdOf(field, client, database);
}

export function endpointKeyOfName(field: string, name: string): string {
  const form = '16 hexadecimal digits for a URL, or 32 for a client and a URL';
  return idOfName(field, 'endpoints', name, /^[0-9a-f]{16}([0-9a-f]{16})?$/, form);
}

export function pointSourceOfName(field: string, name: string): string {
  const form = '1 to 100 letters, digits, dots, hyphens or underscores';
  return idOfName(field, 'pointSources', name, /^[\w.-]{1,100}$/, form);
}

export function optionalEndpointKey(field: string, name: string): string | null {
  return name === '' ? null : endpointKeyOfName(field, name);
}

export function deadLetterIdOfName(field: string, name: string): number {
  return Number(idOfName(field, 'deadLetters', name, /^[1-9]\d{0,14}$/, 'number'));
}

export function apiKeyOfName(field: string, name: string): { readonly clientId: Uuid; readonly id: Uuid } {
  const [, client = '', key = ''] = /^clients\/([^/]+)\/apiKeys\/([^/]+)$/.exec(name) ?? [];
  const [clientId, id] = [parseUuid(client), parseUuid(key)];
  if (clientId === null || id === null) throw invalidArgument(field, 'must be clients/{uuid}/apiKeys/{uuid}');
  return { clientId, id };
}

/** `form` describes a valid id in the error message. Throws INVALID_ARGUMENT. */
export function idOfName(field: string, collection: string, name: string, id = /./s, form = 'id'): string {
  const stated = name.startsWith(`${collection}/`) ? name.slice(collection.length + 1) : '';
  if (!id.test(stated)) throw invalidArgument(field, `must be ${collection}/{${form}}`);
  return stated;
}

/** A property, identified by its name, by one of its adverts, or by the URL of one of its adverts on a portal. */
export interface NamedProperty {
  readonly property: string;
  readonly advert: string;
  readonly advertUrl: string;
}

/** Throws NOT_FOUND when the property is not stored, and INVALID_ARGUMENT unless exactly one valid field is set. */
export async function findNamedProperty(named: NamedProperty, database: Queryable): Promise<StoredProperty> {
  const wanted = wantedOf(named);
  if (wanted === null) throw invalidArgument('property', 'or advert or advert_url must be set');
  const stored = await findStoredProperty(database, wanted);
  if (stored !== null) return stored;
  const name = quoted(named.property || named.advert || named.advertUrl);
  throw notFound('Property', name, `There is no ${name}: it was never recorded, or was removed after it expired.`);
}

/** Null when no field is set. A property given by its name need not be stored. */
export async function optionalPropertyUuid(named: NamedProperty, database: Queryable): Promise<Uuid | null> {
  const wanted = wantedOf(named);
  if (wanted === null) return null;
  return wanted.property ?? (await findNamedProperty(named, database)).state.uuid;
}

function wantedOf({ property, advert, advertUrl }: NamedProperty): WantedProperty | null {
  const given = [property, advert, advertUrl].filter((each) => each !== '');
  if (given.length === 0) return null;
  if (given.length > 1) throw invalidArgument('property', 'must not be set together with advert or advert_url');
  return {
    property: optionalUuidOfName('property', 'properties', property),
    advert: optionalUuidOfName('advert', 'adverts', advert),
    url: advertUrl === '' ? null : advertUrl,
  };
}

const REASON_LENGTH_MAX = 200;

/** The reason that an operator gave, or null. */
export function reasonOf(reason: string): string | null {
  return valueOf('reason', text(REASON_LENGTH_MAX), storable(reason)).trim() || null;
}

const DISPLAY_NAME = text(DISPLAY_NAME_LENGTH_MAX, both('must not be blank', 'ne doit pas être vide'));

export function displayNameOf(field: string, displayName: string): string {
  return valueOf(field, DISPLAY_NAME, displayName.trim());
}

/** Throws INVALID_ARGUMENT. */
export function valueOf<Value>(field: string, rule: ValueRule<Value>, value: unknown): Value {
  const read = rule.read(value);
  if (read instanceof Fault) throw invalidArgument(field, read.message.en);
  return read;
}

/** Null when empty. */
export function optionalValue<Value>(field: string, rule: ValueRule<Value>, value: string): Value | null {
  return value === '' ? null : valueOf(field, rule, value);
}

/** `start_time` and `end_time` of a filter. */
export function timeRangeOf({ startTime, endTime }: Readonly<Record<'startTime' | 'endTime', Date | undefined>>) {
  if (startTime !== undefined && endTime !== undefined && startTime.getTime() > endTime.getTime()) {
    throw invalidArgument('end_time', 'must not be before start_time');
  }
  return { from: startTime ?? null, before: endTime ?? null };
}
