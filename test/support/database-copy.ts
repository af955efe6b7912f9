/**
 * A logical copy of a database like that of `pg_dump` and `pg_restore`: all tables of one snapshot, restored into
 * another cluster with independent transaction ids. The copy uses SQL, because the distribution has no client programs
 * for the version of the embedded PostgreSQL.
 */

import type pg from 'pg';
import { migrate } from '../../src/engine/store/database.ts';
import { MARK_COPIED } from '../../src/engine/store/intake-position.ts';
import { withClient } from './database.ts';

export interface DatabaseCopy {
  /** Time of the snapshot in milliseconds since the epoch, or slightly earlier. */
  readonly takenAt: number;
  /** Rows as JSON, by table. */
  readonly tables: ReadonlyMap<string, string>;
  /** By table, a condition on rows that are neither copied nor replaced. */
  readonly apart: Apart;
}

type Apart = Readonly<Record<string, string>>;

/** Copies the database while others write to it. */
export async function copyDatabase(url: string, apart: Apart = {}): Promise<DatabaseCopy> {
  return withClient(url, async (client) => {
    // Both statements are in one message: a delivery that ended between them would be in the snapshot, but after
    // `takenAt`.
    const [, { rows }] = (await client.query(
      'begin isolation level repeatable read, read only; select extract(epoch from now()) * 1000 as at',
    )) as unknown as [unknown, pg.QueryResult<{ at: string }>];
    const tables = new Map<string, string>();
    for (const { name, columns } of await readTables(client)) {
      const { rows: copied } = await client.query<{ json: string }>(
        `select coalesce(json_agg(row_to_json(copied)), '[]')::text as json
         from (select ${columns} from ${name} where not (${apart[name] ?? false})) copied`,
      );
      tables.set(name, (copied[0] as { json: string }).json);
    }
    await client.query('commit');
    return { takenAt: Number((rows[0] as { at: string }).at), tables, apart };
  });
}

/** Restores into an empty database, as the superuser, who may disable triggers. */
export async function restoreDatabase(
  { url, superuserUrl }: { readonly url: string; readonly superuserUrl: string },
  { tables, apart }: DatabaseCopy,
): Promise<void> {
  await migrate(url);
  const owner = new URL(superuserUrl);
  owner.pathname = new URL(url).pathname;
  await withClient(owner.href, async (client) => {
    await client.query('begin');
    // Disables triggers, which also check foreign keys.
    await client.query('set local session_replication_role = replica');
    for (const { name, columns, identity } of await readTables(client)) {
      await client.query(`delete from ${name} where not (${apart[name] ?? false})`);
      await client.query(
        `insert into ${name} (${columns}) overriding system value
         select ${columns} from json_populate_recordset(null::${name}, $1::json)`,
        [tables.get(name)],
      );
      if (identity === null) continue;
      await client.query(
        `select setval(pg_get_serial_sequence($1, $2), coalesce(max(${identity}), 0) + 1, false) from ${name}`,
        [name, identity],
      );
    }
    // The clusters of `startTestPostgres` are copies of one cluster and share its system identifier. The rows are
    // therefore marked as copied from another cluster.
    await client.query(MARK_COPIED);
    await client.query('commit');
  });
}

interface Table {
  readonly name: string;
  /** Without generated columns. */
  readonly columns: string;
  readonly identity: string | null;
}

async function readTables(client: pg.Client): Promise<readonly Table[]> {
  const { rows } = await client.query<Table>(`
    select table_name as name,
      string_agg(column_name, ', ' order by ordinal_position) filter (where is_generated = 'NEVER') as columns,
      max(column_name) filter (where is_identity = 'YES') as identity
    from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> 'schema_migrations'
    group by table_name order by table_name`);
  return rows;
}
