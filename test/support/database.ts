/** A test's own connections to the daemon's database. */

import pg from 'pg';
import { type DatabasePool, openDatabase } from '../../src/engine/store/database.ts';
import type { Cleanup } from './servers.ts';

/** Cleanups run in order, so the server stops before the pool ends, and errors of idle connections are expected. */
export function connectDatabase(cleanup: Cleanup, url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on('error', () => undefined);
  cleanup.after(() => pool.end());
  return pool;
}

/** Opens a pool as the service does. It ends with the test, and ignores connections that a test breaks. */
export function openTestDatabase(
  cleanup: Cleanup,
  url: string,
  connectionsMax: number,
  plans: 'pipeline' | 'requests' = 'requests',
): DatabasePool {
  const database = openDatabase({ url, connectionsMax, plans, onConnectionLost: () => undefined });
  cleanup.after(() => database.end());
  return database;
}

/** Runs a statement over its own connection. Rejects if the server is unreachable or refuses the login or statement. */
export async function queryOnce(url: string, text: string): Promise<readonly unknown[]> {
  const client = new pg.Client(url);
  // A test may kill the server during the query.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
