/**
 * A PostgreSQL whose clock a test can move forward. Functions with the names of PostgreSQL's own precede them in the
 * search path of the database. Therefore statements, column defaults and the activity times of sessions use the
 * simulated time.
 */

import { queryOnce } from './database.ts';

export interface SimulatedClock {
  /** The simulated time, computed from this process's clock without a query. */
  now(): Date;
  /** `over`: another URL of the database. */
  advance(days: number, over?: string): Promise<void>;
}

const DAY_MS = 86_400_000;

/** The database must be empty: migrate it afterwards, so that its column defaults are simulated too. */
export async function simulateClock(databaseUrl: string): Promise<SimulatedClock> {
  await queryOnce(
    databaseUrl,
    `create schema simulation;
     create table simulation.clock (ahead interval not null);
     insert into simulation.clock values ('0');
     create function simulation.now() returns timestamptz stable language sql
       as 'select pg_catalog.now() + ahead from simulation.clock';
     create function simulation.statement_timestamp() returns timestamptz stable language sql
       as 'select pg_catalog.statement_timestamp() + ahead from simulation.clock';
     create function simulation.transaction_timestamp() returns timestamptz stable language sql
       as 'select pg_catalog.transaction_timestamp() + ahead from simulation.clock';
     create function simulation.clock_timestamp() returns timestamptz volatile language sql
       as 'select pg_catalog.clock_timestamp() + ahead from simulation.clock';
     do $$ begin
       execute (
         select 'create view simulation.pg_stat_activity as select ' || string_agg(
           case when data_type = 'timestamp with time zone' then format('%1$I + ahead as %1$I', column_name)
             else quote_ident(column_name) end, ', ' order by ordinal_position)
           || ' from pg_catalog.pg_stat_activity, simulation.clock'
         from information_schema.columns where table_schema = 'pg_catalog' and table_name = 'pg_stat_activity');
       execute format('alter database %I set search_path = public, simulation, pg_catalog', current_database());
     end $$`,
  );
  let aheadMs = 0;
  return {
    now: () => new Date(Date.now() + aheadMs),
    async advance(days, over = databaseUrl) {
      aheadMs += days * DAY_MS;
      await queryOnce(over, `update simulation.clock set ahead = ${aheadMs} * interval '1 millisecond'`);
    },
  };
}
