/**
 * Whether connections are sessions of PostgreSQL's own. A pooler in transaction mode (pgbouncer) gives each transaction
 * another session: the intake's leadership would belong to nobody, statements would be prepared where they are not
 * executed, and plans and time-outs would be anybody's. Vigie pools its connections itself, so it refuses at the start.
 */

import type { PoolClient } from 'pg';
import type { DatabasePool } from './database.ts';
import { DatabaseUrlError } from './database-servers.ts';

/** What a pooler says of session settings that it does not pass on. */
const PROTOCOL_VIOLATION = '08P01';
const ADVICE = 'name PostgreSQL itself, Vigie pools its own connections';

/** Throws `DatabaseUrlError`, or what kept it from connecting. */
export async function checkSessions(database: DatabasePool): Promise<void> {
  const first = await database.connect().catch((cause: Error & { readonly code?: string }) => {
    if (cause.code !== PROTOCOL_VIOLATION) throw cause;
    throw new DatabaseUrlError(`DATABASE_URL leads through a pooler (${cause.message}): ${ADVICE}`, { cause });
  });
  try {
    const { pid, plans } = await sessionOf(first);
    // The key that cancels names the process; a pooler makes up keys of its own.
    if (pid === (first as unknown as { readonly processID: number }).processID) return;
    if (plans === 'auto') {
      throw new DatabaseUrlError(`DATABASE_URL leads through a pooler that drops the settings of sessions: ${ADVICE}`);
    }
    if (await isShared(first, pid, database)) {
      throw new DatabaseUrlError(`DATABASE_URL leads through a pooler in transaction mode: ${ADVICE}`);
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
    return (await sessionOf(second)).pid === pid || (await sessionOf(first)).pid !== pid;
  } finally {
    await second.query('rollback');
    second.release();
  }
}

async function sessionOf(client: PoolClient): Promise<{ readonly pid: number; readonly plans: string }> {
  const { rows } = await client.query<{ pid: number; plans: string }>(
    `select pg_backend_pid() as pid, current_setting('plan_cache_mode') as plans`,
  );
  return rows[0] as { pid: number; plans: string };
}
