/**
 * Whether connections are sessions of PostgreSQL's own. A pooler in session mode gives each connection one; in transaction
 * mode it gives each transaction another: the intake's leadership would belong to nobody, statements would be prepared
 * where they are not executed, and plans and time-outs would be anybody's. That is refused at the start.
 */

import type { PoolClient } from 'pg';
import type { DatabasePool } from './database.ts';
import { DatabaseUrlError } from './database-servers.ts';

/** Throws `DatabaseUrlError`, or what kept it from connecting. */
export async function checkSessions(database: DatabasePool): Promise<void> {
  const first = await database.connect();
  try {
    const pid = await processIdOf(first);
    // The key that cancels names the process; a pooler makes up keys of its own.
    if (pid === (first as unknown as { readonly processID: number }).processID) return;
    if (await isShared(first, pid, database)) {
      throw new DatabaseUrlError(
        'DATABASE_URL leads through a pooler in transaction mode: set its pool_mode to session, or name PostgreSQL itself',
      );
    }
  } finally {
    first.release();
  }
}

/** Another connection's transaction gets the session that `first` had, or `first` then gets another. */
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
