/**
 * Checks that each connection has its own session of PostgreSQL. A pooler in session mode ensures this. In
 * transaction mode, however, each transaction may run in another session. The leadership lock would belong to no
 * instance, and statements would be prepared in one session and executed in another. Planner settings and timeouts
 * would be arbitrary. Therefore Vigie refuses to start with such a pooler.
 */

import type { PoolClient } from 'pg';
import type { DatabasePool } from './database.ts';
import { DatabaseUrlError } from './database-servers.ts';

/** Throws `DatabaseUrlError`, or the error that prevented a connection. */
export async function checkSessions(database: DatabasePool): Promise<void> {
  const first = await database.connect();
  try {
    const pid = await processIdOf(first);
    // Without a pooler, the cancel key names the server process. A pooler makes its own keys.
    if (pid === (first as unknown as { readonly processID: number }).processID) return;
    if (await isShared(first, pid, database)) {
      throw new DatabaseUrlError(
        'DATABASE_URL names a connection pooler in transaction mode. Set its pool_mode to session, or name PostgreSQL itself.',
      );
    }
  } finally {
    first.release();
  }
}

/** Whether a transaction of another connection runs in the session of `first`, or moves `first` to another session. */
async function isShared(first: PoolClient, pid: number, database: DatabasePool): Promise<boolean> {
  const second = await database.connect();
  try {
    await second.query('begin');
    return (await processIdOf(second)) === pid || (await processIdOf(first)) !== pid;
  } finally {
    await second.query('rollback');
    second.release();
  }
}

async function processIdOf(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return (rows[0] as { pid: number }).pid;
}
