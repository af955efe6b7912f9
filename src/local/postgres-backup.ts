/**
 * Creates the file of a base backup of the embedded PostgreSQL, and restores it (PostgreSQL manual, "Making a Base
 * Backup Using the Low-Level API"). A backup is one file with two concatenated tar archives, each compressed with gzip.
 * GNU tar unpacks it with `--gzip --ignore-zeros`. The first archive contains the cluster, copied while the server
 * changes it, and the files with recipients' choices. The second contains the write-ahead log that makes the copy
 * consistent. The last entry is `backup_label`, without which the file is incomplete.
 */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, appendFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Transform } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';
import { succeeds } from '../engine/actor/waiting.ts';
import { cacheDirectory, openDataDirectory } from './data-directory.ts';
import { giveTree, openRegular, readSecret, secureHome, writeSecret } from './ownership.ts';
import { endFormer, postgresHome } from './postgres.ts';
import {
  clusterOf,
  dropPasswords,
  findPostgresBinaries,
  isThere,
  KEPT_CLUSTER,
  POSTGRES_DATABASE,
  runSingleUser,
  syncDirectory,
} from './postgres-cluster.ts';

const run = promisify(execFile);

export class BackupError extends Error {
  readonly code = 'BACKUP_FAILED';
}

/** Files that PostgreSQL recreates, or that would mislead it (PostgreSQL manual, "Backing Up The Data Directory"). */
const LEFT_OUT = [
  'cluster/pg_wal/*',
  'cluster/pg_replslot/*',
  'cluster/pg_dynshmem/*',
  'cluster/pg_notify/*',
  'cluster/pg_serial/*',
  'cluster/pg_snapshots/*',
  'cluster/pg_stat_tmp/*',
  'cluster/pg_subtrans/*',
  'cluster/postmaster.pid',
  'cluster/postmaster.opts',
  '*/pgsql_tmp*',
  '*/pg_internal.init*',
];
/** Files change, shrink and disappear while they are copied. The write-ahead log repairs the copy. */
const WHILE_CHANGING = ['file-changed', 'file-removed', 'file-shrank'].map((what) => `--warning=no-${what}`);
const LABEL = 'cluster/backup_label';
/** Three to five times as fast as the default level, with a file that is a tenth larger. */
const GZIP = { level: 1 };

export interface Copying {
  readonly home: string;
  /** The unfinished backup file, to which the archives are appended. */
  readonly draft: string;
  readonly signal: AbortSignal;
  readonly onBytes: (count: number) => void;
}

/** Throws `BackupError` if there is no cluster or the user may not read it. */
export async function clusterHome(dataDir: string): Promise<string> {
  const home = join(dataDir, 'postgres');
  const { uid } = await stat(dataDir).catch(() => ({ uid: null }));
  if (uid !== null && ![0, uid].includes(process.geteuid?.() ?? 0))
    throw new BackupError(`${dataDir} belongs to user ${uid}. Run this command as that user or as root.`);
  if (!(await succeeds(access(join(home, 'cluster')))))
    throw new BackupError(`${dataDir} has no embedded PostgreSQL. Set VIGIE_DATA_DIR to the service's directory.`);
  return home;
}

/** Files with recipients' choices (features/recipients), in the data directory. A restore must not undo these. */
const CHOICES = /^recipients\.[0-9a-f-]{36}\.jsonl$/;

async function choicesIn(directory: string): Promise<readonly string[]> {
  return (await readdir(directory)).filter((name) => CHOICES.test(name));
}

/** Call this between `pg_backup_start` and `pg_backup_stop`. */
export async function copyCluster({ home, ...copying }: Copying): Promise<void> {
  const excluded = LEFT_OUT.map((pattern) => `--exclude=${pattern}`);
  const cluster = [`--directory=${home}`, '--anchored', ...excluded, ...WHILE_CHANGING, 'cluster'];
  const choices = await choicesIn(dirname(home));
  const choiceFiles = choices.length === 0 ? [] : [`--directory=${dirname(home)}`, ...choices];
  await appendArchive(copying, [...cluster, ...choiceFiles], 1);
}

/** `label` and `lastSegment` are results of `pg_backup_stop`. A replication slot keeps the segments. */
export async function copyLog({ home, ...copying }: Copying, label: string, lastSegment: string): Promise<void> {
  const [, firstSegment = ''] = /^START WAL LOCATION: .* \(file ([0-9A-F]{24})\)$/m.exec(label) ?? [];
  const segments = (await readdir(join(home, 'cluster/pg_wal'))).filter(
    (name) => /^[0-9A-F]{24}$/.test(name) && name >= firstSegment && name <= lastSegment,
  );
  if (!segments.includes(firstSegment))
    throw new BackupError(`PostgreSQL removed WAL segment ${firstSegment} during the backup. Repeat the command.`);
  const work = await mkdtemp(join(tmpdir(), 'vigie-backup-'));
  try {
    await mkdir(join(work, 'cluster'));
    await writeFile(join(work, LABEL), label);
    const log = segments.sort().map((name) => `cluster/pg_wal/${name}`);
    await appendArchive(copying, [`--directory=${home}`, ...log, `--directory=${work}`, LABEL], 0);
  } finally {
    await rm(work, { recursive: true });
  }
}

/** `exitCodeMax` is 1 if files may change during the copy. */
async function appendArchive(
  { draft, signal, onBytes }: Omit<Copying, 'home'>,
  args: readonly string[],
  exitCodeMax: number,
): Promise<void> {
  const counter = new Transform({
    transform(chunk: Buffer, _, done) {
      onBytes(chunk.length);
      done(null, chunk);
    },
  });
  const { O_WRONLY, O_CREAT, O_APPEND } = constants;
  const file = (await openRegular(draft, O_WRONLY | O_CREAT | O_APPEND)).createWriteStream({ flush: true });
  const tar = spawn('tar', ['--create', '--file=-', '--numeric-owner', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    const [[code], output] = await Promise.all([
      once(tar, 'close') as Promise<[number | null]>,
      text(tar.stderr),
      pipeline(tar.stdout, counter, createGzip(GZIP), file, { signal }),
    ]);
    if (code === null || code > exitCodeMax)
      throw new BackupError(`No backup was written: tar failed (${output.trim().split('\n')[0]}).`);
  } finally {
    tar.kill();
  }
}

/**
 * Replaces the cluster by the one in the backup, and keeps the former cluster next to it. The backup is unpacked in
 * another directory, and PostgreSQL replays its log there first. The statement `markCopied` records in the restored
 * database that it is older than its original. If a crash separates the two renames that follow, the next start says
 * what to do. The next start also creates new passwords. Resolves with the path of the former cluster, or null if there
 * was none. Throws `DataDirectoryError` if the service is running, and `BackupError` for an unusable file.
 */
export async function restoreCluster(file: string, dataDir: string | null, markCopied: string): Promise<string | null> {
  const directory = await openDataDirectory(dataDir);
  const home = await postgresHome(directory.path);
  const staging = { ...home, path: `${home.path}.new` };
  try {
    await endFormer(home);
    const binaries = await findPostgresBinaries(cacheDirectory(), home.user);
    await rm(staging.path, { recursive: true, force: true });
    await secureHome(staging.path, home.user);
    await unpack(file, staging.path);
    for (const name of await choicesIn(staging.path)) {
      // The lines are appended, because their order does not matter and the existing file may be newer.
      await appendFile(join(directory.path, name), await readFile(join(staging.path, name)), {
        mode: 0o600,
        flush: true,
      });
    }
    await giveTree(clusterOf(staging), home.user);
    await runSingleUser(staging, binaries, POSTGRES_DATABASE, [markCopied], true);
    // Syncs the files that tar wrote.
    await run('sync', ['--file-system', staging.path]);
    await secureHome(home.path, home.user);
    // In milliseconds, because two restores within a second replace different databases.
    const former = join(home.path, `${KEPT_CLUSTER}${new Date().toISOString()}`);
    const hadFormer = await isThere(clusterOf(home));
    if (hadFormer) await rename(clusterOf(home), former);
    await dropPasswords(home);
    await rename(clusterOf(staging), clusterOf(home));
    await syncDirectory(home.path);
    return hadFormer ? former : null;
  } finally {
    await rm(staging.path, { recursive: true, force: true });
    await directory.close();
  }
}

async function unpack(file: string, target: string): Promise<void> {
  const args = ['--extract', `--file=${file}`, '--gzip', '--ignore-zeros', '--no-same-owner', '--same-permissions'];
  // Standard input is inherited, so that `file` may be /dev/stdin.
  const tar = spawn('tar', [...args, '--force-local', `--directory=${target}`], {
    stdio: ['inherit', 'ignore', 'pipe'],
  });
  const [[code], output] = await Promise.all([once(tar, 'close') as Promise<[number | null]>, text(tar.stderr)]);
  if (code !== 0) throw new BackupError(`Cannot unpack ${file}: ${output.trim().split('\n')[0]}`);
  const isWhole = await succeeds(access(join(target, LABEL)));
  if (!isWhole)
    throw new BackupError(`${file} is not a complete Vigie backup: it has no ${LABEL}. Name another backup.`);
}

/** File in the data directory with the time when the last backup began, in ISO 8601. */
const LAST_BACKUP_FILE = 'last-backup';

export async function readLastBackup(dataDir: string): Promise<Date | null> {
  const at = await readSecret(join(dataDir, LAST_BACKUP_FILE));
  return at === null ? null : new Date(at);
}

/** Renames the finished draft, whose content is on disk, and records the time of the backup. */
export async function publishBackup(draft: string, file: string, begunAt: Date, dataDir: string): Promise<void> {
  await rename(draft, file);
  await syncDirectory(dirname(file));
  const { uid, gid } = await stat(dataDir);
  // If root creates the backup, the owner of the data must be able to read this file (`vigie doctor`).
  await writeSecret(join(dataDir, LAST_BACKUP_FILE), begunAt.toISOString(), { name: '', userId: uid, groupId: gid });
}
