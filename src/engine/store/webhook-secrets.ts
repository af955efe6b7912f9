/**
 * Secrets of a client that sign all its webhooks, beside the token of each search (decisions, section 11). The couriers
 * need them for every attempt, so each remembers them for a few seconds; a change is announced, as that of a key is, and
 * known everywhere within `SECRET_STALENESS_MAX_MS`.
 */

import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { timeOrderedUuid, type Uuid } from '../domain/ids.ts';
import { type Database, type Queryable, transaction } from './database.ts';

export const WEBHOOK_SECRETS_MAX = 3;

/** Without its value, which its client alone has. */
export interface WebhookSecret {
  readonly id: Uuid;
  readonly createdAt: Date;
  /** Null: never. */
  readonly expiresAt: Date | null;
  /** Its last characters, by which people distinguish secrets. */
  readonly hint: string;
}

/** Nothing was made: the client has as many as it may have. */
export class TooManySecretsError extends Error {
  readonly code = 'TOO_MANY_SECRETS';
}

/** `=`, which ends them all, says nothing. */
const COLUMNS = `id, created_at as "createdAt", expires_at as "expiresAt", right(rtrim(secret, '='), 4) as hint`;
/** As the index has it, so that what has ended is not read. */
const IS_ALIVE = `coalesce(expires_at, 'infinity') > now()`;
/** Of locks that are held to the end of a transaction; the second key is the client's. */
const LOCK_CLASS = 0x5ec4;

/** Those that are alive, oldest first. Served by webhook_secrets_client. */
export async function listWebhookSecrets(database: Queryable, clientId: Uuid): Promise<readonly WebhookSecret[]> {
  const { rows } = await database.query<WebhookSecret>(
    `select ${COLUMNS} from webhook_secrets where client_id = $1 and ${IS_ALIVE} order by id`,
    [clientId],
  );
  return rows;
}

/** Null when there is none, it has expired, or it is another client's. Served by the primary key. */
export async function readWebhookSecret(database: Queryable, clientId: Uuid, id: Uuid): Promise<WebhookSecret | null> {
  const { rows } = await database.query<WebhookSecret>(
    `select ${COLUMNS} from webhook_secrets where id = $1 and client_id = $2 and ${IS_ALIVE}`,
    [id, clientId],
  );
  return rows[0] ?? null;
}

/**
 * The only moment the value exists outside its owner's hands. The older ones expire `overlapHours` from now, unless they
 * do so before. Throws `TooManySecretsError`. Served by webhook_secrets_client.
 */
export async function createWebhookSecret(
  database: Database,
  clientId: Uuid,
  overlapHours: number,
): Promise<{ readonly secret: WebhookSecret; readonly value: string }> {
  const value = `whsec_${randomBytes(32).toString('base64')}`;
  return transaction(database, async (connection) => {
    // Two that ask at once do not both take the last place.
    await connection.query('select pg_advisory_xact_lock($1, hashtext($2))', [LOCK_CLASS, clientId]);
    await connection.query(
      `update webhook_secrets set expires_at = least(expires_at, now() + $2 * interval '1 hour')
       where client_id = $1 and ${IS_ALIVE}`,
      [clientId, overlapHours],
    );
    const { rows } = await connection.query<WebhookSecret>(
      `insert into webhook_secrets (id, client_id, secret)
       select $1, $2, $3
       where (select count(*) from webhook_secrets where client_id = $2 and ${IS_ALIVE}) < $4 returning ${COLUMNS}`,
      [timeOrderedUuid(new Date()), clientId, value, WEBHOOK_SECRETS_MAX],
    );
    const [secret] = rows;
    if (secret === undefined) throw new TooManySecretsError(`${clientId} has ${WEBHOOK_SECRETS_MAX} secrets`);
    return { secret, value };
  });
}

/** False when there is none, it has expired, or it is another client's. Served by the primary key. */
export async function deleteWebhookSecret(database: Queryable, clientId: Uuid, id: Uuid): Promise<boolean> {
  const { rowCount } = await database.query(
    `delete from webhook_secrets where id = $1 and client_id = $2 and ${IS_ALIVE}`,
    [id, clientId],
  );
  return rowCount === 1;
}

/** What has expired, and what deleted clients had. Reads every secret: there are three a client at most. */
export async function removeWebhookSecrets(database: Queryable): Promise<number> {
  const { rowCount } = await database.query(
    `delete from webhook_secrets where not ${IS_ALIVE}
       or client_id in (select id from clients where deleted_at is not null)`,
  );
  return rowCount ?? 0;
}

interface HeldSecret {
  readonly value: string;
  readonly expiresAt: Date | null;
}

const SECRET_STALENESS_MAX_MS = 5_000;
const CLIENTS_REMEMBERED_MAX = 10_000;

/** What signs the webhooks of a client that are sent at a moment, the oldest secret first. */
export type SecretsAt = (sentAt: Date) => readonly string[];

export interface WebhookSecrets {
  /** Of each client; at once where all of them were asked for just before. */
  read(clientIds: readonly Uuid[]): Promise<readonly (readonly [Uuid, SecretsAt])[]>;
  /** What was read before no longer counts. */
  forget(): void;
}

/** With a memory of its own; one per process. `nowMs` is any clock that never goes backwards. */
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
      // What was asked before the news may be older than they are.
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

/** What signs at this moment, read anew. Served by webhook_secrets_client. */
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
      where client_id = any($1::uuid[]) and ${IS_ALIVE} order by id`,
    values: [clientIds],
  });
  const byClient = new Map<Uuid, HeldSecret[]>(clientIds.map((id) => [id, []]));
  for (const row of rows) byClient.get(row.clientId)?.push(row);
  return new Map([...byClient].map(([id, held]) => [id, held.length === 0 ? NO_SECRETS : aliveOf(held)]));
}

function aliveOf(held: readonly HeldSecret[]): SecretsAt {
  return (sentAt) => held.filter(({ expiresAt }) => expiresAt === null || expiresAt > sentAt).map(({ value }) => value);
}
