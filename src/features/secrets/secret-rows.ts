/** A client's webhook secrets: made, listed, and ended one after the other. What signs is read by the engine. */

import { randomBytes } from 'node:crypto';
import { timeOrderedUuid, type Uuid } from '../../engine/domain/ids.ts';
import { type Database, type Queryable, transaction } from '../../engine/store/database.ts';
import { IS_SECRET_ALIVE } from '../../engine/store/webhook-secrets.ts';

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
/** Of locks that are held to the end of a transaction; the second key is the client's. */
const LOCK_CLASS = 0x5ec4;

/** Those that are alive, oldest first. Served by webhook_secrets_client. */
export async function listWebhookSecrets(database: Queryable, clientId: Uuid): Promise<readonly WebhookSecret[]> {
  const { rows } = await database.query<WebhookSecret>(
    `select ${COLUMNS} from webhook_secrets where client_id = $1 and ${IS_SECRET_ALIVE} order by id`,
    [clientId],
  );
  return rows;
}

/** Null when there is none, it has expired, or it is another client's. Served by the primary key. */
export async function readWebhookSecret(database: Queryable, clientId: Uuid, id: Uuid): Promise<WebhookSecret | null> {
  const { rows } = await database.query<WebhookSecret>(
    `select ${COLUMNS} from webhook_secrets where id = $1 and client_id = $2 and ${IS_SECRET_ALIVE}`,
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
       where client_id = $1 and ${IS_SECRET_ALIVE}`,
      [clientId, overlapHours],
    );
    const { rows } = await connection.query<WebhookSecret>(
      `insert into webhook_secrets (id, client_id, secret)
       select $1, $2, $3
       where (select count(*) from webhook_secrets where client_id = $2 and ${IS_SECRET_ALIVE}) < $4 returning ${COLUMNS}`,
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
    `delete from webhook_secrets where id = $1 and client_id = $2 and ${IS_SECRET_ALIVE}`,
    [id, clientId],
  );
  return rowCount === 1;
}

/** What has expired, and what deleted clients had. Reads every secret: there are three a client at most. */
export async function removeWebhookSecrets(database: Queryable): Promise<number> {
  const { rowCount } = await database.query(
    `delete from webhook_secrets where not ${IS_SECRET_ALIVE}
       or client_id in (select id from clients where deleted_at is not null)`,
  );
  return rowCount ?? 0;
}
