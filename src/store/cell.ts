/** Which cell a database is of. One row. */

import { UNNAMED_CELL } from '../domain/cell.ts';
import type { Queryable } from './database.ts';

/** The name of the database's cell, which is `cell` when nobody has said so before; null is the cell without a name. */
export async function noteCell(database: Queryable, cell: string | null): Promise<string> {
  const { rows } = await database.query<{ name: string }>(
    `with noted as (update cell set name = $1 where name is null returning name)
     select coalesce((select name from noted), (select name from cell), $1) as name`,
    [cell ?? UNNAMED_CELL],
  );
  return (rows[0] as { name: string }).name;
}
