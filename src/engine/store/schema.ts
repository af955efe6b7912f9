/**
 * How versions share one database. Migrations are numbered and only add: the older version continues to run while
 * instances are restarted one by one, and after a rollback. So a version accepts a database with newer migrations. A
 * migration that removes something that older versions need calls `require_migration(number)`. It is refused while an
 * older version runs; afterwards no older version starts, and one that is found running ends.
 */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type pg from 'pg';
import { pause } from '../actor/waiting.ts';

/** This version cannot work with the version of the database, or does not know it. */
export class SchemaError extends Error {
  readonly code = 'SCHEMA_REFUSED';
}

/** The migrations that a start found and ran. */
export interface SchemaState {
  /** Names of the migrations that were run. */
  readonly migrated: readonly string[];
  /** Migrations of a newer version that is compatible with this one. */
  readonly unknown: readonly string[];
}

export interface UpgradeOptions {
  /** Called once when a migration must wait for other sessions, with a description of them. */
  readonly onWaiting?: (reason: string) => void;
}

interface Migration {
  readonly name: string;
  readonly sql: string;
}

const DIRECTORY = new URL('migrations/', import.meta.url);
const TABLE = 'schema_migrations';
const MIGRATIONS: readonly Migration[] = readdirSync(DIRECTORY)
  .filter((file) => file.endsWith('.sql'))
  .sort()
  .map(readMigration);
const KNOWN: readonly string[] = MIGRATIONS.map(({ name }) => name);

/** The number of the newest migration that this version knows. */
export const NEWEST_MIGRATION = Math.max(...KNOWN.map(numberOf));

/** The key of the lock that a migrating session holds: arbitrary, and the same in all versions. */
export const MIGRATION_LOCK = 7_241_865_325_823_964;

/**
 * A migration that waits for a table also blocks all later users of it. If a reader (usually a dump) holds the table
 * for longer than this, the migration stops waiting, lets the others continue, and retries.
 */
const LOCK_WAIT_MS = 1_000;
const LOCK_PAUSE_MS = 1_000;
const LOCK_TRIES_MAX = 600;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Runs the missing migrations; instances that start together wait for each other. Throws `SchemaError` when this
 * version must not work on the database. The lock ends with the connection.
 */
export async function migrate(
  dbClient: pg.Client,
  { onWaiting = () => undefined }: UpgradeOptions,
): Promise<SchemaState> {
  await dbClient.query(`select pg_advisory_lock(${MIGRATION_LOCK})`);
  const run = await readRun(dbClient);
  assertFirst(run);
  await assertCompatible(dbClient);
  const missing = MIGRATIONS.filter(({ name }) => !run.includes(name));
  if (missing.length > 0) await runPatiently(dbClient, missing, onWaiting);
  return { migrated: missing.map(({ name }) => name), unknown: run.filter((name) => !KNOWN.includes(name)) };
}

/** Throws `SchemaError` for a database with a schema older than the first migration. Accepts an empty or newer one. */
export async function assertNotFormer(database: Pick<pg.Client, 'query'>): Promise<void> {
  assertFirst(await readRun(database));
}

/**
 * Until the first release the initial migration is edited in place, so its name ends with a hash of its statements.
 * From then on it never changes.
 */
function readMigration(file: string): Migration {
  const sql = readFileSync(new URL(file, DIRECTORY), 'utf8');
  const stem = file.replace(/\.sql$/, '');
  if (numberOf(stem) !== 1) return { name: stem, sql };
  const statements = sql.replace(/--.*$/gm, '').replace(/\s+/g, ' ');
  return { name: `${stem}_${createHash('sha256').update(statements).digest('hex').slice(0, 8)}`, sql };
}

/** The applied migrations in order. A database without migrations does not have the table. */
async function readRun(client: Pick<pg.Client, 'query'>): Promise<readonly string[]> {
  if (!(await hasTable(client, TABLE))) return [];
  const { rows } = await client.query<{ name: string }>(`select name from ${TABLE} order by name`);
  return rows.map(({ name }) => name);
}

async function hasTable(client: Pick<pg.Client, 'query'>, name: string): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [name]);
  return rows[0]?.exists === true;
}

/** Newer versions begin with the same initial migration. Former names: `0001_schema`, and that with another hash. */
function assertFirst(run: readonly string[]): void {
  const first = KNOWN[0] as string;
  const former = run.find((name) => numberOf(name) === 1 && name !== first);
  if (former === undefined) return;
  throw new SchemaError(
    `The database has a schema from before 0.1.0 (${former} instead of ${first}), which cannot be upgraded. Name an ` +
      'empty database in DATABASE_URL or another directory in VIGIE_DATA_DIR, and let the crawlers publish again. To keep ' +
      'the data, continue with the program that created it.',
  );
}

async function assertCompatible(client: pg.Client): Promise<void> {
  if (!(await hasTable(client, 'schema_compatibility'))) return;
  const { rows } = await client.query<{ from: number }>('select compatible_from as "from" from schema_compatibility');
  const reason = refusalOf(rows[0]?.from ?? 0);
  if (reason !== null) throw new SchemaError(reason);
}

/** Why this version must not work on a database that requires migration `from`; null if it may. */
export function refusalOf(from: number): string | null {
  if (from <= NEWEST_MIGRATION) return null;
  return (
    `A newer version has upgraded the database: it requires migration ${from}, and this version knows migrations up to ` +
    `${NEWEST_MIGRATION}. Start the newer version again, or restore a backup from before the upgrade.`
  );
}

/** Each migration is its own transaction: after a cancelled wait for a lock, only the remaining ones run again. */
async function runPatiently(
  dbClient: pg.Client,
  missing: readonly Migration[],
  onWaiting: (reason: string) => void,
): Promise<void> {
  await dbClient.query(`set lock_timeout = ${LOCK_WAIT_MS}`);
  await dbClient.query(
    `create table if not exists ${TABLE} (name text primary key, run_on timestamptz not null default now())`,
  );
  const waiting = [...missing];
  for (let tries = 1; waiting[0] !== undefined; tries++) {
    const { name, sql } = waiting[0];
    try {
      await dbClient.query(`begin; ${sql}\n; insert into ${TABLE} (name) values ('${name}'); commit`);
      waiting.shift();
    } catch (error) {
      await dbClient.query('rollback').catch(() => {
        throw error;
      });
      const { code, message } = error as { readonly code?: string; readonly message: string };
      if (code !== LOCK_NOT_AVAILABLE) throw error;
      if (tries === LOCK_TRIES_MAX) {
        throw new SchemaError(`The upgrade could not lock a table that another session uses (${message}). Try again.`, {
          cause: error,
        });
      }
      if (tries === 1) onWaiting(message);
      await pause(LOCK_PAUSE_MS);
    }
  }
}

function numberOf(name: string): number {
  return Number.parseInt(name, 10);
}
