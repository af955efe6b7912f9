/** A test's own connections to a database. */

import pg from 'pg';
import { type DatabasePool, openDatabase } from '../../src/engine/store/database.ts';
import type { Cleanup } from './servers.ts';

/** The server may stop before the pool ends, so errors of idle connections are expected. */
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

/** Passes a connection to `work`, then closes it. Rejects if the server is unreachable or refuses the login. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  // A test may kill the server during a query.
  client.on('error', () => undefined);
  await client.connect();
  return work(client).finally(() => client.end());
}

/** Runs a statement over its own connection; resolves with its rows. */
export async function queryOnce(url: string, text: string): Promise<readonly unknown[]> {
  return withClient(url, async (client) => (await client.query(text)).rows);
}
