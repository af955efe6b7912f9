/**
 * A PostgreSQL whose clock runs ahead as far as a test says. Functions named like those of PostgreSQL stand before them
 * in the search path of the database, so every statement and every default of a column goes by the simulated time.
 */

import pg from 'pg';

export interface SimulatedClock {
  /** What PostgreSQL says now, give or take the way there. */
  now(): Date;
  advance(days: number): Promise<void>;
}

const DAY_MS = 86_400_000;

/** The database must be empty: migrate it afterwards, so that its defaults are simulated too. */
export async function simulateClock(databaseUrl: string): Promise<SimulatedClock> {
  await query(
    databaseUrl,
    `create schema simulation;
     create table simulation.clock (ahead interval not null);
     insert into simulation.clock values ('0');
     create function simulation.now() returns timestamptz stable language sql
       as 'select pg_catalog.now() + ahead from simulation.clock';
     create function simulation.clock_timestamp() returns timestamptz volatile language sql
       as 'select pg_catalog.clock_timestamp() + ahead from simulation.clock';
     do $$ begin
       execute format('alter database %I set search_path = simulation, pg_catalog, public', current_database());
     end $$`,
  );
  let aheadMs = 0;
  return {
    now: () => new Date(Date.now() + aheadMs),
    async advance(days) {
      aheadMs += days * DAY_MS;
      await query(databaseUrl, `update simulation.clock set ahead = ${aheadMs} * interval '1 millisecond'`);
    },
  };
}

async function query(databaseUrl: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
