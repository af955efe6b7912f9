/** Runs statements that usually end a recording transaction, and waits until other statements are blocked. */

import type { Database, Queryable, Statement } from '../../src/engine/store/database.ts';
import { untilIs } from './until.ts';

export async function runStatements(client: Queryable, statements: readonly Statement[]): Promise<void> {
  for (const { values, ...statement } of statements) await client.query({ ...statement, values: [...values] });
}

/** Waits until `count` statements in this database wait for a lock. */
export async function untilLocked(database: Pick<Database, 'query'>, count = 1): Promise<void> {
  const waiting = `select from pg_stat_activity
    where wait_event_type = 'Lock' and datname = current_database() and backend_type = 'client backend'`;
  await untilIs(async () => (await database.query(waiting)).rowCount, count);
}
