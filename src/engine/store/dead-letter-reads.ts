/** Statements for operators, who list, requeue and purge dead letters. `dead-letters.ts` inserts dead letters. */

import type { Queryable } from './database.ts';
import type { DeadLetter } from './dead-letters.ts';

export interface DeadLetterRead extends Omit<DeadLetter, 'bytes' | 'failedKey'> {
  readonly id: number;
  /** The stream's number in `intake_position`. */
  readonly streamNumber: number;
  readonly receivedAt: Date;
  readonly bodyBytes: number;
}

export interface DeadLetterFilter {
  /** Empty for any id. */
  readonly ids: readonly number[];
  readonly subject: string | null;
  /** A substring of the reason, ignoring case. */
  readonly reason: string | null;
  readonly from: Date | null;
  readonly before: Date | null;
}

const COLUMNS = `id::float8 as id, stream, stream_number as "streamNumber", sequence::float8 as sequence, subject, headers, reason,
  received_at as "receivedAt", octet_length(body) as "bodyBytes"`;

/** Scanned in the order of the primary key. All rows may be read, because there should be few. */
const CONDITIONS = `(cardinality($1::bigint[]) = 0 or id = any($1)) and ($2::text is null or subject = $2)
  and ($3::text is null or position(lower($3) in lower(reason)) > 0)
  and ($4::timestamptz is null or received_at >= $4) and ($5::timestamptz is null or received_at < $5)`;

function valuesOf({ ids, subject, reason, from, before }: DeadLetterFilter): unknown[] {
  return [ids, subject, reason, from, before];
}

/** Dead letters with ids below `belowId`, newest first. */
export async function listDeadLetters(
  database: Queryable,
  filter: DeadLetterFilter,
  belowId: number | null,
  limit: number,
): Promise<readonly DeadLetterRead[]> {
  const { rows } = await database.query<DeadLetterRead>(
    `select ${COLUMNS} from dead_letters where ${CONDITIONS} and ($6::bigint is null or id < $6)
     order by id desc limit $7`,
    [...valuesOf(filter), belowId, limit],
  );
  return rows;
}

/** Dead letters with ids above `aboveId`, and their bodies, oldest first. */
export async function readDeadLettersAbove(
  database: Queryable,
  filter: DeadLetterFilter,
  aboveId: number,
  limit: number,
): Promise<readonly (DeadLetterRead & { readonly body: Buffer })[]> {
  const { rows } = await database.query<DeadLetterRead & { body: Buffer }>(
    `select ${COLUMNS}, body from dead_letters where ${CONDITIONS} and id > $6 order by id limit $7`,
    [...valuesOf(filter), aboveId, limit],
  );
  return rows;
}

export async function countDeadLetters(database: Queryable, filter: DeadLetterFilter): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `select count(*)::integer as count from dead_letters where ${CONDITIONS}`,
    valuesOf(filter),
  );
  return rows[0]?.count ?? 0;
}

/** Resolves with the number of deleted dead letters. */
export async function deleteDeadLetters(database: Queryable, filter: DeadLetterFilter): Promise<number> {
  const { rowCount } = await database.query(`delete from dead_letters where ${CONDITIONS}`, valuesOf(filter));
  return rowCount ?? 0;
}

export const ALL_DEAD_LETTERS: DeadLetterFilter = { ids: [], subject: null, reason: null, from: null, before: null };
