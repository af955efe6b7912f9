/** The cell and version of a database, and the prefixes by which proxies know its clients. */

import { type DatabaseLabel, keyMark, linkMark, UNNAMED_CELL } from '../domain/cell.ts';
import type { Uuid } from '../domain/ids.ts';
import type { Queryable } from './database.ts';
import { addressOf } from './database-servers.ts';

/** The name of the database's cell; `cell` becomes it when none is stored. Null is the cell without a name. */
export async function noteCell(database: Queryable, cell: string | null): Promise<string> {
  const { rows } = await database.query<{ name: string }>(
    `with noted as (update cell set name = $1 where name is null returning name)
     select coalesce((select name from noted), (select name from cell), $1) as name`,
    [cell ?? UNNAMED_CELL],
  );
  return (rows[0] as { name: string }).name;
}

/**
 * The label of this database on a NATS that several databases share. `url`: its location, as the process is configured.
 * The table has one row.
 */
export async function readDatabaseLabel(database: Queryable, url: string): Promise<DatabaseLabel> {
  const { rows } = await database.query<{ id: Uuid }>('select database_id as id from cell');
  return { id: (rows[0] as { id: Uuid }).id, address: addressOf(url) };
}

export interface CellState {
  /** Null when none is stored. */
  readonly cell: string | null;
  /** The number of the newest applied migration; 0 when there is none. */
  readonly newestMigration: number;
}

/** Of any database, ours or not. One table has one row, the other a row per migration. */
export async function readCellState(database: Queryable): Promise<CellState> {
  const { rows } = await database.query<{ hasMigrations: boolean; hasCell: boolean }>(
    `select to_regclass('schema_migrations') is not null as "hasMigrations", to_regclass('cell') is not null as "hasCell"`,
  );
  const { hasMigrations, hasCell } = rows[0] as (typeof rows)[number];
  if (!hasMigrations) return { cell: null, newestMigration: 0 };
  const newest = await database.query<{ name: string }>(
    'select name from schema_migrations order by name desc limit 1',
  );
  const noted = hasCell ? await database.query<{ name: string | null }>('select name from cell') : { rows: [] };
  return { cell: noted.rows[0]?.name ?? null, newestMigration: Number.parseInt(newest.rows[0]?.name ?? '0', 10) };
}

/** The prefix in requests that identifies the client, and the client's name. */
export interface ClientMark {
  readonly mark: string;
  readonly clientName: string;
}

/** Of every key and every link of the cell's clients, in order. Reads both tables: there are hundreds of clients. */
export async function readClientMarks(database: Queryable): Promise<readonly ClientMark[]> {
  const { rows } = await database.query<{ id: Uuid; name: string; prefixes: readonly string[] }>(
    `select id, name, array(
         select prefix from api_keys where client_id = clients.id and revoked_at is null order by prefix) as prefixes
       from clients where deleted_at is null and moved_to is null order by id`,
  );
  return rows.flatMap(({ id, name: clientName, prefixes }) =>
    [...new Set([...prefixes.map(keyMark), linkMark(id)])].map((mark) => ({ mark, clientName })),
  );
}
