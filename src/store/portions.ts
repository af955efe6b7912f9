/**
 * Answers of many rows, a portion at a time. What PostgreSQL has sent is parsed as it comes, megabytes in one tick of the
 * event loop where it is the faster one, and rows that are all held at once are what collecting garbage takes long over.
 * Between two portions neither PostgreSQL nor this process works for whoever reads.
 */

import type pg from 'pg';
import type { Courtesy } from '../actor/precedence.ts';
import type { Queryable } from './database.ts';

export interface PortionedQuery {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Of a portion: as many as are read and parsed in a millisecond or two. */
  readonly rowsMax: number;
}

/** From the question to the rows, of all portions together, in milliseconds: as of one statement (decisions, section 11). */
const QUERY_MS_MAX = 2_000;

/** As PostgreSQL says of a statement that it has given up. */
class QueryTimeoutError extends Error {
  readonly code = '57014';
}

/**
 * `take` has each portion. The last has less than `rowsMax` rows, none perhaps. No more are read once it resolves with
 * false. `connection` is in a transaction. Throws what the query and `take` throw, and a statement timeout when the
 * rows take too long to come.
 */
export async function readInPortions(
  connection: Queryable,
  { text, values, rowsMax }: PortionedQuery,
  courtesy: Courtesy,
  take: (rows: readonly pg.QueryResultRow[]) => Promise<boolean>,
): Promise<void> {
  // A cursor is planned for its first rows, as if nobody would ask for the rest.
  await connection.query('set local cursor_tuple_fraction = 1');
  await connection.query(`declare portions no scroll cursor for ${text}`, [...values]);
  let leftMs = QUERY_MS_MAX;
  for (let isMoreWanted = true; isMoreWanted; ) {
    if (leftMs < 0) throw new QueryTimeoutError(`the query has taken more than ${QUERY_MS_MAX} ms`);
    await courtesy.stepAside();
    const startMs = performance.now();
    const { rows } = await connection.query(`fetch ${rowsMax} from portions`);
    leftMs -= performance.now() - startMs;
    isMoreWanted = (await take(rows)) && rows.length === rowsMax;
  }
  await connection.query('close portions');
}

export function portionsOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}

/**
 * `take` has what `read` makes of each portion, while the next one is being read. No more are read once it resolves with
 * false. Throws what the two throw, and leaves nothing under way.
 */
export async function readAhead<Portion, Rows>(
  portions: readonly Portion[],
  read: (portion: Portion) => Promise<Rows>,
  take: (rows: Rows, portion: Portion) => Promise<boolean>,
): Promise<void> {
  let ahead: Promise<Rows> | null = null;
  try {
    for (const [i, portion] of portions.entries()) {
      const rows: Rows = await (ahead ?? read(portion));
      const next = portions[i + 1];
      ahead = next === undefined ? null : read(next);
      // Heard when its turn comes, or below.
      ahead?.catch(() => undefined);
      if (!(await take(rows, portion))) return;
    }
  } finally {
    await ahead?.catch(() => undefined);
  }
}
