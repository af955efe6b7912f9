/**
 * How far the stream of adverts is recorded in this database. The stream's consumer knows too, but a database that was
 * restored is older than what the consumer remembers, and what was acknowledged meanwhile would never be taken in again.
 * The row grows old with the database that it speaks of.
 */

import type { Queryable } from './database.ts';
import type { Term } from './intake-leader.ts';

/** Every message of the stream up to `sequence` is recorded. */
export interface RecordedPosition {
  readonly sequence: number;
  /** When the stream took that message, as the stream tells it; null before the first one. */
  readonly storedAt: string | null;
}

/** Null in a database that was never told. The table has one row. */
export async function readIntakePosition(database: Queryable): Promise<RecordedPosition | null> {
  const { rows } = await database.query<{ sequence: string | null; stored_at: string | null }>(
    'select sequence, stored_at from intake_position',
  );
  const { sequence, stored_at: storedAt } = rows[0] as (typeof rows)[number];
  return sequence === null ? null : { sequence: Number(sequence), storedAt };
}

/** Without effect once the term is over. Both tables have one row. */
export async function writeIntakePosition(
  database: Queryable,
  term: Term,
  { sequence, storedAt }: RecordedPosition,
): Promise<void> {
  await database.query({
    name: 'write-intake-position',
    text: `
      update intake_position set sequence = $2, stored_at = $3 from intake_leader where intake_leader.term = $1`,
    values: [term, sequence, storedAt],
  });
}
