/**
 * Creates the database cluster, completely or not at all: everything is made in a directory beside and renamed into
 * place, so an interrupted attempt is thrown away by the next one.
 *
 * PostgreSQL refuses to run as root; a root daemon runs it as `nobody`, who owns the directory but cannot always walk
 * to it (`/root/…`). The daemon therefore opens the directory, and PostgreSQL reaches it through `/proc/self/fd/3`.
 */

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { access, chown, type FileHandle, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ServerStartError, setprivArguments } from './child-server.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { openServerLog, tailOf } from './server-log.ts';

/** The directory of the cluster, its password and its log. */
export interface PostgresHome {
  readonly path: string;
  /** User and group that PostgreSQL runs as, when not the daemon's. */
  readonly userId: number | undefined;
}

export const POSTGRES_USER = 'vigie';
export const POSTGRES_DATABASE = 'vigie';

/** `nobody`, on every Linux that has one. */
const NOBODY = 65_534;

export function postgresHome(path: string): PostgresHome {
  return { path, userId: process.getuid?.() === 0 ? NOBODY : undefined };
}

/** Where a PostgreSQL program that inherited the home as descriptor 3 finds `name` in it. */
export function pathFromChild(home: PostgresHome, name: string): string {
  return home.userId === undefined ? join(home.path, name) : `/proc/self/fd/3/${name}`;
}

export async function readPassword(home: PostgresHome): Promise<string> {
  return (await readFile(join(home.path, 'password'), 'utf8')).trim();
}

/** Does nothing when the home exists. `isDurable: false` leaves out every fsync, for tests. */
export async function ensureCluster(home: PostgresHome, binaries: PostgresBinaries, isDurable = true): Promise<void> {
  const exists = await access(join(home.path, 'cluster', 'PG_VERSION')).then(
    () => true,
    () => false,
  );
  if (exists) return;
  const staging = { ...home, path: `${home.path}.new` };
  // A program of the interrupted attempt may write its last files meanwhile.
  await rm(staging.path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  await mkdir(staging.path, { mode: 0o700 });
  await writePassword(staging);
  if (staging.userId !== undefined) await chown(staging.path, staging.userId, staging.userId);
  await initialise(staging, binaries, isDurable);
  await rename(staging.path, home.path);
  if (isDurable) await syncDirectory(dirname(home.path));
}

async function initialise(home: PostgresHome, binaries: PostgresBinaries, isDurable: boolean): Promise<void> {
  const cluster = pathFromChild(home, 'cluster');
  await runTool(home, binaries.initdb, [
    `--pgdata=${cluster}`,
    `--username=${POSTGRES_USER}`,
    `--pwfile=${pathFromChild(home, 'password')}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // Characters as Unicode has them whatever the machine's libc knows, in code point order; `C` for the rest of libc.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--data-checksums',
    ...(isDurable ? [] : ['--no-sync']),
  ]);
  const single = ['--single', '-D', cluster, '-c', `fsync=${isDurable ? 'on' : 'off'}`, 'postgres'];
  await runTool(home, binaries.postgres, single, `create database ${POSTGRES_DATABASE};\n`);
}

async function writePassword(home: PostgresHome): Promise<void> {
  const file = await open(join(home.path, 'password'), 'wx', 0o600);
  try {
    // URL-safe: it becomes a part of the connection URL.
    await file.writeFile(randomBytes(24).toString('base64url'));
    if (home.userId !== undefined) await file.chown(home.userId, home.userId);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Runs a PostgreSQL program to its end. Throws `ServerStartError` with what it said. */
async function runTool(home: PostgresHome, command: string, args: readonly string[], input = ''): Promise<void> {
  const logFile = join(home.path, 'server.log');
  const log = await openServerLog(logFile);
  const logStart = (await log.stat()).size;
  const handle = await open(home.path, 'r');
  const tool = spawn('setpriv', setprivArguments({ command, args, stopSignal: 'SIGKILL', userId: home.userId }), {
    cwd: home.path,
    detached: true,
    env: POSTGRES_ENVIRONMENT,
    stdio: ['pipe', log.fd, log.fd, handle.fd],
  });
  const exitCode = await new Promise<number | null>((ended, reject) => {
    tool.once('error', reject).once('exit', ended);
    // A program that ends before it reads says why by itself.
    tool.stdin?.on('error', () => undefined).end(input);
  }).finally(() => closeAll(log, handle));
  if (exitCode === 0) return;
  const said = await tailOf(logFile, logStart);
  throw new ServerStartError(`embedded PostgreSQL: ${command} ended with code ${exitCode}:\n${said}`);
}

/** Nothing of the caller's: PGDATA, LC_ALL and the like would change what the programs do. */
export const POSTGRES_ENVIRONMENT: Readonly<Record<string, string>> = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

async function closeAll(...handles: readonly FileHandle[]): Promise<void> {
  for (const handle of handles) await handle.close();
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  await directory.sync().finally(() => directory.close());
}
