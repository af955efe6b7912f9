/**
 * `vigie backup` takes a base backup of the embedded PostgreSQL, even while the service runs. `vigie restore` restores
 * it while the service is stopped.
 */

import { lstat, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Config } from '../config.ts';
import { startTask } from '../engine/actor/task.ts';
import { openDatabase } from '../engine/store/database.ts';
import { MARK_COPIED } from '../engine/store/intake-position.ts';
import { dataDirectoryPath } from '../local/data-directory.ts';
import { readDiskSpace } from '../local/disk-space.ts';
import { superuserUrl } from '../local/postgres.ts';
import {
  type Copying,
  clusterHome,
  copyCluster,
  copyLog,
  publishBackup,
  restoreCluster,
} from '../local/postgres-backup.ts';
import { withDatabaseUrl } from './connect.ts';
import { startProgress } from './progress.ts';
import { CommandError, cannotRead, commandLine, InterruptedError, print } from './terminal.ts';

const OWN_SERVER = `DATABASE_URL names an external PostgreSQL server. Use its own tools:
  pg_dump --format=custom --file=FILE "$DATABASE_URL"             # while the service runs
  pg_restore --no-owner --dbname="$NEW_DATABASE_URL" FILE         # into an empty database, while the service is stopped
Use pg_basebackup if a dump takes too long.`;

const CHECK_EVERY_MS = 1_000;
const MEGABYTE = 1_000_000;

/** Creates `file` only when the backup is complete, and replaces an existing file. */
export async function backUp(config: Config, file: string, stopping: AbortSignal): Promise<void> {
  if (config.databaseUrl !== null) throw new CommandError(OWN_SERVER);
  const dataDir = dataDirectoryPath(config.dataDir);
  const home = await clusterHome(dataDir);
  await assertReplaceable(file);
  const draft = `${resolve(file)}.unfinished`;
  const begunAt = new Date();
  const ending = new AbortController();
  const abort = (error: Error): void => ending.abort(error);
  stopping.addEventListener('abort', () => abort(new InterruptedError(stopping, 'No backup was written.')));
  const work = () => abortWhenFull([home, dirname(draft)], abort);
  const onTransientError = (_: string, error: Error): void => abort(error);
  const options = { everyMs: CHECK_EVERY_MS, isDueAtOnce: true, keepsProcess: false };
  const watch = startTask({ what: 'free disk', work, onTransientError, ...options });
  try {
    await rm(draft, { force: true });
    await withDatabaseUrl(config, async (url) => copyAs(await superuserUrl(home, url), { home, draft, ending }));
    await publishBackup(draft, resolve(file), begunAt, dataDir);
  } catch (error) {
    throw ending.signal.aborted ? ending.signal.reason : error;
  } finally {
    await watch.stop();
    await rm(draft, { force: true });
  }
  print(`${file} contains the database as of ${begunAt.toISOString()}. Restore it with \`${commandLine} restore\`.`);
}

/** The final rename would fail for a directory, and would replace a link or a device with a file. */
async function assertReplaceable(file: string): Promise<void> {
  // A new file has no entry yet. If the directory cannot be read, writing the draft to it fails later.
  const existing = await lstat(file).catch(() => null);
  if (existing === null || existing.isFile()) return;
  throw new CommandError(`${file} is not a regular file, so the backup cannot replace it. Name another file.`);
}

interface Drafting {
  readonly home: string;
  readonly draft: string;
  readonly ending: AbortController;
}

/** Copies within one session. When the session ends, PostgreSQL drops the slot and ends the backup mode. */
async function copyAs(url: string, { ending, ...paths }: Drafting): Promise<void> {
  const onConnectionLost = (cause: Error): void =>
    ending.abort(
      new CommandError(`No backup was written: PostgreSQL cannot be reached (${cause.message}). Try again.`, { cause }),
    );
  const database = openDatabase({ url, connectionsMax: 1, onConnectionLost });
  const progress = startProgress('waiting for a checkpoint', 'MB');
  let copied = 0;
  const session = await database.connect();
  session.on('error', onConnectionLost);
  try {
    // From here on, the slot prevents PostgreSQL from removing the write-ahead log that the copy needs.
    await session.query(
      "select pg_create_physical_replication_slot(concat('backup_of_vigie_', pg_backend_pid()), true, true)",
    );
    const { rows } = await session.query<{ bytes: number }>(
      `select sum(pg_database_size(oid))::float8 as bytes, pg_backup_start('vigie backup', fast => true) from pg_database`,
    );
    const total = rows[0]?.bytes ?? 1;
    const copying: Copying = {
      ...paths,
      signal: ending.signal,
      onBytes(count) {
        copied += count;
        progress.update({ doing: 'copying', count: copied / MEGABYTE, share: Math.min(1, copied / total) });
      },
    };
    await copyCluster(copying);
    const { rows: ends } = await session.query<{ label: string; last: string }>(
      'select labelfile as label, pg_walfile_name(lsn - 1) as last from pg_backup_stop(wait_for_archive => false)',
    );
    const { label, last } = ends[0] as (typeof ends)[number];
    await copyLog(copying, label, last);
  } finally {
    progress.end();
    session.release(true);
    await database.end();
  }
}

async function abortWhenFull(directories: readonly string[], abort: (error: Error) => void): Promise<void> {
  for (const directory of directories) {
    const { isLow } = await readDiskSpace(directory).catch((error: unknown) => {
      throw cannotRead(directory, error);
    });
    if (isLow)
      abort(new CommandError(`No backup was written: less than 5 % of the disk of ${directory} is free. Make room.`));
  }
}

export async function restore(config: Config, file: string): Promise<void> {
  if (config.databaseUrl !== null) throw new CommandError(OWN_SERVER);
  const progress = startProgress('unpacking, and recovering the database');
  const former = await restoreCluster(file, config.dataDir, MARK_COPIED).finally(() => progress.end());
  print('API keys that were revoked since the backup are valid again. Revoke them again before you start the service.');
  print(`Restored. Start the service with \`${commandLine} serve\`.`);
  if (former !== null) print(`The former database is kept in ${former}. Remove it when you no longer need it.`);
}
