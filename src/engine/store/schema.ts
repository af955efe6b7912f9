/**
 * Migrates the database, which several versions may share. Most migrations only add something. So an older version can
 * continue while instances are restarted one by one, and can start again after a rollback. Therefore a version accepts
 * newer migrations. A migration that removes something that older versions need calls `require_migration(number)`. It
 * fails while such a version runs. Afterwards no such version can start, and a running one ends at its next heartbeat.
 */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type pg from 'pg';
import { pause } from '../actor/waiting.ts';

/** This version cannot work with the schema of the database, or cannot upgrade it. */
export class SchemaError extends Error {
  readonly code = 'SCHEMA_REFUSED';
}

/** The result of a start: the migrations that it ran and those that it does not know. */
export interface SchemaState {
  /** Names of the migrations that this start ran. */
  readonly migrated: readonly string[];
  /** Names of migrations from a newer version that is compatible with this one. */
  readonly unknown: readonly string[];
}

export interface UpgradeOptions {
  /** Called with PostgreSQL's error if the first missing migration must wait for other sessions. */
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

/** The key of the advisory lock that a migrating session holds. An arbitrary number, the same in all versions. */
export const MIGRATION_LOCK = 7_241_865_325_823_964;

/**
 * Maximum time that a migration waits for a lock on a table. While it waits, it blocks all later users of the table. If
 * a reader (usually a dump) uses the table for longer, the migration lets the others continue and then retries.
 */
const LOCK_WAIT_MS = 1_000;
const LOCK_PAUSE_MS = 1_000;
const LOCK_TRIES_MAX = 600;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Runs the missing migrations. Instances that start at the same time wait for one another. Throws `SchemaError` if this
 * version must not work on the database or cannot lock a table. The advisory lock lasts until the connection ends.
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

/** Throws `SchemaError` if the schema is older than the first release. Accepts empty databases and newer schemas. */
export async function assertNotFormer(database: Pick<pg.Client, 'query'>): Promise<void> {
  assertFirst(await readRun(database));
}

/** The number of the newest applied migration; 0 if there is none or the database is not Vigie's. */
export async function readNewestMigration(database: Pick<pg.Client, 'query'>): Promise<number> {
  return numberOf((await readRun(database)).at(-1) ?? '0');
}

/**
 * Until the first release, the initial migration is edited in place, so its name ends with a hash of its statements.
 * After the release it never changes.
 */
function readMigration(file: string): Migration {
  const sql = readFileSync(new URL(file, DIRECTORY), 'utf8');
  const stem = file.replace(/\.sql$/, '');
  if (numberOf(stem) !== 1) return { name: stem, sql };
  const statements = sql.replace(/--.*$/gm, '').replace(/\s+/g, ' ');
  return { name: `${stem}_${createHash('sha256').update(statements).digest('hex').slice(0, 8)}`, sql };
}

/** Names of the applied migrations, in order. A database without migrations has no such table. */
async function readRun(client: Pick<pg.Client, 'query'>): Promise<readonly string[]> {
  if (!(await hasTable(client, TABLE))) return [];
  const { rows } = await client.query<{ name: string }>(`select name from ${TABLE} order by name`);
  return rows.map(({ name }) => name);
}

async function hasTable(client: Pick<pg.Client, 'query'>, name: string): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [name]);
  return rows[0]?.exists === true;
}

/** Later versions keep this initial migration. Versions before the first release had one with another name. */
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

/** The reason why this version must not work on a database that requires migration `from`; null if it may. */
export function refusalOf(from: number): string | null {
  if (from <= NEWEST_MIGRATION) return null;
  return (
    `A newer version has upgraded the database: it requires migration ${from}, and this version knows migrations up to ` +
    `${NEWEST_MIGRATION}. Start the newer version again, or restore a backup from before the upgrade.`
  );
}

/** Each migration has its own transaction, so that only the remaining ones run again after a wait for a lock. */
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
