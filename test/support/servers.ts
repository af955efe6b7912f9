/**
 * Real servers for integration tests: a fresh PostgreSQL and nats-server each, on free loopback ports, gone with the
 * test, or with its process. The cluster is initialised once per machine and version, then copied.
 *
 * Tests that crash a server get what a crash leaves: fsync is off (nothing here survives a power cut), but what was
 * written before a kill -9 is in the kernel's hands all the same.
 */

import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, rm, statfs, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheEntry } from '../../src/local/cache.ts';
import type { EmbeddedServer } from '../../src/local/child-server.ts';
import { cacheDirectory } from '../../src/local/data-directory.ts';
import { startNatsServer } from '../../src/local/nats-server.ts';
import { postgresHome, startPostgres } from '../../src/local/postgres.ts';
import { ensureCluster, findPostgresBinaries } from '../../src/local/postgres-cluster.ts';

const run = promisify(execFile);

/** A `TestContext`, or `{ after }` of `node:test` for servers that a whole file shares. */
export interface Cleanup {
  after(work: () => Promise<void>): void;
}

/** Of what a test opens the last is ended first: nothing outlives what it works on. */
export function lastFirst(t: Cleanup): Cleanup {
  const ends: (() => Promise<unknown>)[] = [];
  t.after(async () => {
    for (const end of ends.reverse()) await end();
  });
  return { after: (work) => void ends.push(work) };
}

export interface TestServer {
  /** Stays the same over a restart. */
  readonly url: string;
  /** Null while it is down. */
  readonly pid: number | null;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** Graceful; resolves when the process is gone. */
  stop(): Promise<void>;
  /** Starts again on the same data and port, after `kill` or `stop`. */
  restart(): Promise<void>;
}

export interface TestPostgres extends TestServer {
  /** For what the application's role may not do. Stays the same over a restart. */
  readonly superuserUrl: string;
}

export interface TestServers {
  readonly postgres: TestServer;
  readonly nats: TestServer;
}

/** `fsync` costs a test run seconds and proves nothing short of a power cut. */
export const TEST_SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '64MB',
  // In the data directory: a server that a test kills would leave it in /dev/shm for good.
  dynamic_shared_memory_type: 'mmap',
};
/** Some fifty clusters: those of tests side by side, and what killed tests left. */
const MEMORY_FREE_BYTES = 4 * 1024 ** 3;
const PREFIX = 'vigie-test-';
export const CACHE = cacheDirectory();

export async function startTestServers(cleanup: Cleanup): Promise<TestServers> {
  const [postgres, nats] = await Promise.all([startTestPostgres(cleanup), startTestNats(cleanup)]);
  return { postgres, nats };
}

/**
 * The database is empty: `migrate(url)` is the test's. `settings` win over the relaxed ones. `parent`: where its data
 * directory is made, if not among the other temporary ones.
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
 * Takes `NATS_SERVER_BIN` when set: the tests hold for old servers and new. `storeDir`: where its streams lie, if not in
 * the data directory. `storeBytesMax`: of its store, if not as large as the disk.
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

/** By the URL of a server: what ends before it, when its test does. */
const users = new Map<string, (() => Promise<unknown>)[]>();

/** What works in the test's own process would wait for a server that has gone. */
export function endBefore({ url }: { readonly url: string }, end: () => Promise<unknown>): void {
  users.set(url, [...(users.get(url) ?? []), end]);
}

/** On a port that stays. `start` is told it from the second time on. */
export async function testServer(
  cleanup: Cleanup,
  dataDir: string,
  start: (options: { port?: number }) => Promise<EmbeddedServer>,
): Promise<TestServer> {
  let server: EmbeddedServer | null = null;
  cleanup.after(async () => {
    for (const end of (server !== null && users.get(server.url)) || []) await end();
    await server?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  server = await start({});
  const { url } = server;
  const port = Number(new URL(url).port);
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
      server ??= await start({ port });
    },
  };
}

/** For a test of the servers themselves; with a name that shells, URLs and configuration files might trip over. */
export async function emptyDirectory(cleanup: Cleanup): Promise<string> {
  const path = await temporaryDirectory(`donnée d'été "1" $HOME`);
  cleanup.after(() => rm(path, { recursive: true, force: true, maxRetries: 10 }));
  return path;
}

/** Fills a data directory as the first start of PostgreSQL would, faster. */
export async function copyTestCluster(dataDir: string): Promise<void> {
  // `cp -a`: the owner and the modes are those PostgreSQL insists on.
  await run('cp', ['-a', '--reflink=auto', await postgresTemplate(), join(dataDir, 'postgres')]);
}

async function postgresTemplate(): Promise<string> {
  const { user } = await postgresHome('');
  const binaries = await findPostgresBinaries(CACHE, user);
  // Made by another version of ours: another template.
  const name = `test-cluster-2-${binaries.version}-${process.arch}`;
  const entry = await cacheEntry(CACHE, name, exists, async (path) => {
    await ensureCluster({ path: join(path, 'postgres'), user }, binaries, false);
  });
  return join(entry, 'postgres');
}

/** In memory where there is plenty: a cluster is 1,200 files, and a disk may take half a millisecond for each. */
export async function temporaryDirectory(name: string): Promise<string> {
  const memory = await statfs('/dev/shm').catch(() => null);
  const isRoomy = memory !== null && memory.bavail * memory.bsize > MEMORY_FREE_BYTES;
  const parent = isRoomy ? '/dev/shm' : tmpdir();
  await removeAbandoned(parent);
  return mkdtemp(join(parent, `${PREFIX}${process.pid}-${name}-`));
}

/** What test processes that were killed left behind. */
async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const [, pid] = name.startsWith(PREFIX) ? (/^(\d+)-/.exec(name.slice(PREFIX.length)) ?? []) : [];
    if (pid === undefined || (await exists(`/proc/${pid}`))) continue;
    // Its servers may be writing their last, or another user's tests have left it: some later test removes it.
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => undefined);
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
