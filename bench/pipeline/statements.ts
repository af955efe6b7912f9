/** Statistics that PostgreSQL collects. */

import { type Database, openDatabase } from '../../src/engine/store/database.ts';

/** Settings of a server whose statements are profiled. */
export const STATEMENT_STATISTICS = { shared_preload_libraries: 'pg_stat_statements' };

/** Creates the extension as superuser, because the application's role may not. */
export async function startCounting(superuserUrl: string): Promise<void> {
  const database = openDatabase({ url: superuserUrl, connectionsMax: 1, onConnectionLost: () => undefined });
  await database.query('create extension pg_stat_statements');
  await database.end();
}

/** The twenty statements that took the most time since the extension was created, one line each. */
export async function costliestStatements(database: Database): Promise<readonly string[]> {
  const { rows } = await database.query<{ calls: string; ms: number; max: number; rows: string; query: string }>(`
    select calls, total_exec_time as ms, max_exec_time as max, rows, regexp_replace(query, '\\s+', ' ', 'g') as query
    from pg_stat_statements order by total_exec_time desc limit 20`);
  return rows.map(
    ({ calls, ms, max, rows: count, query }) =>
      `${Math.round(ms)} ms in ${calls} calls, at most ${Math.round(max)}, ${count} rows: ${query.slice(0, 80)}`,
  );
}

/** Rows inserted into and updated in `matches` since the table was created. */
export async function matchesWritten(database: Database): Promise<number> {
  const { rows } = await database.query<{ written: string }>(
    `select n_tup_ins + n_tup_upd as written from pg_stat_user_tables where relname = 'matches'`,
  );
  return Number(rows[0]?.written);
}
