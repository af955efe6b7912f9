/** The servers of a start without DATABASE_URL and NATS_URL lose nothing they acknowledged, and end with the daemon. */

import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, chmod, chown, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { succeeds } from '../../src/engine/actor/waiting.ts';
import { connectBroker } from '../../src/engine/broker/connection.ts';
import { startChildServer, waitUntilReady } from '../../src/local/child-server.ts';
import { cacheDirectory } from '../../src/local/data-directory.ts';
import { startNatsServer } from '../../src/local/nats-server.ts';
import { bufferSettings, startPostgres } from '../../src/local/postgres.ts';
import { LOADER, moduleUrl } from '../support/checkout.ts';
import { queryOnce as query } from '../support/database.ts';
import { valuesOf } from '../support/lists.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { copyTestCluster, emptyDirectory } from '../support/servers.ts';
import { until } from '../support/until.ts';

const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;
const cacheDir = cacheDirectory();
const serverBin = process.env.NATS_SERVER_BIN || null;

test('a restart keeps the rows and the messages', async (t) => {
  const dataDir = await dataDirectory(t);
  const first = await startBoth(dataDir);
  await query(first.postgres.url, 'create table kept (word text)');
  await query(first.postgres.url, "insert into kept values ('été')");
  await publish(first.nats.url, 'kept');
  await Promise.all([first.postgres.stop(), first.nats.stop()]);
  assert.match(await first.postgres.exited, /^embedded PostgreSQL ended with exit code 0/);

  const second = await startBoth(dataDir);
  t.after(() => Promise.all([second.postgres.stop(), second.nats.stop()]));
  assert.deepEqual(await query(second.postgres.url, 'select word from kept'), [{ word: 'été' }]);
  assert.equal(await messageCount(second.nats.url), 1);
});

test('commits are durable, and the servers listen on loopback only', async (t) => {
  const dataDir = await emptyDirectory(t);
  const postgres = await startPostgres({ dataDir, cacheDir });
  t.after(() => postgres.stop());
  for (const name of ['fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums']) {
    assert.deepEqual(await query(postgres.url, `select current_setting('${name}') as value`), [{ value: 'on' }], name);
  }
  assert.deepEqual(await query(postgres.url, "select current_setting('listen_addresses') as value"), [
    { value: '127.0.0.1' },
  ]);
  // French sort order, and case mapping of letters outside ASCII.
  assert.deepEqual(await query(postgres.url, `select 'é' < 'f' collate "fr-x-icu" as sorted, upper('é') as folded`), [
    { sorted: true, folded: 'É' },
  ]);
});

test('PostgreSQL’s shared buffers are an eighth of the memory, within bounds', () => {
  const gigabyte = 1024 ** 3;
  assert.deepEqual(bufferSettings(4 * gigabyte), { shared_buffers: '512MB', effective_cache_size: '1024MB' });
  assert.deepEqual(bufferSettings(64 * gigabyte), { shared_buffers: '1024MB', effective_cache_size: '2048MB' });
  assert.deepEqual(bufferSettings(gigabyte / 2), { shared_buffers: '128MB', effective_cache_size: '256MB' });
});

test('kill -9 of the daemon also ends its servers, and the next start succeeds immediately', async (t) => {
  const dataDir = await dataDirectory(t);
  const { daemon, pids, urls } = await startDaemon(dataDir);
  await query(urls.postgres, 'create table kept ()');
  daemon.kill('SIGKILL');
  const next = await startBoth(dataDir);
  t.after(() => Promise.all([next.postgres.stop(), next.nats.stop()]));
  for (const pid of pids) assert.equal(await isRunning(pid), false, `process ${pid} is left`);
  await query(next.postgres.url, 'select * from kept');
});

test('a server that outlived its daemon is stopped by the next start', async (t) => {
  const dataDir = await dataDirectory(t);
  const orphans = await startBoth(dataDir);
  const next = await startBoth(dataDir);
  t.after(() => Promise.all([next.postgres.stop(), next.nats.stop()]));
  assert.equal(await isRunning(orphans.postgres.pid), false);
  assert.equal(await isRunning(orphans.nats.pid), false);
});

test('files of another user are taken over, and lost passwords are replaced', async (t) => {
  const dataDir = await dataDirectory(t);
  const first = await startBoth(dataDir);
  await query(first.postgres.url, "create table kept (word text); insert into kept values ('été')");
  await Promise.all([first.postgres.stop(), first.nats.stop()]);
  const written = [join(dataDir, 'postgres/cluster'), join(dataDir, 'nats/store/jetstream')];
  const owners = await Promise.all(written.map((path) => stat(path)));
  if (isRoot) execFileSync('chown', ['--recursive', `${NOBODY}:${NOBODY}`, ...written]);
  await rm(join(dataDir, 'postgres/superuser-password'));
  const next = await startBoth(dataDir);
  t.after(() => Promise.all([next.postgres.stop(), next.nats.stop()]));
  assert.deepEqual(await query(next.postgres.url, 'select word from kept'), [{ word: 'été' }]);
  await assert.rejects(query(first.postgres.url, 'select'));
  const taken = await Promise.all(written.map((path) => stat(path)));
  assert.deepEqual(valuesOf(taken, 'uid'), valuesOf(owners, 'uid'));
});

test('a pid file with the id of an unrelated process does not prevent a start', async (t) => {
  const dataDir = await dataDirectory(t);
  const pidFile = join(dataDir, 'postgres/cluster/postmaster.pid');
  await (await startPostgres({ dataDir, cacheDir })).stop();
  const stranger = spawn('sleep', ['60'], isRoot ? { uid: NOBODY, gid: NOBODY } : {});
  t.after(() => stranger.kill());
  await writeFile(pidFile, `${stranger.pid}\n${dataDir}\n0\n5432\n\n127.0.0.1\n0 0\nready\n`);
  if (isRoot) await chown(pidFile, NOBODY, NOBODY);
  const server = await startPostgres({ dataDir, cacheDir });
  await server.stop();
});

test('an interrupted first start is restarted', async (t) => {
  const dataDir = await emptyDirectory(t);
  const { daemon } = spawnDaemon(dataDir);
  const begun = join(dataDir, 'postgres.new/cluster/global');
  await until(() => exists(begun), Boolean);
  daemon.kill('SIGKILL');
  assert.equal(await exists(join(dataDir, 'postgres')), false);
  const server = await startPostgres({ dataDir, cacheDir });
  t.after(() => server.stop());
  await query(server.url, 'select 1');
  assert.equal(await exists(join(dataDir, 'postgres.new')), false);
});

test('a start after an interrupted restore keeps the former database and says what to do', async (t) => {
  const dataDir = await dataDirectory(t);
  const cluster = join(dataDir, 'postgres/cluster');
  await (await startPostgres({ dataDir, cacheDir })).stop();
  await rename(cluster, `${cluster}-before-2026-11-30T12:00:00.000Z`);
  await assert.rejects(
    startPostgres({ dataDir, cacheDir }),
    /restore was interrupted.*Restore the backup again.*rename cluster-before-2026-11-30T12:00:00.000Z to cluster in/,
  );
  await rename(`${cluster}-before-2026-11-30T12:00:00.000Z`, cluster);
  await (await startPostgres({ dataDir, cacheDir })).stop();
});

test('an ordinary user without a home or a locale can start both servers', async (t) => {
  if (!isRoot) return t.skip('the other tests run as a plain user already');
  const dataDir = await emptyDirectory(t);
  await chown(dataDir, NOBODY, NOBODY);
  const reach = spawn('setpriv', [...AS_NOBODY, 'test', '-r', new URL(import.meta.url).pathname]);
  const [unreachable] = await once(reach, 'exit');
  if (unreachable !== 0) return t.skip('the user nobody cannot read this clone');
  const { daemon, urls } = await startDaemon(dataDir, AS_NOBODY);
  t.after(() => daemon.kill('SIGKILL'));
  assert.deepEqual(await query(urls.postgres, 'select 1 as one'), [{ one: 1 }]);
  await publish(urls.nats, 'hello');
});

test('a server that does not start reports why', async (t) => {
  const dataDir = await dataDirectory(t);
  await assert.rejects(startPostgres({ dataDir, cacheDir, settings: { shared_buffers: 'many' } }), (error: Error) => {
    assert.match(error.message, /embedded PostgreSQL ended with exit code 1.*invalid value for parameter/s);
    return true;
  });
  const port = await listenOnLoopback(t, createServer());
  await assert.rejects(startPostgres({ dataDir, cacheDir, port }), /Address already in use/);
  await assert.rejects(startNatsServer({ dataDir, serverBin, cacheDir, port }), (error: Error) => {
    assert.match(error.message, new RegExp(`another program listens on 127.0.0.1:${port}. Set VIGIE_NATS_PORT`));
    return true;
  });
});

test('a server that exits is noticed', async (t) => {
  const dataDir = await dataDirectory(t);
  const { postgres, nats } = await startBoth(dataDir);
  process.kill(postgres.pid, 'SIGKILL');
  process.kill(nats.pid, 'SIGKILL');
  assert.match(await postgres.exited, /^embedded PostgreSQL ended by SIGKILL/);
  assert.match(await nats.exited, /^embedded nats-server ended by SIGKILL/);
  await Promise.all([postgres.stop(), nats.stop()]);
});

test('a server that ignores its stop signal is killed', async (t) => {
  const directory = await emptyDirectory(t);
  const logFile = join(directory, 'server.log');
  const script = "process.on('SIGTERM', () => undefined); console.log('ready'); setInterval(() => undefined, 60_000)";
  const server = await startChildServer({
    name: 'stubborn server',
    command: process.execPath,
    args: ['--eval', script],
    directory,
    logFile,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 1,
    user: null,
  });
  const isReady = async () => ((await readFile(logFile, 'utf8')).startsWith('ready') ? true : null);
  await waitUntilReady(server, 600_000, isReady);
  await server.stop();
  assert.match(await server.exited, /^stubborn server ended by SIGKILL.*\nready$/s);
});

test('nats-server 2.10 and later sync every write, and earlier versions do not get the option', async (t) => {
  const dataDir = await emptyDirectory(t);
  const fake = join(dataDir, 'nats-server');
  for (const [version, isWritten] of [
    ['2.9.10', false],
    ['2.10.0', true],
    ['3.0.1', true],
  ] as const) {
    // A fake server that prints its version and refuses to run.
    await writeFile(
      fake,
      `#!/bin/sh\n[ "$1" = --version ] && echo 'nats-server: v${version}' && exit\necho no; exit 3\n`,
    );
    await chmod(fake, 0o755);
    await assert.rejects(startNatsServer({ dataDir, serverBin: fake, cacheDir }), /ended with exit code 3.*\nno$/s);
    const configuration = await readFile(join(dataDir, 'nats/nats-server.conf'), 'utf8');
    assert.equal(configuration.includes('sync_interval: always'), isWritten, version);
  }
});

test('a program other than nats-server is refused with its name', async (t) => {
  const dataDir = await emptyDirectory(t);
  for (const bin of ['/no/such/file', '/bin/true']) {
    await assert.rejects(startNatsServer({ dataDir, serverBin: bin, cacheDir }), (error: Error & { code: string }) => {
      assert.equal(error.code, 'EMBEDDED_SERVER_MISSING');
      assert.match(error.message, new RegExp(`${bin} is not a nats-server`));
      return true;
    });
  }
});

test('log lines of the servers are forwarded', async (t) => {
  const dataDir = await dataDirectory(t);
  const lines: string[] = [];
  const server = await startPostgres({ dataDir, cacheDir, onLog: (line) => lines.push(line) });
  await server.stop();
  assert.match(lines.join('\n'), /ready to accept connections\n.*database system is shut down$/s);
});

const AS_NOBODY = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--'];

/** A data directory after a first start. Tests of the first start use an empty one instead. */
async function dataDirectory(t: TestContext): Promise<string> {
  const path = await emptyDirectory(t);
  await copyTestCluster(path);
  return path;
}

async function startBoth(dataDir: string) {
  const [postgres, nats] = await Promise.all([
    // A killed server would leave its shared memory in /dev/shm for ever, because the data directory is removed.
    startPostgres({ dataDir, cacheDir, settings: { dynamic_shared_memory_type: 'mmap' } }),
    startNatsServer({ dataDir, serverBin, cacheDir }),
  ]);
  return { postgres, nats };
}

/** Starts a daemon in its own process that starts both servers and prints their addresses. */
function spawnDaemon(dataDir: string, setpriv: readonly string[] = ['--']): { daemon: ChildProcess } {
  const source = (name: string) => JSON.stringify(moduleUrl(`src/local/${name}`));
  const script = `
    import { openDataDirectory, cacheDirectory } from ${source('data-directory')};
    import { startPostgres } from ${source('postgres')};
    import { startNatsServer } from ${source('nats-server')};
    const { path: dataDir } = await openDataDirectory(process.argv[1]);
    const cacheDir = dataDir + '/cache';
    const postgres = await startPostgres({ dataDir, cacheDir });
    const nats = await startNatsServer({ dataDir, serverBin: process.argv[2] || null, cacheDir });
    const urls = { postgres: postgres.url, nats: nats.url };
    process.stdout.write(JSON.stringify({ pids: [postgres.pid, nats.pid], urls }));`;
  const node = [process.execPath, ...LOADER, '--input-type=module', `--eval=${script}`, dataDir, serverBin ?? ''];
  const daemon = spawn('setpriv', [...setpriv, ...node], {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { daemon };
}

async function startDaemon(dataDir: string, setpriv?: readonly string[]) {
  const { daemon } = spawnDaemon(dataDir, setpriv);
  const [text] = await once(daemon.stdout as NodeJS.ReadableStream, 'data');
  const told = JSON.parse(String(text)) as { pids: number[]; urls: { postgres: string; nats: string } };
  return { daemon, ...told };
}

async function publish(url: string, text: string): Promise<void> {
  const broker = await connectBroker({ url, name: 'test', onStatus: () => undefined });
  await broker.manager.streams.add({ name: 'KEPT', subjects: ['kept'] });
  await broker.jetStream.publish('kept', Buffer.from(text));
  await broker.close();
}

async function messageCount(url: string): Promise<number> {
  const broker = await connectBroker({ url, name: 'test', onStatus: () => undefined });
  const { state } = await broker.manager.streams.info('KEPT');
  await broker.close();
  return state.messages;
}

/** True if the process runs. A zombie, which only its parent can remove, does not count. */
async function isRunning(pid: number): Promise<boolean> {
  return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')) !== '';
}

const exists = (path: string): Promise<boolean> => succeeds(access(path));
