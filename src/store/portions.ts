/**
 * Answers of many rows, a portion at a time. What PostgreSQL has sent is parsed as it comes, megabytes in one tick of the
 * event loop where it is the faster one, and rows that are all held at once are what collecting garbage takes long over.
 */

import type pg from 'pg';
import { type Database, type Queryable, transaction } from './database.ts';

/** Rows of some hundred bytes: a millisecond of parsing. */
export const PORTION_ROWS = 200;

/**
 * `take` has each portion, and the connection that reads them: whoever waits for another one of the same pool might wait
 * for himself. The last has less than `PORTION_ROWS`, none perhaps. No more are read once it resolves with false. Throws
 * what the query and `take` throw.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- whoever writes the query says what its rows are
export function readInPortions<Row extends pg.QueryResultRow>(
  database: Database,
  text: string,
  values: readonly unknown[],
  take: (rows: readonly Row[], connection: Queryable) => Promise<boolean>,
): Promise<void> {
  return transaction(database, async (connection) => {
    // A cursor is planned for its first rows, as if nobody would ask for the rest.
    await connection.query('set local cursor_tuple_fraction = 1');
    await connection.query(`declare portions no scroll cursor for ${text}`, [...values]);
    for (let isMoreWanted = true; isMoreWanted; ) {
      const { rows } = await connection.query<Row>(`fetch ${PORTION_ROWS} from portions`);
      isMoreWanted = (await take(rows, connection)) && rows.length === PORTION_ROWS;
    }
  });
}
