/**
 * The settings of each of our sessions. Installers and administrators may have set others for a role, a database or the
 * server, but our statements, their plans and durability, and the client library's parsers rely on these. The operator
 * decides only compression, `search_path` and server-wide settings.
 */

import type pg from 'pg';

/** A process that is frozen or cut off within a transaction holds its row locks for at most this time. */
export const TRANSACTION_IDLE_MAX_MS = 10_000;

export type SessionSettings = Readonly<Record<string, string | number>>;

/** The settings of all sessions. One that the server's version of PostgreSQL lacks is omitted. */
export const SESSION_SETTINGS: SessionSettings = {
  // Values as text: the client library parses these forms, and statements cast them.
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  extra_float_digits: 1,
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  // Transactions: a statement sees everything committed before it, and an error does not end the session.
  default_transaction_isolation: 'read committed',
  exit_on_error: 'off',
  // Each kind of work has its own time limit.
  statement_timeout: 0,
  lock_timeout: 0,
  transaction_timeout: 0,
  idle_session_timeout: 0,
  idle_in_transaction_session_timeout: TRANSACTION_IDLE_MAX_MS,
  // If the process vanishes, PostgreSQL ends its statements and releases its locks within half a minute.
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 25_000,
  client_connection_check_interval: 10_000,
  // A plan with a forced scan looks expensive to PostgreSQL; compiling it takes a hundred times as long as running it.
  jit: 'off',
  // Solid-state disks are assumed; the default of 4 is for spinning disks.
  random_page_cost: '1.1',
  work_mem: '16MB',
  // Parallel workers would take the matcher's core, and a container's /dev/shm of 64 MB.
  max_parallel_workers_per_gather: 0,
  from_collapse_limit: 8,
  join_collapse_limit: 8,
};

export const PLANS = {
  /**
   * Arbitrary statements, planned for their parameters each time. A plan cached while a table was empty would go on
   * scanning all of it: within a minute of deliveries, claims became ten times as expensive.
   */
  requests: { plan_cache_mode: 'force_custom_plan' },
  /**
   * The few statements of the pipeline, each planned once per connection, because planning takes as long as running.
   * Plans must use indexes, however small a table is when the statement is planned. The keys of a statement bound its
   * joined rows, so hash joins are allowed: a row costs as much in a batch of 200 as in one of 10.
   */
  pipeline: {
    plan_cache_mode: 'force_generic_plan',
    enable_seqscan: 'off',
    enable_bitmapscan: 'off',
    enable_mergejoin: 'off',
  },
} as const satisfies Record<string, SessionSettings>;

/**
 * Applies these settings and `own`; resolves with the process id of the session. Uses a statement, because a pooler
 * refuses start-up settings and reports a process id other than PostgreSQL's. Planner methods that `own` does not name
 * get PostgreSQL's defaults. Commits wait for the WAL as the operator has configured it, but at least for this server's
 * own disk. Compression is lz4 if the server has it (see the end of 0001_schema.sql). `pg_settings` lists all settings.
 */
export async function beginSession(client: pg.ClientBase, own: SessionSettings): Promise<number> {
  const settings = { ...SESSION_SETTINGS, ...own };
  const { rows } = await client.query<{ pid: number }>(
    `select pg_backend_pid() as pid, count(set_config(name, coalesce(wanted, usual), false))
     from pg_settings
       left join unnest($1::text[], $2::text[]) as setting(name, wanted) using (name)
       left join lateral (select case
         when starts_with(name, 'enable_') then boot_val
         when name = 'synchronous_commit' and setting = 'off' then 'on'
         when name = 'default_toast_compression' and 'lz4' = any(enumvals) then 'lz4'
       end as usual) as shipped on true
     where coalesce(wanted, usual) is not null`,
    [Object.keys(settings), Object.values(settings).map(String)],
  );
  return (rows[0] as { pid: number }).pid;
}
