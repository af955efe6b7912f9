/**
 * Requests that have an effect only once, even if they are sent several times (decisions, section 11,
 * `Idempotency-Key`). The transaction that creates a resource also records the request, so a crash leaves both or
 * neither.
 */

import type { Uuid } from '../domain/ids.ts';
import { type Database, type Queryable, transaction } from './database.ts';

export interface KeyedRequest {
  readonly clientId: Uuid;
  readonly path: string;
  readonly key: string;
  readonly bodyHash: Buffer;
}

/** Null: the request is new. `under way`: it is in progress. `another body`: the key was used with another body. */
export type FormerRequest = null | 'under way' | 'another body' | { readonly resourceId: Uuid };

const KEPT_HOURS = 24;

/** Served by the primary key. */
export async function findFormerRequest(
  database: Queryable,
  { clientId, path, key, bodyHash }: KeyedRequest,
): Promise<Exclude<FormerRequest, 'under way'>> {
  const { rows } = await database.query<{ resourceId: Uuid; isSame: boolean }>(
    `select resource_id as "resourceId", body_hash = $4 as "isSame" from idempotency_keys
     where client_id = $1 and path = $2 and key = $3 and created_at > now() - interval '${KEPT_HOURS} hours'`,
    [clientId, path, key, bodyHash],
  );
  const [former] = rows;
  if (former === undefined) return null;
  return former.isSame ? { resourceId: former.resourceId } : 'another body';
}

export type MadeOnce<T> = { readonly made: T } | { readonly former: Exclude<FormerRequest, null> };

/** Runs `make` in a transaction, unless the key is in use or was used within a day. Served by the primary key. */
export async function makeOnce<T extends { readonly id: Uuid }>(
  database: Database,
  request: KeyedRequest,
  make: (connection: Queryable) => Promise<T>,
): Promise<MadeOnce<T>> {
  const { clientId, path, key, bodyHash } = request;
  return transaction(database, async (connection) => {
    const { rows } = await connection.query<{ isFirst: boolean }>(
      'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as "isFirst"',
      [`${clientId} ${path} ${key}`],
    );
    if (rows[0]?.isFirst !== true) return { former: 'under way' };
    const former = await findFormerRequest(connection, request);
    if (former !== null) return { former };
    const made = await make(connection);
    await connection.query(
      `insert into idempotency_keys (client_id, path, key, body_hash, resource_id) values ($1, $2, $3, $4, $5)
       on conflict (client_id, path, key) do update
       set body_hash = excluded.body_hash, resource_id = excluded.resource_id, created_at = now()`,
      [clientId, path, key, bodyHash, made.id],
    );
    return { made };
  });
}

/** Removes up to `limit` expired keys, and resolves with their number. Served by idempotency_keys_created. */
export async function removeIdempotencyKeys(client: Queryable, limit: number): Promise<number> {
  const { rowCount } = await client.query(
    `delete from idempotency_keys where (client_id, path, key) in (
       select client_id, path, key from idempotency_keys
       where created_at < now() - interval '${KEPT_HOURS} hours' order by created_at limit $1)`,
    [limit],
  );
  return rowCount ?? 0;
}
