/** Checks whether PostgreSQL has space to write. The written bytes are dropped at the commit. */

import { type Database, transaction } from './database.ts';

/** Writes a mebibyte, because a table may grow by as much. Uses no index. */
const PROBE = `create temporary table vigie_probe on commit drop as
  select repeat('x', 1900) as filler from generate_series(1, 512)`;

/** Rejects with PostgreSQL's error. Uses the database's own tablespace, not one for temporary tables. */
export async function probeDatabaseWrite(database: Database): Promise<void> {
  await transaction(database, async (client) => {
    await client.query(`set local temp_tablespaces = ''`);
    await client.query(PROBE);
  });
}
