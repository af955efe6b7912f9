/** A test's own look into the daemon's database. */

import pg from 'pg';
import { type DatabasePool, openDatabase } from '../../src/engine/store/database.ts';
import type { Cleanup } from './servers.ts';

/** Cleanups run in order, so the server is gone before the pool ends: lost idle connections are expected. */
export function connectDatabase(cleanup: Cleanup, url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on('error', () => undefined);
  cleanup.after(() => pool.end());
  return pool;
}

/** As the service opens it; ended with the test, and deaf to connections that a test breaks. */
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

/** Over a connection of its own. Rejects when the server cannot be reached, refuses the user or the statement. */
export async function queryOnce(url: string, text: string): Promise<readonly unknown[]> {
  const client = new pg.Client(url);
  // A test may kill the server under it.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
