/**
 * A real PostgreSQL for a start without one: the cluster lives in `<data directory>/postgres` (`cluster`, `password`,
 * `superuser-password`, `server.log`), the server listens on the loopback interface only and requires a password. It
 * holds the engine's truth, so every commit is on disk before it is acknowledged.
 */

import { access, open, readFile, rm, stat } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { succeeds } from '../engine/actor/waiting.ts';
import {
  type ChildServer,
  type EmbeddedServer,
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

export interface PostgresOptions {
  /** Held by the caller: a server found running in it is taken for a leftover and stopped. */
  readonly dataDir: string;
  /** For a copy of the binaries, where one is needed; the default cache directory when absent. */
  readonly cacheDir?: string;
  readonly onLog?: (line: string) => void;
  readonly onWarning?: (warning: string) => void;
  /** A free one when absent. */
  readonly port?: number;
  /** Stronger than our own. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface PostgresServer extends EmbeddedServer {
  /** For tasks that exceed the rights of the application's role. */
  readonly superuserUrl: string;
}

/** For two cores shared with the matcher, on a disk shared with everything else. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  maintenance_work_mem: '128MB',
  // After a checkpoint the first change of a page logs it whole; with 2 GB, at full speed, checkpoints never pause.
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  // Whole pages are logged uncompressed: the one method of this build, pglz, takes as long as the change itself.
  wal_compression: 'off',
  // A new log file is not filled with zeros first: all commits would wait for 16 MB, every three seconds at 100
  // changes/s, until the first checkpoint leaves old files for reuse.
  wal_init_zero: 'off',
  // The most frequent of 10 values instead of 100, from 3,000 rows instead of 30,000: the tables grow all the time, and
  // each ANALYZE would take a core for half a second.
  default_statistics_target: '10',
  max_parallel_maintenance_workers: '0',
  log_checkpoints: 'off',
};
const BUFFERS_MB = { least: 128, most: 1_024 };
const MEGABYTE = 1_048_576;

/** Recovery after a crash replays at most `max_wal_size`, in half a minute; this is for a very slow disk. */
const READY_TIMEOUT_MS = 300_000;
/** A fast shutdown writes one checkpoint. */
const STOP_TIMEOUT_MS = 30_000;
/** Another process may take the free port before the server does. */
const PORT_ATTEMPTS = 5;

/**
 * Starts the server, creating the cluster on first use. Resolves when it accepts connections.
 * Throws `ServerMissingError` without binaries and `ServerStartError` with the end of the log when it does not start.
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

/** Its place in the data directory, and the user that it runs as. */
export async function postgresHome(
  dataDir: string,
  onWarning: (warning: string) => void = () => undefined,
): Promise<PostgresHome> {
  return { path: join(dataDir, 'postgres'), user: await serverUser('vigie-postgres', onWarning) };
}

/** The server of a cluster of another user may run as that one. */
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

/** The superuser's URL of the server that `url` names. Throws `ServerStartError` when the password of the superuser is lost. */
export async function superuserUrl(home: string, url: string): Promise<string> {
  const password = await readSecret(join(home, SUPERUSER_PASSWORD_FILE));
  if (password === null)
    throw new ServerStartError(`embedded PostgreSQL: ${home} has no password of its superuser: restart the service`);
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
 * An eighth of the memory, and a gigabyte at most. Every match changes a page of its own in the index of its search: a
 * page without a buffer here is written out, and read again, for each of them.
 */
export function bufferSettings(memoryBytes: number): Readonly<Record<string, string>> {
  const eighth = Math.floor(memoryBytes / 8 / MEGABYTE);
  const buffers = Math.max(BUFFERS_MB.least, Math.min(eighth, BUFFERS_MB.most));
  return { shared_buffers: `${buffers}MB`, effective_cache_size: `${2 * buffers}MB` };
}

/** The postmaster keeps its state in the eighth line of its pid file, for `pg_ctl --wait`. */
async function readyState(home: PostgresHome, server: ChildServer): Promise<'ready' | null> {
  const lines = (await readFile(pidFile(home), 'utf8').catch(() => '')).split('\n');
  return lines[0] === String(server.pid) && lines[7]?.trim() === 'ready' ? 'ready' : null;
}

/**
 * PostgreSQL overwrites the pid file of a crash unless some process has that number by now: a container that restarts
 * gives out the same few numbers, and one without an init keeps the dead as zombies. Only called once no PostgreSQL
 * works in the home any more; a file that names no process stays, for PostgreSQL's own check of its shared memory.
 */
async function removeMisleadingPidFile(home: PostgresHome): Promise<void> {
  const [pid] = (await readFile(pidFile(home), 'utf8').catch(() => '')).split('\n');
  if (await succeeds(access(`/proc/${pid || 'none'}`))) await rm(pidFile(home));
}

function pidFile(home: PostgresHome): string {
  return join(home.path, 'cluster', 'postmaster.pid');
}
