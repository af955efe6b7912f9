/**
 * Clients and their API keys. A key is shown only once, when it is created. PostgreSQL stores its public prefix and its
 * SHA-256 hash, which suffices because the key has 256 random bits. Verified keys are cached for a few seconds, so that
 * most requests need no query. A revoked key is refused as soon as its revocation is announced, and in any case within
 * `STALENESS_MAX_MS`.
 */

import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { randomUuid, type Uuid } from '../domain/ids.ts';
import { CLIENT_LIMIT_RANGES } from '../domain/search-limits.ts';
import { snakeCase } from '../domain/text.ts';
import { passed } from './claim-fence.ts';
import type { Queryable } from './database.ts';
import { rememberReads } from './gathered-reads.ts';

/** The limits of a client. If a limit is null, the configured default applies. */
export type ClientLimits = Readonly<Record<keyof typeof CLIENT_LIMIT_RANGES, number | null>>;

export interface ClientSettings extends ClientLimits {
  /** The e-mail address to which notices of failing endpoints are sent; null if there is none. */
  readonly noticeAddress: string | null;
  /** The client's name in e-mails to recipients; null if they show `name`. */
  readonly publicName: string | null;
}

export interface Client extends ClientSettings {
  readonly id: Uuid;
  readonly name: string;
  readonly createdAt: Date;
}

export interface ApiKey {
  readonly id: Uuid;
  readonly clientId: Uuid;
  readonly name: string;
  /** The public part of the key, by which people and logs distinguish keys. */
  readonly prefix: string;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

/** The client that makes a request, and its key. */
export interface Principal extends ClientLimits {
  readonly keyId: Uuid;
  readonly keyPrefix: string;
  readonly clientId: Uuid;
  readonly clientName: string;
  readonly publicName: string;
}

export class ClientNameTakenError extends Error {
  readonly code = 'CLIENT_NAME_TAKEN';
}

export class ClientUnknownError extends Error {
  readonly code = 'CLIENT_UNKNOWN';
}

/** The column of a setting has the setting's name, in snake case. */
const LIMITS = Object.keys(CLIENT_LIMIT_RANGES) as readonly (keyof ClientLimits)[];
const SETTINGS: readonly (keyof ClientSettings)[] = [...LIMITS, 'noticeAddress', 'publicName'];
const columnsOf = (settings: readonly string[]): string =>
  settings.map((setting) => `${snakeCase(setting)} as "${setting}"`).join(', ');
const CLIENT_COLUMNS = `id, name, ${columnsOf(SETTINGS)}, created_at as "createdAt"`;
/** SQL for the name of a client in e-mails to recipients, for a row of `clients`. */
export const PUBLIC_NAME = 'coalesce(clients.public_name, clients.name)';
const KEY_COLUMNS = `id, client_id as "clientId", name, prefix, created_at as "createdAt", revoked_at as "revokedAt"`;

export type NewClient = Partial<ClientSettings> & { readonly name: string };

/** Throws `ClientNameTakenError`. */
export async function createClient(database: Queryable, { name, ...settings }: NewClient): Promise<Client> {
  // Served by the unique index on name.
  const { rows } = await database.query<Client>(
    `insert into clients (id, name, ${SETTINGS.map(snakeCase).join(', ')})
     values ($1, $2, ${SETTINGS.map((_, i) => `$${i + 3}`).join(', ')})
     on conflict (name) do nothing returning ${CLIENT_COLUMNS}`,
    [randomUuid(), name, ...SETTINGS.map((setting) => settings[setting] ?? null)],
  );
  const [created] = rows;
  if (created === undefined) throw new ClientNameTakenError(`Client ${JSON.stringify(name)} exists. Use another name.`);
  return created;
}

/** Changes the given settings. Resolves with null if there is no such client. Served by the primary key. */
export async function updateClientSettings(
  database: Queryable,
  id: Uuid,
  settings: Partial<ClientSettings>,
): Promise<Client | null> {
  // An empty change sets the id to itself, so that the statement still returns the client.
  const changed = SETTINGS.filter((setting) => settings[setting] !== undefined);
  const assignments = changed.map((setting, i) => `${snakeCase(setting)} = $${i + 2}`);
  const { rows } = await database.query<Client>(
    `update clients set ${['id = id', ...assignments].join(', ')} where id = $1 returning ${CLIENT_COLUMNS}`,
    [id, ...changed.map((setting) => settings[setting])],
  );
  return rows[0] ?? null;
}

/** All clients except deleted ones, ordered by name. A sequential scan, because there are only hundreds of clients. */
export async function listClients(database: Queryable): Promise<readonly Client[]> {
  const { rows } = await database.query<Client>(
    `select ${CLIENT_COLUMNS} from clients where deleted_at is null order by name`,
  );
  return rows;
}

/** Null if there is no such client. Served by the unique index on name. */
export async function findClientByName(database: Queryable, name: string): Promise<Client | null> {
  const { rows } = await database.query<Client>(`select ${CLIENT_COLUMNS} from clients where name = $1`, [name]);
  return rows[0] ?? null;
}

/** Served by the primary key. */
export async function isClient(database: Queryable, id: Uuid): Promise<boolean> {
  const { rowCount } = await database.query('select from clients where id = $1', [id]);
  return rowCount === 1;
}

/** Creates a key and resolves with it. The key is not stored and cannot be read again. Throws `ClientUnknownError`. */
export async function createApiKey(
  database: Queryable,
  clientId: Uuid,
  name: string,
): Promise<{ readonly key: string; readonly apiKey: ApiKey }> {
  const prefix = randomBytes(4).toString('hex');
  const key = `vigie_${prefix}_${randomBytes(32).toString('base64url')}`;
  // Served by the primary key of clients.
  const { rows } = await database.query<ApiKey>(
    `insert into api_keys (id, client_id, name, prefix, hash)
     select $1, id, $3, $4, $5 from clients where id = $2 and deleted_at is null returning ${KEY_COLUMNS}`,
    [randomUuid(), clientId, name, prefix, hashOf(key)],
  );
  const [apiKey] = rows;
  if (apiKey === undefined) throw new ClientUnknownError(`There is no client with the id ${clientId}.`);
  return { key, apiKey };
}

/**
 * Marks the client as deleted, revokes its keys, deletes its webhook secrets and makes its name available again. After
 * this resolves, no attempt of its webhooks begins. Its searches are deleted later (cancellations.ts). Resolves with
 * false if there is no such client. Served by the primary key, api_keys_client and webhook_secrets_client.
 */
export async function deleteClient(database: Queryable, id: Uuid): Promise<boolean> {
  const { rowCount } = await database.query(
    `with deleted as (
       update clients set deleted_at = now(), name = 'deleted ' || id, notice_address = null, public_name = null
       where id = $1 and deleted_at is null returning id
     ), revoked as (
       update api_keys set revoked_at = now() from deleted where client_id = deleted.id and revoked_at is null
     ), unsigned as (
       delete from webhook_secrets using deleted where client_id = deleted.id
     )
     select from deleted`,
    [id],
  );
  if (rowCount === 1) await passed(database);
  return rowCount === 1;
}

/** The keys of a client, including revoked ones, newest first. Served by api_keys_client. */
export async function listApiKeys(database: Queryable, clientId: Uuid): Promise<readonly ApiKey[]> {
  const { rows } = await database.query<ApiKey>(
    `select ${KEY_COLUMNS} from api_keys where client_id = $1 order by created_at desc, id`,
    [clientId],
  );
  return rows;
}

/** Resolves with false if there is no such key or it is already revoked. Served by the primary key. */
export async function revokeApiKey(database: Queryable, id: Uuid): Promise<boolean> {
  const { rowCount } = await database.query(
    'update api_keys set revoked_at = now() where id = $1 and revoked_at is null',
    [id],
  );
  return rowCount === 1;
}

const KEY_PATTERN = /^vigie_[0-9a-f]{8}_[A-Za-z0-9_-]{43}$/;

/** Null if the key is malformed, unknown, revoked or of a deleted client. A cached result is returned synchronously. */
export type VerifyApiKey = (key: string) => Principal | null | Promise<Principal | null>;

/** Unknown keys are not cached, because a key may be created a moment later. */
export function apiKeyVerifier(database: Queryable, nowMs?: () => number) {
  const { read, forget } = rememberReads((keyHashes) => findPrincipals(database, keyHashes), nowMs);
  return {
    // The cache has hashes as keys, so that no usable API key stays in memory.
    verify: (key: string) => (KEY_PATTERN.test(key) ? read(hash('sha256', key, 'base64')) : null),
    /** Call this after a key was revoked or a client was changed or deleted. */
    forget,
  };
}

/**
 * Finds principals by the hashes of keys, in base64. Served by the unique index on hash. The final comparison takes
 * constant time, so that it does not reveal where the bytes differ.
 */
async function findPrincipals(
  database: Queryable,
  keyHashes: readonly string[],
): Promise<ReadonlyMap<string, Principal>> {
  const hashes = keyHashes.map((keyHash) => Buffer.from(keyHash, 'base64'));
  const { rows } = await database.query<Principal & { hash: Buffer }>(
    `select k.hash, k.id as "keyId", k.prefix as "keyPrefix", clients.id as "clientId", clients.name as "clientName",
       ${PUBLIC_NAME} as "publicName", ${columnsOf(LIMITS)}
     from api_keys k join clients on clients.id = k.client_id
     where k.hash = any($1::bytea[]) and k.revoked_at is null and clients.deleted_at is null`,
    [hashes],
  );
  return new Map(
    rows.flatMap(({ hash: found, ...principal }) => {
      const position = hashes.findIndex((requested) => timingSafeEqual(found, requested));
      return position < 0 ? [] : [[keyHashes[position] as string, principal]];
    }),
  );
}

function hashOf(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}
