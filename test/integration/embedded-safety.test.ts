/** The embedded servers are protected: no other user of the machine can read, forge or delete their data. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import { connectBroker } from '../../src/engine/broker/connection.ts';
import { migrate } from '../../src/engine/store/database.ts';
import { cacheDirectory, openDataDirectory } from '../../src/local/data-directory.ts';
import { startNatsServer } from '../../src/local/nats-server.ts';
import { startPostgres } from '../../src/local/postgres.ts';
import { queryOnce as query } from '../support/database.ts';
import { copyTestCluster, emptyDirectory } from '../support/servers.ts';

const run = promisify(execFile);

const isRoot = process.getuid?.() === 0;
/** `nobody`, and an ordinary user without an entry in the machine's list of users. */
const STRANGERS = isRoot ? [65_534, 54_321] : [];
const cacheDir = cacheDirectory();
const serverBin = process.env.NATS_SERVER_BIN || null;

test('both servers refuse connections without the password', async (t) => {
  const { postgres, nats } = await startBoth(t);
  for (const [user, password] of [
    ['', ''],
    ['vigie', ''],
    ['vigie', 'vigie'],
    [new URL(nats.url).username, 'wrong'],
  ] as const) {
    const url = Object.assign(new URL(nats.url), { username: user, password });
    await assert.rejects(connectBroker({ url: url.href, name: 'stranger', onStatus: () => undefined }), url.href);
  }
  for (const user of ['vigie', 'vigie_superuser', 'postgres']) {
    for (const database of ['vigie', 'postgres', 'template1']) {
      for (const password of [undefined, '', user]) {
        const { port } = new URL(postgres.url);
        const client = new pg.Client({ host: '127.0.0.1', port: Number(port), user, database, password });
        await assert.rejects(client.connect(), `${user} ${database}`);
      }
    }
  }
});

test('passwords are in files that only the daemon’s user can read, and on no command line', async (t) => {
  const { postgres, nats, dataDir } = await startBoth(t);
  const urls = [postgres.url, postgres.superuserUrl, nats.url, nats.crawlerUrl];
  const secrets = urls.map((url) => new URL(url).password);
  assert.equal(new Set(secrets).size, 4);
  for (const secret of secrets) assert.match(secret, /^[\w-]{32}$/);
  assert.equal(await readFile(nats.credentialsFile, 'utf8'), `${nats.url}\n`);
  assert.equal(await readFile(nats.crawlerCredentialsFile, 'utf8'), `${nats.crawlerUrl}\n`);
  const holders: string[] = [];
  for (const path of await filesBelow(dataDir)) {
    const content = await readFile(path, 'latin1');
    if (!secrets.some((secret) => content.includes(secret))) continue;
    holders.push(path.slice(dataDir.length + 1));
    assert.equal((await stat(path)).mode & 0o777, 0o600, path);
  }
  assert.deepEqual(holders.sort(), [
    'nats/crawler-credentials',
    'nats/credentials',
    'nats/nats-server.conf',
    'postgres/password',
    'postgres/superuser-password',
  ]);
  for (const pid of await processesOf([postgres.pid, nats.pid])) {
    const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    assert.ok(!secrets.some((secret) => commandLine.includes(secret)), commandLine);
  }
});

test('another user cannot read files, enter directories or take locks, even if the parent directories are accessible', async (t) => {
  const { postgres, nats, dataDir } = await startBoth(t);
  await chmod(dataDir, 0o755);
  const directory = await openDataDirectory(dataDir);
  t.after(() => directory.close());
  const paths = (await filesBelow(dataDir)).filter((path) => !path.includes('/cluster/'));
  for (const stranger of STRANGERS) {
    const within = `find "$0" -mindepth 1 \\( -readable -o -writable \\) -print 2>/dev/null; true`;
    assert.equal(await asUser(stranger, 'sh', '-c', within, dataDir), '', String(stranger));
    for (const path of paths) await assert.rejects(asUser(stranger, 'cat', path), /Permission denied/, path);
    for (const pid of [postgres.pid, nats.pid]) {
      for (const entry of ['environ', 'cwd/', 'fd/3/', 'root/'].map((name) => `/proc/${pid}/${name}`)) {
        await assert.rejects(
          asUser(stranger, 'ls', entry).then(() => asUser(stranger, 'cat', entry)),
          entry,
        );
      }
      await assert.rejects(asUser(stranger, 'kill', String(pid)), /not permitted/);
    }
    await assert.rejects(asUser(stranger, 'flock', '--nonblock', join(dataDir, 'lock'), 'true'), /Permission denied/);
    await assert.rejects(asUser(stranger, 'touch', join(dataDir, 'postgres.new')), /Permission denied/);
  }
});

test('a root daemon runs each server under its own system user', async (t) => {
  const { postgres, nats, dataDir } = await startBoth(t);
  const users = await Promise.all([postgres, nats].map(({ pid }) => userOf(pid)));
  const own = process.getuid?.();
  if (isRoot) {
    assert.deepEqual(await Promise.all(users.map(nameOf)), ['vigie-postgres', 'vigie-nats']);
  } else {
    assert.deepEqual(users, [own, own]);
  }
  const owned = ['postgres/cluster', 'nats/store', 'nats/store/jetstream'];
  const owners = await Promise.all(owned.map(async (path) => (await stat(join(dataDir, path))).uid));
  assert.deepEqual(owners, [users[0], users[1], users[1]]);
  // Files that a daemon running as root writes are in folders where the servers' users cannot create a link.
  for (const path of ['postgres', 'nats', 'postgres/server.log', 'nats/server.log', 'nats/credentials']) {
    assert.equal((await stat(join(dataDir, path))).uid, own, path);
  }
});

test('the application’s role owns only its database', async (t) => {
  const { postgres } = await startBoth(t);
  await migrate(postgres.url);
  assert.deepEqual(
    await query(
      postgres.url,
      `select rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls, pg_get_userbyid(datdba) as owner
       from pg_roles, pg_database where rolname = current_user and datname = current_database()`,
    ),
    [
      {
        ...{ rolsuper: false, rolcreatedb: false, rolcreaterole: false, rolreplication: false, rolbypassrls: false },
        owner: 'vigie',
      },
    ],
  );
  for (const forbidden of [
    'create database other',
    'create role other',
    'alter role vigie superuser',
    'set role vigie_superuser',
    "copy (select 1) to program 'true'",
    "copy (select 1) to '/tmp/vigie-forbidden'",
    "select pg_read_file('postgresql.conf')",
    'select rolpassword from pg_authid',
    "alter system set fsync = 'off'",
  ]) {
    await assert.rejects(query(postgres.url, forbidden), { code: '42501' }, forbidden);
  }
  for (const database of ['postgres', 'template1']) {
    const url = Object.assign(new URL(postgres.url), { pathname: `/${database}` });
    await assert.rejects(query(url.href, 'select 1'), { code: '42501' }, database);
  }
  assert.deepEqual(await query(postgres.superuserUrl, 'select rolsuper from pg_roles where rolname = current_user'), [
    { rolsuper: true },
  ]);
});

test('NATS credentials stay the same across starts, and are generated again if the file is missing', async (t) => {
  const dataDir = await emptyDirectory(t);
  const options = { dataDir, serverBin, cacheDir };
  const first = await startNatsServer(options);
  await first.stop();
  const second = await startNatsServer({ ...options, port: Number(new URL(first.url).port) });
  assert.equal(second.url, first.url);
  await second.stop();
  await run('rm', [first.credentialsFile]);
  const third = await startNatsServer(options);
  await third.stop();
  assert.notEqual(new URL(third.url).password, new URL(first.url).password);
});

test('nats-server runs from a directory that its user cannot reach', async (t) => {
  const dataDir = await emptyDirectory(t);
  const installed = await startNatsServer({ dataDir, serverBin, cacheDir });
  const program = join(await emptyDirectory(t), 'nats-server');
  await run('cp', [`/proc/${installed.pid}/exe`, program]);
  await installed.stop();
  await chmod(program, 0o755);
  const server = await startNatsServer({ dataDir, serverBin: program, cacheDir });
  await server.stop();
  assert.match(await server.exited, /ended with exit code/);
});

async function startBoth(t: TestContext) {
  const dataDir = await emptyDirectory(t);
  await copyTestCluster(dataDir);
  const settings = { dynamic_shared_memory_type: 'mmap' };
  const postgres = await startPostgres({ dataDir, cacheDir, settings });
  t.after(() => postgres.stop());
  const nats = await startNatsServer({ dataDir, serverBin, cacheDir });
  t.after(() => nats.stop());
  return { dataDir, postgres, nats };
}

async function asUser(user: number, ...command: readonly string[]): Promise<string> {
  const { stdout } = await run('setpriv', [`--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--', ...command], {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
  });
  return stdout;
}

async function filesBelow(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** The given processes and their children. */
async function processesOf(parents: readonly number[]): Promise<readonly number[]> {
  const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', parents.join(',')]);
  return [...parents, ...stdout.split('\n').flatMap((line) => (line.trim() === '' ? [] : [Number(line)]))];
}

async function userOf(pid: number): Promise<number> {
  return Number(/^Uid:\t(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

async function nameOf(user: number): Promise<string> {
  return (await run('id', ['--user', '--name', String(user)])).stdout.trim();
}
