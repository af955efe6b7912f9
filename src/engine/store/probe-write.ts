/** Checks whether PostgreSQL can write as many bytes as a table grows by; they are dropped at the commit. */

import { type Database, transaction } from './database.ts';

/** Writes a mebibyte to the database's own tablespace, even if the server puts temporary tables elsewhere. No index. */
const PROBE = `create temporary table vigie_probe on commit drop as
  select repeat('x', 1900) as filler from generate_series(1, 512)`;

/** Rejects with PostgreSQL's reason. */
export async function probeDatabaseWrite(database: Database): Promise<void> {
  await transaction(database, async (client) => {
    await client.query(`set local temp_tablespaces = ''`);
    await client.query(PROBE);
  });
}
