/**
 * Secrets that sign all webhooks of a client, in addition to the token of each search (decisions, section 11). Every
 * attempt needs them, so each courier caches them for a few seconds. Changes are announced, like those of API keys, and
 * have an effect everywhere within `STALENESS_MAX_MS`.
 */

import type { Uuid } from '../domain/ids.ts';
import type { Queryable } from './database.ts';
import { rememberReads } from './gathered-reads.ts';

/** The same expression as in the index, so that expired secrets are not read. */
export const IS_SECRET_ALIVE = `coalesce(expires_at, 'infinity') > now()`;

interface StoredSecret {
  readonly value: string;
  readonly expiresAt: Date | null;
}

/** Returns the secrets that sign a client's webhooks at a given time, the oldest first. */
export type SecretsAt = (sentAt: Date) => readonly string[];

export interface WebhookSecrets {
  /** The secrets of each client, from the cache if they were read recently. */
  read(clientIds: readonly Uuid[]): Promise<readonly (readonly [Uuid, SecretsAt])[]>;
  /** Drops the cache. */
  forget(): void;
}

/** Reads secrets with a cache. Create one per process. `nowMs` is any monotonic clock. */
export function rememberWebhookSecrets(database: Queryable, nowMs?: () => number): WebhookSecrets {
  const { read, forget } = rememberReads((clientIds) => readSecrets(database, clientIds as readonly Uuid[]), nowMs);
  return {
    read: (clientIds) => Promise.all(clientIds.map(async (id) => [id, (await read(id)) ?? NO_SECRETS] as const)),
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
