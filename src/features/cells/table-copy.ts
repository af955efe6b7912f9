/**
 * Copies rows from one database to another of the same version, as JSON text that is not parsed on the way: PostgreSQL
 * writes and reads every column type that way. A cursor limits the memory to a few pages.
 */

import type { Queryable } from '../../engine/store/database.ts';

export interface TableCopy {
  readonly table: string;
  /** The rows to copy, as a query with the columns of the table; default every row. */
  readonly rows?: string;
  /** Columns that the target generates. */
  readonly without?: readonly string[];
  /** Columns that are converted, as expressions over `copied`, the row. */
  readonly columns?: Readonly<Record<string, string>>;
  /** Joins for these expressions. */
  readonly joins?: string;
  /** What happens to a row that the target has already, `ALL` for every column; default it stays. */
  readonly onConflict?: string;
  /** Rows held at a time: fewer where one may have megabytes. */
  readonly pageRows: number;
}

/** Both connections are within a transaction. `onRows` is called per page. Resolves with the number of rows read. */
export async function copyTable(
  source: Queryable,
  target: Queryable,
  copy: TableCopy,
  onRows: (count: number) => void = () => undefined,
): Promise<number> {
  const { table, rows = `select * from ${table}`, pageRows } = copy;
  const insert = await insertOf(target, copy);
  await source.query(`declare copied no scroll cursor for select row_to_json(taken)::text as row from (${rows}) taken`);
  const fetch = () => source.query<{ row: string }>(`fetch ${pageRows} from copied`);
  let count = 0;
  let ahead = fetch();
  try {
    for (;;) {
      const page = (await ahead).rows;
      if (page.length === 0) return count;
      ahead = fetch();
      await target.query(insert, [`[${page.map(({ row }) => row).join()}]`]);
      count += page.length;
      onRows(page.length);
    }
  } finally {
    // The target may have refused a page; the failure of the next one is no error of its own.
    await ahead.catch(() => undefined);
    await source.query('close copied').catch(() => undefined);
  }
}

async function insertOf(target: Queryable, copy: TableCopy): Promise<string> {
  const { table, without = [], columns = {}, joins = '', onConflict = 'do nothing' } = copy;
  const { rows } = await target.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' and attname <> all($2)
     order by attnum`,
    [table, without],
  );
  const names = rows.map(({ name }) => name);
  const values = names.map((name) => columns[name] ?? `copied.${name}`);
  const conflict = onConflict.replace('ALL', names.map((name) => `${name} = excluded.${name}`).join());
  return `insert into ${table} (${names.join()}) overriding system value
    select ${values.join()} from json_populate_recordset(null::${table}, $1::json) copied ${joins}
    on conflict ${conflict}`;
}

/** For work that alternates between two databases: each waits within its transaction while the other one works. */
export const WAITS_FOR_ANOTHER = 'set local idle_in_transaction_session_timeout = 0';
