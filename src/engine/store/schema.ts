/**
 * How versions share one database. Migrations are numbered, and only add: the version that is replaced continues beside
 * the new one while instances are restarted one by one, and after a step back. So a database that is ahead of a version
 * is no reason to refuse it. A migration that removes what older versions need declares it with
 * `require_migration(number)`: it is not run while an older version is working, no older version starts from then on,
 * and one that is found working ends.
 */

import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PG_MIGRATE_LOCK_ID, runner } from 'node-pg-migrate';
import type pg from 'pg';
import { pause } from '../actor/waiting.ts';

/** This version cannot work with the database's version, or does not know it. */
export class SchemaError extends Error {
  readonly code = 'SCHEMA_REFUSED';
}

/** The findings and actions of a start. */
export interface SchemaState {
  /** Names of the migrations that were run. */
  readonly migrated: readonly string[];
  /** Migrations of a newer version that is compatible with this one. */
  readonly unknown: readonly string[];
}

export interface UpgradeOptions {
  /** Called once when a migration must wait for other sessions, with what it waits for. */
  readonly onWaiting?: (reason: string) => void;
}

const MIGRATIONS = fileURLToPath(new URL('migrations', import.meta.url));
const TABLE = 'schema_migrations';
const KNOWN: readonly string[] = readdirSync(MIGRATIONS)
  .filter((file) => file.endsWith('.sql'))
  .map((file) => file.replace(/\.sql$/, ''))
  .sort();

/** The number of the newest migration that this version knows. */
export const NEWEST_MIGRATION = Math.max(...KNOWN.map(numberOf));

/**
 * A migration that waits for a table makes all later users wait. When a reader holds the table for longer than this (a
 * dump, mostly), it yields to them and retries.
 */
const LOCK_WAIT_MS = 1_000;
const LOCK_PAUSE_MS = 1_000;
const LOCK_TRIES_MAX = 600;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Runs the missing migrations; instances that start together wait for each other. Throws `SchemaError` when this
 * version may not work on the database. The lock ends with the connection.
 */
export async function bringUp(
  dbClient: pg.Client,
  { onWaiting = () => undefined }: UpgradeOptions,
): Promise<SchemaState> {
  await dbClient.query(`select pg_advisory_lock(${PG_MIGRATE_LOCK_ID})`);
  const run = await readRun(dbClient);
  assertOneLine(run);
  await assertCompatible(dbClient);
  const missing = KNOWN.filter((name) => !run.includes(name));
  if (missing.length > 0) await runPatiently(dbClient, onWaiting);
  return { migrated: missing, unknown: run.filter((name) => !KNOWN.includes(name)) };
}

/** In order. A database without any has no table either. */
async function readRun(client: pg.Client): Promise<readonly string[]> {
  if (!(await hasTable(client, TABLE))) return [];
  const { rows } = await client.query<{ name: string }>(`select name from ${TABLE} order by name`);
  return rows.map(({ name }) => name);
}

async function hasTable(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [name]);
  return rows[0]?.exists === true;
}

/** The applied migrations are a prefix or an extension of the known ones: none is ever inserted between others. */
function assertOneLine(run: readonly string[]): void {
  const last = run.at(-1) ?? '';
  const skipped = KNOWN.find((name) => name < last && !run.includes(name));
  if (skipped === undefined) return;
  throw new SchemaError(
    `The database has migration ${last} and lacks ${skipped}: another line of versions has made it. Start the version ` +
      'that did, or restore a backup of this one.',
  );
}

async function assertCompatible(client: pg.Client): Promise<void> {
  if (!(await hasTable(client, 'schema_compatibility'))) return;
  const { rows } = await client.query<{ from: number }>('select compatible_from as "from" from schema_compatibility');
  const reason = refusalOf(rows[0]?.from ?? 0);
  if (reason !== null) throw new SchemaError(reason);
}

/** Why this version may not work on a database that is compatible from migration `from` on; null when it may. */
export function refusalOf(from: number): string | null {
  if (from <= NEWEST_MIGRATION) return null;
  return (
    `The database was upgraded: it takes versions that know its migration ${from}, and this one knows those up to ` +
    `${NEWEST_MIGRATION}. Start the newer version again, or restore a backup of before the upgrade.`
  );
}

/** Each migration is a transaction of its own: after a cancelled wait for a lock, the remaining ones start anew. */
async function runPatiently(dbClient: pg.Client, onWaiting: (reason: string) => void): Promise<void> {
  await dbClient.query(`set lock_timeout = ${LOCK_WAIT_MS}`);
  for (let tries = 1; ; tries++) {
    try {
      await runner({
        dbClient,
        dir: MIGRATIONS,
        direction: 'up',
        migrationsTable: TABLE,
        noLock: true,
        checkOrder: false,
        log: () => undefined,
      });
      return;
    } catch (error) {
      // The library leaves its transaction open on a connection that it was given.
      await dbClient.query('rollback').catch(() => {
        throw error;
      });
      const { code, message } = error as { readonly code?: string; readonly message: string };
      if (code !== LOCK_NOT_AVAILABLE) throw error;
      if (tries === LOCK_TRIES_MAX) {
        throw new SchemaError(
          `The upgrade has waited in vain for a table that somebody holds (${message}). Try again.`,
          {
            cause: error,
          },
        );
      }
      if (tries === 1) onWaiting(message);
      await pause(LOCK_PAUSE_MS);
    }
  }
}

function numberOf(name: string): number {
  return Number.parseInt(name, 10);
}
