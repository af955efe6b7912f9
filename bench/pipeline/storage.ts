/** Sizes of PostgreSQL's relations, and how their rows were written. */

import type { Database } from '../../src/engine/store/database.ts';

/** Bytes by table (with its TOAST table and maps) and by index. */
export async function bytesByRelation(database: Database): Promise<ReadonlyMap<string, number>> {
  const { rows } = await database.query<{ name: string; bytes: number }>(`
    select relname as name, pg_table_size(oid)::float8 as bytes from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'i')`);
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}

/** Growth of each relation in bytes per change; growth of less than one byte is left out. */
export function growth(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  changes: number,
): Readonly<Record<string, number>> {
  const grown = [...after].map(([name, bytes]) => [name, Math.round((bytes - (before.get(name) ?? 0)) / changes)]);
  return Object.fromEntries(
    grown.filter(([, bytes]) => Number(bytes) >= 1).sort(([, a], [, b]) => Number(b) - Number(a)),
  );
}

/** Rows per change by table, as `inserted + updated (share of HOT updates)`. */
export async function rowsWritten(database: Database, changes: number): Promise<Readonly<Record<string, string>>> {
  const { rows } = await database.query<{ name: string; inserted: number; updated: number; hot: number }>(`
    select relname as name, n_tup_ins::float8 as inserted, n_tup_upd::float8 as updated, n_tup_hot_upd::float8 as hot
    from pg_stat_user_tables where n_tup_ins + n_tup_upd > 0 order by relname`);
  const perChange = (count: number): string => (count / changes).toFixed(2);
  const lines = rows.filter(({ inserted, updated }) => (inserted + updated) / changes >= 0.01);
  return Object.fromEntries(
    lines.map(({ name, inserted, updated, hot }) => {
      const share = updated === 0 ? '' : ` (${Math.round((100 * hot) / updated)} %)`;
      return [name, `${perChange(inserted)} + ${perChange(updated)}${share}`];
    }),
  );
}
