/**
 * Secrets that sign all webhooks of a client, in addition to the token of each search (decisions, section 11). Every
 * attempt needs them, so each courier caches them for a few seconds. Changes are announced, like those of API keys, and
 * have an effect everywhere within `STALENESS_MAX_MS`.
 */

import { randomBytes } from 'node:crypto';
import { timeOrderedUuid, type Uuid } from '../domain/ids.ts';
import { type Database, type Queryable, transaction } from './database.ts';
import { rememberReads } from './gathered-reads.ts';

/** The same expression as in the index, so that expired secrets are not read. */
export const IS_SECRET_ALIVE = `coalesce(expires_at, 'infinity') > now()`;

interface StoredSecret {
  readonly value: string;
  readonly expiresAt: Date | null;
}

/** Returns the secrets that sign a client's webhooks at a given time, the oldest first. */
export type SecretsAt = (sentAt: Date) => readonly string[];

export type WebhookSecrets = ReturnType<typeof rememberWebhookSecrets>;

/** Reads secrets with a cache. Create one per process. `nowMs` is any monotonic clock. */
export function rememberWebhookSecrets(database: Queryable, nowMs?: () => number) {
  const { read, forget } = rememberReads((clientIds) => readSecrets(database, clientIds as readonly Uuid[]), nowMs);
  return {
    /** The secrets of each client, from the cache if they were read recently. */
    read: (clientIds: readonly Uuid[]) =>
      Promise.all(clientIds.map(async (id) => [id, (await read(id)) ?? NO_SECRETS] as const)),
    forget,
  };
}

/** The secrets that sign at `sentAt`, without the cache. Served by webhook_secrets_client. */
export async function readSigningSecrets(
  database: Queryable,
  clientId: Uuid,
  sentAt: Date,
): Promise<readonly string[]> {
  const secrets = await readSecrets(database, [clientId]);
  return (secrets.get(clientId) ?? NO_SECRETS)(sentAt);
}

const NO_SECRETS: SecretsAt = () => [];

/** Served by webhook_secrets_client. */
async function readSecrets(database: Queryable, clientIds: readonly Uuid[]): Promise<ReadonlyMap<Uuid, SecretsAt>> {
  const { rows } = await database.query<StoredSecret & { readonly clientId: Uuid }>({
    name: 'read-webhook-secrets',
    text: `
      select client_id as "clientId", secret as value, expires_at as "expiresAt" from webhook_secrets
      where client_id = any($1::uuid[]) and ${IS_SECRET_ALIVE} order by id`,
    values: [clientIds],
  });
  const byClient = new Map<Uuid, StoredSecret[]>(clientIds.map((id) => [id, []]));
  for (const row of rows) byClient.get(row.clientId)?.push(row);
  return new Map([...byClient].map(([id, stored]) => [id, stored.length === 0 ? NO_SECRETS : aliveOf(stored)]));
}

function aliveOf(stored: readonly StoredSecret[]): SecretsAt {
  return (sentAt) =>
    stored.filter(({ expiresAt }) => expiresAt === null || expiresAt > sentAt).map(({ value }) => value);
}

export const WEBHOOK_SECRETS_MAX = 3;

/** A secret without its value, which is shown only when it is created. */
export interface WebhookSecret {
  readonly id: Uuid;
  readonly createdAt: Date;
  /** Null if it never expires. */
  readonly expiresAt: Date | null;
  /** The last characters of its value, so that people can distinguish secrets. */
  readonly hint: string;
}

/** The last character of every value is `=`, which carries no information. */
const COLUMNS = `id, created_at as "createdAt", expires_at as "expiresAt", right(rtrim(secret, '='), 4) as hint`;
/** The first key of an advisory lock, which lasts until the transaction ends. The second key is the client's. */
const LOCK_CLASS = 0x5ec4;

/** The unexpired secrets, oldest first. Served by webhook_secrets_client. */
export async function listWebhookSecrets(database: Queryable, clientId: Uuid): Promise<readonly WebhookSecret[]> {
  const { rows } = await database.query<WebhookSecret>(
    `select ${COLUMNS} from webhook_secrets where client_id = $1 and ${IS_SECRET_ALIVE} order by id`,
    [clientId],
  );
  return rows;
}

/** Null if it does not exist, has expired, or is another client's. Served by the primary key. */
export async function readWebhookSecret(database: Queryable, clientId: Uuid, id: Uuid): Promise<WebhookSecret | null> {
  const { rows } = await database.query<WebhookSecret>(
    `select ${COLUMNS} from webhook_secrets where id = $1 and client_id = $2 and ${IS_SECRET_ALIVE}`,
    [id, clientId],
  );
  return rows[0] ?? null;
}

/**
 * Only this call returns the value of the secret. The older secrets expire `overlapHours` from now, or earlier. With
 * an overlap, a client that has the maximum number gets null, and nothing changes. Served by webhook_secrets_client.
 */
export async function createWebhookSecret(
  database: Database,
  clientId: Uuid,
  overlapHours: number,
): Promise<{ readonly secret: WebhookSecret; readonly value: string } | null> {
  const value = `whsec_${randomBytes(32).toString('base64')}`;
  return transaction(database, async (connection) => {
    // Two concurrent requests must not both create the last secret that the maximum allows.
    await connection.query('select pg_advisory_xact_lock($1, hashtext($2))', [LOCK_CLASS, clientId]);
    const present = await listWebhookSecrets(connection, clientId);
    // Without an overlap the present secrets end now.
    if (overlapHours > 0 && present.length >= WEBHOOK_SECRETS_MAX) return null;
    await connection.query(
      `update webhook_secrets set expires_at = least(expires_at, now() + $2 * interval '1 hour')
       where client_id = $1 and ${IS_SECRET_ALIVE}`,
      [clientId, overlapHours],
    );
    const { rows } = await connection.query<WebhookSecret>(
      `insert into webhook_secrets (id, client_id, secret) values ($1, $2, $3) returning ${COLUMNS}`,
      [timeOrderedUuid(new Date()), clientId, value],
    );
    return { secret: rows[0] as WebhookSecret, value };
  });
}

/** False if it does not exist, has expired, or is another client's. Served by the primary key. */
export async function deleteWebhookSecret(database: Queryable, clientId: Uuid, id: Uuid): Promise<boolean> {
  const { rowCount } = await database.query(
    `delete from webhook_secrets where id = $1 and client_id = $2 and ${IS_SECRET_ALIVE}`,
    [id, clientId],
  );
  return rowCount === 1;
}

/** Removes expired secrets, and those of deleted clients. Reads every secret: few per client. */
export async function removeWebhookSecrets(database: Queryable): Promise<number> {
  const { rowCount } = await database.query(
    `delete from webhook_secrets where not ${IS_SECRET_ALIVE}
       or client_id in (select id from clients where deleted_at is not null)`,
  );
  return rowCount ?? 0;
}
