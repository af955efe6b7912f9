/**
 * The position up to which the stream of adverts is recorded in this database. The stream's consumer also stores a
 * position, but a restored database is older. If intake continued at the consumer's position, it would skip the
 * messages in between. The position in this table is restored together with the database.
 */

import type { Queryable, Statement } from './database.ts';
import { CURRENT_TERM, type Term, TIMELINE } from './intake-leader.ts';

/** Every message of the stream up to `sequence` is recorded. */
export interface RecordedPosition {
  readonly sequence: number;
  /** When the stream stored the message `sequence`, by the stream's clock; null before the first message. */
  readonly storedAt: string | null;
}

/** A stream of adverts, and its number in this database. Another stream, or an older copy, gets another number. */
export interface NumberedStream {
  readonly number: number;
  /** The stream's creation time, as reported by the server; null before the first term. */
  readonly createdAt: string | null;
}

/** The last message of the stream whose effects may be recorded. */
export interface HighWaterMark {
  readonly sequence: number;
  /** Milliseconds since the epoch, by the stream's clock. */
  readonly storedAtMs: number;
}

/** How far the stream's clock may have been behind when it stored the messages up to `upTo`. */
export interface ClockBehind {
  readonly ms: number;
  readonly upTo: number;
}

export interface StoredPosition {
  /** Null if no message of this stream has been recorded. */
  readonly highWaterMark: HighWaterMark | null;
  readonly recorded: RecordedPosition;
  readonly stream: NumberedStream;
  /** `upTo` is null if the clock is still behind. */
  readonly clockBehind: { readonly ms: number; readonly upTo: number | null };
  /** True if this database is a copy of the database that wrote the position. */
  readonly isCopied: boolean;
  /** True if a standby was promoted since, and the primary's commits had not waited for that standby. */
  readonly isPromoted: boolean;
  /** How long this database (or its original, if it is a copy) has had no leader. At least the age of a copy. */
  readonly unledSeconds: number;
}

/** Each cluster has its own system identifier, and each database of a cluster its own oid. */
const DATABASE_IDENTITY = `(
  select concat(system_identifier, '/', oid) from pg_control_system(), pg_database where datname = current_database())`;

/** Makes the next term treat this database as a copy, because a copied cluster has the identity of its original. */
export const MARK_COPIED =
  "update intake_position set database_identity = 'the copied one' where database_identity is not null";

/** The timeline; null if commits wait for a standby, because promoting that standby loses no commit. */
const LOSABLE_TIMELINE = `case when current_setting('synchronous_standby_names') = '' then ${TIMELINE} end`;

/** Identifies a database, and distinguishes databases that were restored from the same dump. */
export async function readDatabaseIdentity(database: Queryable): Promise<string> {
  const { rows } = await database.query<{ identity: string }>(`select ${DATABASE_IDENTITY} as identity`);
  return (rows[0] as { identity: string }).identity;
}

/** Call it before `showLead`, which changes `seen_at`. Two of the tables have one row, the third has eight rows. */
export async function readIntakePosition(database: Queryable): Promise<StoredPosition> {
  const { rows } = await database.query<{
    sequence: string;
    storedAt: string | null;
    number: number;
    createdAt: string | null;
    highWaterMark: HighWaterMark | null;
    clockBehind: StoredPosition['clockBehind'];
    isCopied: boolean;
    isPromoted: boolean;
    unledSeconds: number;
  }>(
    `select sequence, stored_at as "storedAt", stream_number as number, stream_created as "createdAt",
       (select json_build_object('sequence', marks.sequence, 'storedAtMs', stored_at_ms) from intake_high_water marks
        where marks.stream_number = intake_position.stream_number order by marks.sequence desc limit 1) as "highWaterMark",
       json_build_object('ms', clock_behind_ms, 'upTo', clock_behind_to) as "clockBehind",
       coalesce(database_identity <> ${DATABASE_IDENTITY}, false) as "isCopied",
       coalesce(timeline <> ${TIMELINE}, false) as "isPromoted",
       coalesce(extract(epoch from clock_timestamp() - seen_at), 0)::float8 as "unledSeconds"
     from intake_position, intake_leads`,
  );
  const { sequence, storedAt, number, createdAt, ...rest } = rows[0] as (typeof rows)[number];
  return { recorded: { sequence: Number(sequence), storedAt }, stream: { number, createdAt }, ...rest };
}

/**
 * The last statement of a recording transaction. Most connections use different rows, so that they rarely wait for one
 * another's commits. Served by the primary key.
 */
export function recordHighWaterMark(stream: number, { sequence, storedAtMs }: HighWaterMark): Statement {
  return {
    name: 'record-high-water-mark',
    text: `
      update intake_high_water set stream_number = $1, sequence = $2, stored_at_ms = $3
      where slot = pg_backend_pid() % 8 and (stream_number, sequence) < ($1, $2)`,
    values: [stream, sequence, Math.floor(storedAtMs)],
  };
}

/** Stores how far the stream's clock is behind. The table has one row. */
export async function noteClockBehind(database: Queryable, ms: number): Promise<void> {
  await database.query(
    'update intake_position set clock_behind_ms = greatest(clock_behind_ms, $1), clock_behind_to = null',
    [Math.ceil(ms)],
  );
}

/** The state that a new term has found (`findIntakeStart`). The stream's clock is right at that time. */
export interface FoundStart {
  readonly stream: NumberedStream;
  readonly clockBehind: ClockBehind;
  /** Every message up to this one is recorded. */
  readonly recordedUpTo: number;
  /** True if this database was restored to an older state and may have sent notifications that it no longer has. */
  readonly isRestored: boolean;
  /** How long no instance had taken in adverts, according to this database. */
  readonly unledSeconds: number;
}

/** More notifications than a match can have between the copy of a database and the restore of that copy. */
const RESTORED_ABOVE = 1_000_000;
/** Added for each second since the copy, so that a second restore of the same copy begins above the first. */
const RESTORED_ABOVE_PER_SECOND = 10;
/**
 * The floor never exceeds this number. Otherwise a wrong clock, or a stream that is often replaced, could raise it
 * above the largest integer. No term could then begin any more.
 */
const FLOOR_MAX = 2_000_000_000;

/**
 * Stores what a term has found, so that the next term recognises a copy of this database or a different stream. A known
 * stream keeps its position. A restored database numbers further notifications above all that it may have sent; this
 * happens once per stream and copy, because both are stored. Has no effect after the term's end. Both tables have one
 * row.
 */
export async function recordStart(database: Queryable, term: Term, start: FoundStart): Promise<void> {
  const { stream, clockBehind, recordedUpTo, isRestored, unledSeconds } = start;
  const above = RESTORED_ABOVE + Math.max(0, Math.floor(RESTORED_ABOVE_PER_SECOND * unledSeconds));
  await database.query(
    `with raised as (
       update intake_leader set sequence_floor = greatest(sequence_floor, least(sequence_floor + $6::bigint, ${FLOOR_MAX}))
       where ${CURRENT_TERM} = $1 returning term
     )
     update intake_position set database_identity = ${DATABASE_IDENTITY}, stream_number = $2, stream_created = $3,
       sequence = case when stream_number = $2 then sequence else $4 end, clock_behind_to = $5
     from raised`,
    [term, stream.number, stream.createdAt, recordedUpTo, clockBehind.upTo, isRestored ? above : 0],
  );
}

/**
 * Stores the position. `isPast`: true if every message that was handed out before the term is recorded. Until then the
 * former timeline stays, so that the next term detects a promotion. Has no effect after the term's end. Both tables
 * have one row.
 */
export async function writeIntakePosition(
  database: Queryable,
  term: Term,
  { sequence, storedAt, isPast }: RecordedPosition & { readonly isPast: boolean },
): Promise<void> {
  await database.query({
    name: 'write-intake-position',
    text: `
      update intake_position set sequence = $2, stored_at = $3, timeline = case when $4 then ${LOSABLE_TIMELINE} else timeline end
      from intake_leader where ${CURRENT_TERM} = $1`,
    values: [term, sequence, storedAt, isPast],
  });
}

/**
 * Stores that commits have waited for a standby since the position was written, so that its promotion loses none of
 * them. Has no effect after the term's end. Both tables have one row.
 */
export async function noteSynchronous(database: Queryable, term: Term): Promise<void> {
  await database.query({
    name: 'note-synchronous',
    text: `
      update intake_position set timeline = null
      from intake_leader where ${CURRENT_TERM} = $1 and timeline is not null and ${LOSABLE_TIMELINE} is null`,
    values: [term],
  });
}
