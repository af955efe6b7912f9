/** Resource names (AIP-122): `collection/id`, read strictly and written in one place. */

import { DISPLAY_NAME_LENGTH_MAX } from '../engine/domain/client-limits.ts';
import { parseUuid, type Uuid } from '../engine/domain/ids.ts';
import { findClientByName, isClient } from '../engine/store/clients.ts';
import type { Queryable } from '../engine/store/database.ts';
import { invalidArgument, notFound } from './errors.ts';
import { textOf } from './fields.ts';

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

/** `collection` as in `clients`; throws INVALID_ARGUMENT that names `field`. */
export function uuidOfName(field: string, collection: string, name: string): Uuid {
  const id = parseUuid(idOfName(field, collection, name));
  if (id === null) throw invalidArgument(field, `must be ${collection}/{uuid}`);
  return id;
}

/** Null when the field is empty: a condition that is not set. */
export function optionalUuidOfName(field: string, collection: string, name: string): Uuid | null {
  return name === '' ? null : uuidOfName(field, collection, name);
}

/** Of `clients/{client}`, or of the client that is called so. Throws INVALID_ARGUMENT when empty, NOT_FOUND. */
export async function clientIdOf(field: string, client: string, database: Queryable): Promise<Uuid> {
  if (client === '') throw invalidArgument(field, 'must be clients/{client} or the display name of one');
  if (!client.startsWith('clients/')) {
    const called = await findClientByName(database, textOf(field, client, DISPLAY_NAME_LENGTH_MAX));
    if (called === null) throw notFound('Client', client, `there is no client that is called ${client}`);
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
  const key = idOfName(field, 'endpoints', name);
  if (!/^[0-9a-f]{16}([0-9a-f]{16})?$/.test(key)) {
    throw invalidArgument(field, 'must be endpoints/{16 hexadecimal digits of a URL, 32 of a client and a URL}');
  }
  return key;
}

export function optionalEndpointKey(field: string, name: string): string | null {
  return name === '' ? null : endpointKeyOfName(field, name);
}

export function deadLetterIdOfName(field: string, name: string): number {
  const id = idOfName(field, 'deadLetters', name);
  if (!/^[1-9]\d{0,14}$/.test(id)) throw invalidArgument(field, 'must be deadLetters/{number}');
  return Number(id);
}

export function pointSourceOfName(field: string, name: string): string {
  const source = idOfName(field, 'pointSources', name);
  if (!/^[\w.-]{1,100}$/.test(source)) {
    throw invalidArgument(field, 'must be pointSources/{1 to 100 letters, digits, dots, hyphens or underscores}');
  }
  return source;
}

export function apiKeyOfName(field: string, name: string): { readonly clientId: Uuid; readonly id: Uuid } {
  const [, client = '', key = ''] = /^clients\/([^/]+)\/apiKeys\/([^/]+)$/.exec(name) ?? [];
  const [clientId, id] = [parseUuid(client), parseUuid(key)];
  if (clientId === null || id === null) throw invalidArgument(field, 'must be clients/{uuid}/apiKeys/{uuid}');
  return { clientId, id };
}

export function idOfName(field: string, collection: string, name: string): string {
  const prefix = `${collection}/`;
  if (!name.startsWith(prefix) || name.length === prefix.length) {
    throw invalidArgument(field, `must be ${collection}/{id}`);
  }
  return name.slice(prefix.length);
}
