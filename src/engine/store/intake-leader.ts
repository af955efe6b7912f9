/**
 * Elects the instance that takes in adverts. One instance leads and the others are standbys. If two instances pulled
 * from one consumer, they could record changes of a property out of order. The older change would then be dropped as
 * stale.
 *
 * The leader holds an advisory lock in a separate session. PostgreSQL releases the lock when the session ends, which is
 * immediate if the process dies. The leader sends a heartbeat every second. If it is frozen or cut off, another
 * candidate ends its session after `SILENCE_MAX_MS` without a heartbeat. A lone instance keeps the lead while its
 * heartbeats are late by less than `SILENCE_ALONE_MAX_MS`. Clocks of different processes are never compared.
 *
 * A frozen leader may resume without knowing that it was replaced, and it records on other connections. Therefore every
 * term has a number, the fencing token (Kleppmann, "How to do distributed locking", 2016). A recording transaction
 * first verifies its term, which also prevents the next term from beginning before the transaction has ended.
 */

import pg from 'pg';
import { startTask, type Task } from '../actor/task.ts';
import type { Queryable } from './database.ts';
import { createSession, databaseServers } from './database-servers.ts';
import { IS_LIVING } from './instances.ts';
import { beginSession, TRANSACTION_IDLE_MAX_MS } from './session-settings.ts';

/** The number of a term, which each election increases, and the timeline in which the term began. */
export type Term = string;

/** A promoted standby begins a new timeline (PostgreSQL, "Timelines"). */
export const TIMELINE = 'left(pg_walfile_name(pg_current_wal_lsn()), 8)';
/**
 * The current `Term`. A standby has the same number as its primary, so only the timeline ends the term at a promotion.
 * Otherwise the leader would go on until it noticed the loss of its session. It would store a position after
 * acknowledged messages that the standby lacks. Nothing would ever take them in again.
 */
export const CURRENT_TERM = `concat(intake_leader.term, '/', ${TIMELINE})`;

export type LeaderSession = Awaited<ReturnType<typeof openLeaderSession>>;

/** The term of a recording transaction is over. The next term takes in the messages that were not recorded. */
export class TermOverError extends Error {
  readonly code = 'TERM_OVER';
}

/** The key of the advisory lock: an arbitrary number that nothing else in the database locks. */
export const LEADER_LOCK = 7_640_891_576;
const SILENCE_MAX_MS = 5_000;
/** Silence after which PostgreSQL itself ends the session of a leader, if no candidate has done so. */
const SILENCE_ALONE_MAX_MS = 60_000;
const SHOW_LIFE_EVERY_MS = 1_000;
const ANSWER_MAX_MS = 10_000;
/** This may be long: a busy server answers late, and the term already fences the recording of a replaced leader. */
const BEAT_ANSWER_MAX_MS = 30_000;
/** Within this time, a transaction in which the former leader may have died has timed out. */
const TAKE_OVER_MAX_MS = 2 * TRANSACTION_IDLE_MAX_MS;

/** The gap includes only time in which an instance with the role `intake` was running. The table has one row. */
const BEGIN_LEAD = `update intake_leads set began_at = clock_timestamp(), seen_at = clock_timestamp(),
  gap_seconds = case when seen_at is not null then greatest(0, extract(epoch from clock_timestamp() - greatest(seen_at, (
    select min(started_at) from instances where 'intake' = any(roles) and ${IS_LIVING})))) end`;
const SHOW_LEAD = 'update intake_leads set seen_at = clock_timestamp()';

/**
 * Ends the session that holds the lock if the session is silent. A session that is running a statement is left alone,
 * however long that takes. Reads the views of sessions and locks.
 */
const END_SILENT_LEADER = `
  select pg_terminate_backend(pid) from pg_locks join pg_stat_activity using (pid)
  where locktype = 'advisory' and granted and objsubid = 1
    and (classid::bigint << 32) + objid::bigint = ${LEADER_LOCK}
    and pg_locks.database = (select oid from pg_database where datname = current_database())
    and state = 'idle' and state_change < clock_timestamp() - interval '${SILENCE_MAX_MS} milliseconds'`;

/** Rejects if PostgreSQL cannot be reached. Calls `onTransientError` if PostgreSQL refuses a heartbeat. */
export async function openLeaderSession(
  url: string,
  onTransientError: (what: string, error: Error) => void = () => undefined,
) {
  const { client, end } = createSession(databaseServers(url), 'vigie leader', ANSWER_MAX_MS);
  let isLost = false;
  const lose = (): void => {
    isLost = true;
  };
  client.on('error', lose).on('end', lose);
  const heartbeat = createHeartbeat(client, lose, onTransientError);
  try {
    await client.connect();
    // Heartbeats do not wait for the disk, because losing one in a crash of PostgreSQL does no harm.
    await beginSession(client, { idle_session_timeout: SILENCE_ALONE_MAX_MS, synchronous_commit: 'off' });
  } catch (error) {
    void end();
    throw error;
  }
  return {
    /** True after the session has ended. Another instance may then begin a term. */
    get isLost() {
      return isLost;
    },
    /** Begins a term and resolves with it, or with null if another instance leads. Rejects if the session is lost. */
    async campaign(): Promise<Term | null> {
      const { rows } = await client.query(`select pg_try_advisory_lock(${LEADER_LOCK}) as leads`);
      if (rows[0]?.leads !== true) {
        await client.query(END_SILENT_LEADER);
        return null;
      }
      // This update waits for the recording transactions of the former term. The table has one row. Unlike a heartbeat,
      // it waits for the disk: if a crash undid it, two terms would have the same number.
      const takeOver: pg.QueryConfig & { readonly query_timeout: number } = {
        text: `set local synchronous_commit = local;
          update intake_leader set term = term + 1 returning ${CURRENT_TERM} as term`,
        query_timeout: TAKE_OVER_MAX_MS,
      };
      const [, begun] = (await client.query(takeOver)) as unknown as [pg.QueryResult, pg.QueryResult<{ term: Term }>];
      heartbeat.start();
      return (begun.rows[0] as { term: Term }).term;
    },
    /** Records that the work of the term has begun. From then on, heartbeats are recorded too. */
    showLead: () => heartbeat.showLead(),
    /** Ends the session, and so releases the lock. Never rejects. */
    async close() {
      heartbeat.stop();
      lose();
      await end();
    },
  };
}

/** After `start`, sends a heartbeat every second, never two at once. A session with a slow heartbeat is not silent. */
function createHeartbeat(
  client: pg.Client,
  onLost: () => void,
  onTransientError: (what: string, error: Error) => void,
) {
  let task: Task | null = null;
  let text = 'select';
  async function writeHeartbeat(): Promise<void> {
    const sentText = text;
    await client.query({ text: sentText, query_timeout: BEAT_ANSWER_MAX_MS } as pg.QueryConfig);
    if (sentText === BEGIN_LEAD) text = SHOW_LEAD;
  }
  return {
    start() {
      const what = 'beat';
      const onFailure = (_: string, error: Error): void => {
        // The session survives an error that the server reports. After any other error, such as a timeout, it is lost.
        if (error instanceof pg.DatabaseError) onTransientError(what, error);
        else onLost();
      };
      task = startTask({ what, everyMs: SHOW_LIFE_EVERY_MS, work: writeHeartbeat, onTransientError: onFailure });
    },
    showLead() {
      text = BEGIN_LEAD;
      return task === null ? writeHeartbeat() : task.run();
    },
    // Not awaited, because a pending statement may never be answered.
    stop: () => void task?.stop(),
  };
}

/**
 * The first statement of a recording transaction. Throws `TermOverError` if the term is over; otherwise the term cannot
 * end before the transaction. Resolves with the sequence floor: every new `Vigie-Sequence` is greater. The table has
 * one row.
 */
export async function holdTerm(client: Queryable, term: Term): Promise<number> {
  const { rows } = await client.query<{ readonly sequenceFloor: number }>({
    name: 'hold-term',
    text: `select sequence_floor as "sequenceFloor" from intake_leader where ${CURRENT_TERM} = $1 for share`,
    values: [term],
  });
  const [held] = rows;
  if (held === undefined) throw new TermOverError(`term ${term} is over: another term began or PostgreSQL failed over`);
  return held.sequenceFloor;
}

export interface IntakeLead {
  /** When the last leader began its work; null if there was no leader yet. */
  readonly beganAt: Date | null;
  /** Before that time, how long no instance had taken in adverts, although at least one was running. */
  readonly gapSeconds: number;
  /** How long no instance has taken in adverts until now; 0 while an instance does, or if none ever did. */
  readonly leaderlessSeconds: number;
}

/** The time of two missed heartbeats. */
const UNSEEN_MAX_SECONDS = (2 * SHOW_LIFE_EVERY_MS) / 1_000;

/** The table has one row. */
export async function readIntakeLead(client: Queryable): Promise<IntakeLead> {
  const { rows } = await client.query<{
    beganAt: Date | null;
    gapSeconds: number | null;
    unseenSeconds: number | null;
  }>(
    `select began_at as "beganAt", gap_seconds as "gapSeconds",
       extract(epoch from clock_timestamp() - seen_at)::float8 as "unseenSeconds"
     from intake_leads`,
  );
  const { beganAt = null, gapSeconds, unseenSeconds } = rows[0] ?? {};
  const leaderlessSeconds = (unseenSeconds ?? 0) > UNSEEN_MAX_SECONDS ? (unseenSeconds ?? 0) : 0;
  return { beganAt, gapSeconds: gapSeconds ?? 0, leaderlessSeconds };
}
