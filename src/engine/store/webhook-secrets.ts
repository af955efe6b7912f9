/**
 * Secrets of a client that sign all its webhooks, beside the token of each search (decisions, section 11). The couriers
 * need them for every attempt, so each caches them for a few seconds; a change is announced, like that of a key, and
 * known everywhere within `SECRET_STALENESS_MAX_MS`.
 */

import { LRUCache } from 'lru-cache';
import type { Uuid } from '../domain/ids.ts';
import type { Queryable } from './database.ts';

/** In the form of the index, so that expired ones are not read. */
export const IS_SECRET_ALIVE = `coalesce(expires_at, 'infinity') > now()`;

interface HeldSecret {
  readonly value: string;
  readonly expiresAt: Date | null;
}

const SECRET_STALENESS_MAX_MS = 5_000;
const CLIENTS_REMEMBERED_MAX = 10_000;

/** The secrets that sign a client's webhooks at a moment, the oldest first. */
export type SecretsAt = (sentAt: Date) => readonly string[];

export interface WebhookSecrets {
  /** For each client; immediate for recently read ones. */
  read(clientIds: readonly Uuid[]): Promise<readonly (readonly [Uuid, SecretsAt])[]>;
  /** Drops the cache. */
  forget(): void;
}

/** With its own cache; one per process. `nowMs` is any monotonic clock. */
export function rememberWebhookSecrets(
  database: Queryable,
  nowMs: () => number = () => performance.now(),
): WebhookSecrets {
  const remembered = new LRUCache<Uuid, { readonly secretsAt: SecretsAt; readonly atMs: number }>({
    max: CLIENTS_REMEMBERED_MAX,
  });
  let forgotten = 0;
  return {
    async read(clientIds) {
      const askedAtMs = nowMs();
      const present = (id: Uuid): SecretsAt | undefined => {
        const known = remembered.get(id);
        return known !== undefined && askedAtMs - known.atMs < SECRET_STALENESS_MAX_MS ? known.secretsAt : undefined;
      };
      const missing = clientIds.filter((id) => present(id) === undefined);
      if (missing.length === 0) return clientIds.map((id) => [id, present(id) as SecretsAt]);
      const before = forgotten;
      const read = await readSecrets(database, missing);
      // A read that began before the change may be outdated.
      if (forgotten === before) {
        for (const [id, secretsAt] of read) remembered.set(id, { secretsAt, atMs: askedAtMs });
      }
      return clientIds.map((id) => [id, read.get(id) ?? present(id) ?? NO_SECRETS]);
    },
    forget() {
      forgotten += 1;
      remembered.clear();
    },
  };
}

/** The secrets that sign now, read anew. Served by webhook_secrets_client. */
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
  const { rows } = await database.query<HeldSecret & { readonly clientId: Uuid }>({
    name: 'read-webhook-secrets',
    text: `
      select client_id as "clientId", secret as value, expires_at as "expiresAt" from webhook_secrets
      where client_id = any($1::uuid[]) and ${IS_SECRET_ALIVE} order by id`,
    values: [clientIds],
  });
  const byClient = new Map<Uuid, HeldSecret[]>(clientIds.map((id) => [id, []]));
  for (const row of rows) byClient.get(row.clientId)?.push(row);
  return new Map([...byClient].map(([id, held]) => [id, held.length === 0 ? NO_SECRETS : aliveOf(held)]));
}

function aliveOf(held: readonly HeldSecret[]): SecretsAt {
  return (sentAt) => held.filter(({ expiresAt }) => expiresAt === null || expiresAt > sentAt).map(({ value }) => value);
}
