/** The namespace and the label that identify a database on NATS. */

import type { Uuid } from '../domain/ids.ts';
import { type DatabaseLabel, NO_NAMESPACE } from '../domain/namespace.ts';
import type { Queryable } from './database.ts';
import { addressOf } from './database-servers.ts';

/** Stores `namespace` (null as `NO_NAMESPACE`) if none is stored. Resolves with the stored namespace. */
export async function recordNamespace(database: Queryable, namespace: string | null): Promise<string> {
  // The table has one row.
  const { rows } = await database.query<{ namespace: string }>(
    `with recorded as (update installation set namespace = $1 where namespace is null returning namespace)
     select coalesce((select namespace from recorded), (select namespace from installation), $1) as namespace`,
    [namespace ?? NO_NAMESPACE],
  );
  return (rows[0] as { namespace: string }).namespace;
}

/** The label that identifies this database on a shared NATS server. `url` is DATABASE_URL. The table has one row. */
export async function readDatabaseLabel(database: Queryable, url: string): Promise<DatabaseLabel> {
  const { rows } = await database.query<{ id: Uuid }>('select database_id as id from installation');
  return { id: (rows[0] as { id: Uuid }).id, address: addressOf(url) };
}
