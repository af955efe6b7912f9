/**
 * The settings of each session that uses Vigie's tables. Administrators may have set other values for a role, a
 * database or the server. But Vigie's statements, their plans and durability, and the client library's parsers rely on
 * these values. Operators decide the other settings, for example `search_path`, except those that `beginSession` sets.
 */

import type pg from 'pg';

/** How long an idle transaction of a frozen process keeps its locks, unless the transaction sets another limit. */
export const TRANSACTION_IDLE_MAX_MS = 10_000;

export type SessionSettings = Readonly<Record<string, string | number>>;

/** Sessions may override single settings. Settings that the server's version of PostgreSQL lacks are omitted. */
export const SESSION_SETTINGS: SessionSettings = {
  // Formats of values: the client library parses these formats, and statements cast them.
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  extra_float_digits: 1,
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  // Transactions: a statement sees everything that was committed before it, and an error does not end the session.
  default_transaction_isolation: 'read committed',
  exit_on_error: 'off',
  // The only general time limit is for idle transactions. Each kind of work sets its own limits.
  statement_timeout: 0,
  lock_timeout: 0,
  transaction_timeout: 0,
  idle_session_timeout: 0,
  idle_in_transaction_session_timeout: TRANSACTION_IDLE_MAX_MS,
  // If a process disappears, PostgreSQL ends its statements and releases its locks within half a minute.
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 25_000,
  client_connection_check_interval: 10_000,
  // A plan with a forced scan looks expensive, but compiling it takes a hundred times as long as running it.
  jit: 'off',
  // For solid-state disks. The default of 4 is for spinning disks.
  random_page_cost: '1.1',
  work_mem: '16MB',
  // Parallel workers would use the matcher's core and a container's /dev/shm of 64 MB.
  max_parallel_workers_per_gather: 0,
  from_collapse_limit: 8,
  join_collapse_limit: 8,
};

export const PLANS = {
  /**
   * For arbitrary statements, which are planned each time for their parameters. A plan that was cached while a table
   * was empty would continue to scan the whole table. Within a minute of deliveries, claims became ten times as
   * expensive.
   */
  requests: { plan_cache_mode: 'force_custom_plan' },
  /**
   * For the few statements of the pipeline. Each is planned once per connection, because planning takes as long as
   * running. Plans must use indexes, even if a table is small at that time. Hash joins are allowed, because the keys
   * limit the joined rows. So a row costs as much in a batch of 200 as in one of 10.
   */
  pipeline: {
    plan_cache_mode: 'force_generic_plan',
    enable_seqscan: 'off',
    enable_bitmapscan: 'off',
    enable_mergejoin: 'off',
  },
} as const satisfies Record<string, SessionSettings>;

/**
 * Applies `SESSION_SETTINGS` and `own`. Resolves with the process id of the session. Uses a statement, because a pooler
 * refuses start-up settings and reports another process id than PostgreSQL. Planner methods that `own` does not name
 * get PostgreSQL's defaults. Unless `own` decides it, commits wait for the WAL as the operator has configured, but at
 * least for this server's disk. Values are compressed by lz4 if the server has it (see the end of 0001_schema.sql).
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
