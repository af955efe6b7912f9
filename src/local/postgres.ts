/**
 * Runs an embedded PostgreSQL server if none is configured. Its files are in `<data directory>/postgres` (`cluster`,
 * `password`, `superuser-password`, `server.log`). It listens only on the loopback interface and requires a password.
 * It is the engine's source of truth, so a commit is on disk before it is acknowledged, unless a session opts out.
 */

import { access, open, readFile, rm, stat } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { succeeds } from '../engine/actor/waiting.ts';
import {
  type ChildServer,
  type EmbeddedServer,
  type EmbeddedServerOptions,
  endFormerServer,
  freePort,
  ServerStartError,
  serverNameOf,
  startChildServer,
  waitUntilReady,
} from './child-server.ts';
import { cacheDirectory } from './data-directory.ts';
import { readSecret, serverUser } from './ownership.ts';
import {
  ensureCluster,
  findPostgresBinaries,
  POSTGRES_DATABASE,
  POSTGRES_ENVIRONMENT,
  POSTGRES_ROLE,
  POSTGRES_SUPERUSER,
  type PostgresBinaries,
  type PostgresHome,
  type PostgresPasswords,
  pathFromChild,
  SUPERUSER_PASSWORD_FILE,
} from './postgres-cluster.ts';

export interface PostgresOptions extends EmbeddedServerOptions {
  /** PostgreSQL settings that replace those in `SETTINGS`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface PostgresServer extends EmbeddedServer {
  /** For tasks that need more rights than the application's role has. */
  readonly superuserUrl: string;
}

/** For a machine with two cores, on which the daemon runs too. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  maintenance_work_mem: '128MB',
  // The first change of a page after a checkpoint logs the whole page. With 2 GB, checkpoints would run all the time.
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  // Whole pages are logged uncompressed: pglz, the only method of this build, takes as long as the change itself.
  wal_compression: 'off',
  // Does not fill new log files with zeros. Otherwise, at 100 changes/s, all commits would wait for 16 MB every three
  // seconds, until the first checkpoint leaves old files for reuse.
  wal_init_zero: 'off',
  // Keeps the 10 most frequent values instead of 100, and samples 3,000 rows instead of 30,000. Otherwise each ANALYZE
  // of the growing tables would take half a second of a core.
  default_statistics_target: '10',
  max_parallel_maintenance_workers: '0',
  log_checkpoints: 'off',
};
const BUFFERS_MB = { least: 128, most: 1_024 };
const MEGABYTE = 1_048_576;

/** Recovery after a crash replays at most `max_wal_size` within half a minute. Allows for a very slow disk. */
const READY_TIMEOUT_MS = 300_000;
/** A fast shutdown writes one checkpoint. */
const STOP_TIMEOUT_MS = 30_000;
/** Another process may take the free port before the server does. */
const PORT_ATTEMPTS = 5;

/**
 * Starts the server, and creates the cluster at the first start. Resolves when the server accepts connections. Throws
 * `ServerMissingError` without binaries, and `ServerStartError` with the end of the log if the start fails.
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const home = await postgresHome(options.dataDir, options.onWarning);
  const binaries = await findPostgresBinaries(options.cacheDir ?? cacheDirectory(), home.user);
  await endFormer(home);
  await removeMisleadingPidFile(home);
  const passwords = await ensureCluster(home, binaries);
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort());
    try {
      const server = await startOn(port, home, binaries, options);
      return { ...server, ...urlsOf(passwords, port) };
    } catch (error) {
      const isPortTaken = error instanceof ServerStartError && error.message.includes('Address already in use');
      if (!isPortTaken || options.port !== undefined || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

/** The server's directory in the data directory, and the user of the server. */
export async function postgresHome(
  dataDir: string,
  onWarning: (warning: string) => void = () => undefined,
): Promise<PostgresHome> {
  return { path: join(dataDir, 'postgres'), user: await serverUser('vigie-postgres', onWarning) };
}

/** Ends servers of an earlier start. If another user owns the cluster, its server may run as that user. */
export async function endFormer(home: PostgresHome): Promise<void> {
  const name = serverNameOf(home.path);
  const owner = await stat(join(home.path, 'cluster')).catch(() => null);
  await endFormerServer({
    name: 'embedded PostgreSQL',
    stopSignal: 'SIGINT',
    userIds: [process.geteuid?.(), home.user?.userId, owner?.uid].filter((id) => id !== undefined),
    isCommandLine: (args) =>
      args.includes(`cluster_name=${name}`) || args[0]?.startsWith(`postgres: ${name}: `) === true,
  });
}

function urlsOf({ role, superuser }: PostgresPasswords, port: number) {
  const address = `127.0.0.1:${port}/${POSTGRES_DATABASE}`;
  return {
    url: `postgres://${POSTGRES_ROLE}:${role}@${address}`,
    superuserUrl: `postgres://${POSTGRES_SUPERUSER}:${superuser}@${address}`,
  };
}

/** The superuser's URL of the server at `url`. Throws `ServerStartError` if the superuser's password is lost. */
export async function superuserUrl(home: string, url: string): Promise<string> {
  const password = await readSecret(join(home, SUPERUSER_PASSWORD_FILE));
  if (password === null)
    throw new ServerStartError(`Embedded PostgreSQL: ${home} lacks the superuser's password. Restart the service.`);
  return Object.assign(new URL(url), { username: POSTGRES_SUPERUSER, password }).href;
}

async function startOn(
  port: number,
  home: PostgresHome,
  binaries: PostgresBinaries,
  options: PostgresOptions,
): Promise<ChildServer> {
  const memoryBytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  const settings = {
    ...SETTINGS,
    ...bufferSettings(memoryBytes),
    ...options.settings,
    cluster_name: serverNameOf(home.path),
    port: String(port),
  };
  const handle = await open(home.path, 'r');
  const server = await startChildServer({
    name: 'embedded PostgreSQL',
    command: binaries.postgres,
    args: [
      '-D',
      pathFromChild(home, 'cluster'),
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    directory: home.path,
    environment: POSTGRES_ENVIRONMENT,
    logFile: join(home.path, 'server.log'),
    onLog: options.onLog,
    stopSignal: 'SIGINT',
    stopTimeoutMs: STOP_TIMEOUT_MS,
    user: home.user,
    handles: [handle.fd],
  }).finally(() => handle.close());
  await waitUntilReady(server, READY_TIMEOUT_MS, () => readyState(home, server));
  return server;
}

/**
 * An eighth of the memory, from 128 MB to 1 GB. Every match changes a different page in the index of its search. A page
 * without a buffer would be written and read again for each match.
 */
export function bufferSettings(memoryBytes: number): Readonly<Record<string, string>> {
  const eighth = Math.floor(memoryBytes / 8 / MEGABYTE);
  const buffers = Math.max(BUFFERS_MB.least, Math.min(eighth, BUFFERS_MB.most));
  return { shared_buffers: `${buffers}MB`, effective_cache_size: `${2 * buffers}MB` };
}

/** Line 8 of the postmaster's pid file contains its state, which `pg_ctl --wait` uses too. */
async function readyState(home: PostgresHome, server: ChildServer): Promise<'ready' | null> {
  const lines = (await readFile(pidFile(home), 'utf8').catch(() => '')).split('\n');
  return lines[0] === String(server.pid) && lines[7]?.trim() === 'ready' ? 'ready' : null;
}

/**
 * After a crash, PostgreSQL overwrites its pid file unless a process has that number. A restarted container reuses the
 * same few numbers, and one without an init process keeps dead processes as zombies. Call this only when no PostgreSQL
 * runs in the home. A file that names no process is kept for PostgreSQL's check of its shared memory.
 */
async function removeMisleadingPidFile(home: PostgresHome): Promise<void> {
  const [pid] = (await readFile(pidFile(home), 'utf8').catch(() => '')).split('\n');
  if (await succeeds(access(`/proc/${pid || 'none'}`))) await rm(pidFile(home));
}

function pidFile(home: PostgresHome): string {
  return join(home.path, 'cluster', 'postmaster.pid');
}
