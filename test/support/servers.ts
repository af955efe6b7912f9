/**
 * Real servers for integration tests: each PostgreSQL or nats-server has a free loopback port, and ends with its test or
 * process. The PostgreSQL cluster is initialised once per machine and version, then copied.
 *
 * A killed server leaves the same data as a crash. With fsync off, a power cut could lose data, but the kernel keeps
 * everything that was written before a SIGKILL.
 */

import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, rm, statfs, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { succeeds } from '../../src/engine/actor/waiting.ts';
import { cacheEntry } from '../../src/local/cache.ts';
import type { EmbeddedServer } from '../../src/local/child-server.ts';
import { cacheDirectory } from '../../src/local/data-directory.ts';
import { startNatsServer } from '../../src/local/nats-server.ts';
import { postgresHome, startPostgres } from '../../src/local/postgres.ts';
import { ensureCluster, findPostgresBinaries } from '../../src/local/postgres-cluster.ts';
import { portForLater } from './ports.ts';
import { until } from './until.ts';

const run = promisify(execFile);

/** A `TestContext`, or `{ after }` of `node:test` for servers shared by a whole file. */
export interface Cleanup {
  after(work: () => Promise<void>): void;
}

/** Runs a test's cleanups in reverse order, so that nothing outlives a server that it uses. */
export function lastFirst(t: Cleanup): Cleanup {
  const ends: (() => Promise<unknown>)[] = [];
  t.after(async () => {
    for (const end of ends.reverse()) await end();
  });
  return { after: (work) => void ends.push(work) };
}

export interface TestServer {
  /** Does not change at a restart. */
  readonly url: string;
  /** Null while it is down. */
  readonly pid: number | null;
  /** Sends SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** Stops gracefully; resolves when the process is gone. */
  stop(): Promise<void>;
  /** After `kill` or `stop`: starts again on the same data and port. */
  restart(): Promise<void>;
}

export interface TestPostgres extends TestServer {
  /** For statements that the application's role may not run. Does not change at a restart. */
  readonly superuserUrl: string;
}

export interface TestServers {
  readonly postgres: TestServer;
  readonly nats: TestServer;
}

/** `fsync` and `full_page_writes` cost seconds of a test run, and matter only for a power cut. */
export const TEST_SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '64MB',
  // Uses the data directory, because a killed server would leave a segment in /dev/shm for ever.
  dynamic_shared_memory_type: 'mmap',
};
/** Enough for about fifty clusters: those of parallel tests, and those that killed tests left. */
const MEMORY_FREE_BYTES = 4 * 1024 ** 3;
const PREFIX = 'vigie-test-';
export const CACHE = cacheDirectory();

export async function startTestServers(cleanup: Cleanup): Promise<TestServers> {
  const [postgres, nats] = await Promise.all([startTestPostgres(cleanup), startTestNats(cleanup)]);
  return { postgres, nats };
}

/**
 * The database is empty and not migrated. `settings` override `TEST_SETTINGS`. `parent`: where to
 * create the data directory, by default with the other temporary directories.
 */
export async function startTestPostgres(
  cleanup: Cleanup,
  settings: Readonly<Record<string, string>> = {},
  parent?: string,
): Promise<TestPostgres> {
  const dataDir =
    parent === undefined ? await temporaryDirectory('postgres') : await mkdtemp(join(parent, 'postgres-'));
  await copyTestCluster(dataDir);
  let superuserUrl = '';
  const server = await testServer(cleanup, dataDir, async (port) => {
    const started = await startPostgres({
      dataDir,
      cacheDir: CACHE,
      settings: { ...TEST_SETTINGS, ...settings },
      ...port,
    });
    superuserUrl = started.superuserUrl;
    return started;
  });
  return Object.assign(server, { superuserUrl });
}

/**
 * Uses `NATS_SERVER_BIN` if it is set, because the tests must pass with old and new servers. `storeDir`: where the
 * streams are stored, by default in the data directory. `storeBytesMax`: size of the store, by default a share of the
 * free disk space.
 */
export async function startTestNats(
  cleanup: Cleanup,
  storeDir: string | null = null,
  storeBytesMax?: number,
): Promise<TestServer> {
  const dataDir = await temporaryDirectory('nats');
  if (storeDir !== null) {
    await mkdir(join(dataDir, 'nats'));
    await symlink(storeDir, join(dataDir, 'nats', 'store'));
  }
  const serverBin = process.env.NATS_SERVER_BIN || null;
  const size = storeBytesMax === undefined ? {} : { storeBytesMax };
  return testServer(cleanup, dataDir, (port) =>
    startNatsServer({ dataDir, serverBin, cacheDir: CACHE, ...size, ...port }),
  );
}

/** By URL of a server: functions that run before the server ends with its test. */
const users = new Map<string, (() => Promise<unknown>)[]>();

/** For code in the test's own process, which would otherwise wait for a server that has ended. */
export function endBefore({ url }: { readonly url: string }, end: () => Promise<unknown>): void {
  users.set(url, [...(users.get(url) ?? []), end]);
}

/** The server keeps its port. */
export async function testServer(
  cleanup: Cleanup,
  dataDir: string,
  start: (options: { port: number }) => Promise<EmbeddedServer>,
): Promise<TestServer> {
  let server: EmbeddedServer | null = null;
  cleanup.after(async () => {
    for (const end of (server !== null && users.get(server.url)) || []) await end();
    await server?.stop();
    // Processes of a killed PostgreSQL may still be writing.
    await rm(dataDir, { recursive: true, force: true, maxRetries: 10 });
  });
  const port = await portForLater();
  server = await start({ port });
  const { url } = server;
  return {
    url,
    get pid() {
      return server?.pid ?? null;
    },
    async kill() {
      if (server !== null) process.kill(server.pid, 'SIGKILL');
      await server?.exited;
      server = null;
    },
    async stop() {
      await server?.stop();
      server = null;
    },
    async restart() {
      server ??= await until(
        () => start({ port }).catch(nullIfPortIsTaken),
        (started) => started !== null,
      );
    },
  };
}

/** While a server is down, a program that asks the kernel for a free port may get its port. */
function nullIfPortIsTaken(error: Error): null {
  if (/address already in use|another program listens/i.test(error.message)) return null;
  throw error;
}

/** By default its name has characters that shells, URLs and configuration may misread, for tests of the servers. */
export async function emptyDirectory(cleanup: Cleanup, name = `donnée d'été "1" $HOME`): Promise<string> {
  const path = await temporaryDirectory(name);
  cleanup.after(() => rm(path, { recursive: true, force: true, maxRetries: 10 }));
  return path;
}

/** Fills a data directory as the first start of PostgreSQL does, but faster. */
export async function copyTestCluster(dataDir: string): Promise<void> {
  // `cp -a` keeps the owner and the modes, which PostgreSQL checks.
  await run('cp', ['-a', '--reflink=auto', await postgresTemplate(), join(dataDir, 'postgres')]);
}

async function postgresTemplate(): Promise<string> {
  const { user } = await postgresHome('');
  const binaries = await findPostgresBinaries(CACHE, user);
  // Increment the number if the creation of the template changes.
  const name = `test-cluster-2-${binaries.version}-${process.arch}`;
  const entry = await cacheEntry(CACHE, name, exists, async (path) => {
    await ensureCluster({ path: join(path, 'postgres'), user }, binaries, false);
  });
  return join(entry, 'postgres');
}

/** In memory if there is enough, because a cluster has 1,200 files, and a disk may take half a millisecond for each. */
export async function temporaryDirectory(name: string): Promise<string> {
  const memory = await statfs('/dev/shm').catch(() => null);
  const isRoomy = memory !== null && memory.bavail * memory.bsize > MEMORY_FREE_BYTES;
  const parent = isRoomy ? '/dev/shm' : tmpdir();
  await removeAbandoned(parent);
  return mkdtemp(join(parent, `${PREFIX}${process.pid}-${name}-`));
}

/** Removes the directories that killed test processes left behind. */
async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const [, pid] = name.startsWith(PREFIX) ? (/^(\d+)-/.exec(name.slice(PREFIX.length)) ?? []) : [];
    if (pid === undefined || (await exists(`/proc/${pid}`))) continue;
    // Its servers may still be writing, or it belongs to another user: a later test removes it.
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => undefined);
  }
}

const exists = (path: string): Promise<boolean> => succeeds(access(path));
