/** A data directory of an earlier version is taken over: its data stay, its users, roles and passwords are put right. */

import assert from 'node:assert/strict';
import { chown, lchown, mkdir, open, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connectBroker } from '../../src/broker/connection.ts';
import { startChildServer, waitUntilReady } from '../../src/embedded/child-server.ts';
import { cacheDirectory } from '../../src/embedded/data-directory.ts';
import { serverNameOf } from '../../src/embedded/former-server.ts';
import { freePort } from '../../src/embedded/local-port.ts';
import { startNatsServer } from '../../src/embedded/nats-server.ts';
import { findNatsServer } from '../../src/embedded/nats-server-binary.ts';
import { startPostgres } from '../../src/embedded/postgres.ts';
import { findPostgresBinaries } from '../../src/embedded/postgres-binaries.ts';
import { POSTGRES_ENVIRONMENT, pathFromChild, runTool } from '../../src/embedded/postgres-tools.ts';
import { NOBODY } from '../../src/embedded/server-user.ts';
import { migrate } from '../../src/store/database.ts';
import { queryOnce as query } from '../support/database.ts';
import { emptyDirectory } from '../support/servers.ts';
import { until } from '../support/until.ts';

/** Earlier versions ran PostgreSQL as `nobody` and nats-server as root, when the daemon was root. */
const FORMER_USER = process.getuid?.() === 0 ? NOBODY : null;
const FORMER_PASSWORD = 'former-password-of-the-cluster';
const SETTINGS = { dynamic_shared_memory_type: 'mmap', fsync: 'off' };
const cacheDir = cacheDirectory(process.env.VIGIE_CACHE_DIR || null);
const serverBin = process.env.NATS_SERVER_BIN || null;

test('rows stay, the role is no superuser any more and owns them, and the password that others knew is worthless', async (t) => {
  const dataDir = await emptyDirectory(t);
  const former = await startFormerPostgres(t, dataDir);
  await migrate(former.url);
  await query(former.url, "create table kept (id serial, word text); insert into kept (word) values ('été')");
  await query(former.url, 'create sequence alone; create view seen as select * from kept');
  // What a crash leaves: a pid file, and a log to be replayed.
  process.kill(former.pid, 'SIGKILL');
  await former.exited;

  const postgres = await startPostgres({ dataDir, cacheDir, settings: SETTINGS });
  t.after(() => postgres.stop());
  await query(postgres.url, "insert into kept (word) values ('automne')");
  await query(postgres.url, "select nextval('alone')");
  assert.deepEqual(await query(postgres.url, 'select word from seen order by id'), [
    { word: 'été' },
    { word: 'automne' },
  ]);
  await query(postgres.url, 'alter table kept add column more text');
  // The migrations of a later version change what an earlier one made.
  await query(postgres.url, 'alter table searches add column more text; drop table kept cascade');
  assert.deepEqual(
    await query(
      postgres.url,
      `select rolsuper, pg_get_userbyid(datdba) as owner,
         (select count(*)::integer from pg_tables where schemaname = 'public' and tableowner <> 'vigie') as others
       from pg_roles, pg_database where rolname = current_user and datname = current_database()`,
    ),
    [{ rolsuper: false, owner: 'vigie', others: 0 }],
  );
  const known = Object.assign(new URL(postgres.url), { password: FORMER_PASSWORD });
  for (const user of ['vigie', 'vigie_superuser']) {
    await assert.rejects(query(Object.assign(known, { username: user }).href, 'select 1'), /authentication failed/);
  }
  assert.deepEqual(await query(postgres.superuserUrl, 'select rolname from pg_roles where rolsuper'), [
    { rolname: 'vigie_superuser' },
  ]);
  const owner = (await stat(join(dataDir, 'postgres/cluster'))).uid;
  assert.equal((await stat(join(dataDir, 'postgres/cluster/base'))).uid, owner);
  assert.equal(FORMER_USER !== null && owner === FORMER_USER.userId, false);
  assert.equal((await stat(join(dataDir, 'postgres'))).uid, process.getuid?.());
});

test('a takeover that was interrupted is begun again', async (t) => {
  const dataDir = await emptyDirectory(t);
  const former = await startFormerPostgres(t, dataDir);
  await query(former.url, "create table kept (word text); insert into kept values ('été')");
  await former.stop();
  const first = await startPostgres({ dataDir, cacheDir, settings: SETTINGS });
  await first.stop();
  // The roles were set, and the daemon was killed before it had written the last password.
  await rm(join(dataDir, 'postgres/superuser-password'));
  const second = await startPostgres({ dataDir, cacheDir, settings: SETTINGS });
  t.after(() => second.stop());
  assert.deepEqual(await query(second.url, 'select word from kept'), [{ word: 'été' }]);
  assert.deepEqual(await query(second.superuserUrl, 'select word from kept'), [{ word: 'été' }]);
});

test('a link that the former user laid for a root daemon is not followed', async (t) => {
  const dataDir = await emptyDirectory(t);
  const former = await startFormerPostgres(t, dataDir);
  await former.stop();
  const precious = join(await emptyDirectory(t), 'precious');
  await writeFile(precious, 'untouched', { mode: 0o600 });
  for (const name of ['server.log.1', 'superuser-password', 'superuser-password.new']) {
    const path = join(dataDir, 'postgres', name);
    await symlink(precious, path);
    if (FORMER_USER !== null) await lchown(path, FORMER_USER.userId, FORMER_USER.groupId);
  }
  const postgres = await startPostgres({ dataDir, cacheDir, settings: SETTINGS });
  await postgres.stop();
  assert.equal(await readFile(precious, 'utf8'), 'untouched');
  assert.equal((await stat(precious)).uid, process.getuid?.());
});

test('messages stay, and a nats-server without a password that still runs is ended', async (t) => {
  const dataDir = await emptyDirectory(t);
  const former = await startFormerNats(t, dataDir);
  const publisher = await connectBroker({ url: former.url, name: 'test', onStatus: () => undefined });
  await publisher.manager.streams.add({ name: 'KEPT', subjects: ['kept'] });
  await publisher.jetStream.publish('kept', Buffer.from('été'));
  await publisher.close();

  const nats = await startNatsServer({ dataDir, serverBin, cacheDir });
  t.after(() => nats.stop());
  assert.match(await former.exited, /ended/);
  const anonymous = Object.assign(new URL(nats.url), { username: '', password: '' });
  await assert.rejects(connectBroker({ url: anonymous.href, name: 'test', onStatus: () => undefined }));
  const broker = await connectBroker({ url: nats.url, name: 'test', onStatus: () => undefined });
  assert.equal((await broker.manager.streams.info('KEPT')).state.messages, 1);
  await broker.jetStream.publish('kept', Buffer.from('automne'));
  await broker.close();
  const owner = (await stat(join(dataDir, 'nats/store'))).uid;
  assert.equal((await stat(join(dataDir, 'nats/store/jetstream/$G/streams/KEPT'))).uid, owner);
});

/** As version 0.1.0 made it: everything in the hands of one user, the application's role a superuser. */
async function startFormerPostgres(t: TestContext, dataDir: string) {
  const home = { path: join(dataDir, 'postgres'), user: FORMER_USER };
  const binaries = await findPostgresBinaries(cacheDir, FORMER_USER);
  await mkdir(home.path, { mode: 0o700 });
  await writeFile(join(home.path, 'password'), FORMER_PASSWORD, { mode: 0o600 });
  if (FORMER_USER !== null) {
    for (const path of [home.path, join(home.path, 'password')]) {
      await chown(path, FORMER_USER.userId, FORMER_USER.groupId);
    }
  }
  const cluster = pathFromChild(home, 'cluster');
  await runTool(home, binaries.initdb, [
    ...[`--pgdata=${cluster}`, '--username=vigie', `--pwfile=${pathFromChild(home, 'password')}`],
    ...['--auth=scram-sha-256', '--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
    ...['--locale=C', '--data-checksums', '--no-sync'],
  ]);
  await runTool(home, binaries.postgres, ['--single', '-D', cluster, 'postgres'], 'create database vigie;\n');
  const port = await freePort();
  const handle = await open(home.path, 'r');
  const settings = {
    ...{ listen_addresses: '127.0.0.1', unix_socket_directories: '', port: String(port), fsync: 'off' },
    ...{ cluster_name: serverNameOf(home.path), dynamic_shared_memory_type: 'mmap' },
  };
  const server = await startChildServer({
    name: 'former PostgreSQL',
    command: binaries.postgres,
    args: ['-D', cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    directory: home.path,
    environment: POSTGRES_ENVIRONMENT,
    logFile: join(home.path, 'server.log'),
    stopSignal: 'SIGINT',
    stopTimeoutMs: 30_000,
    user: FORMER_USER,
    handles: [handle.fd],
  }).finally(() => handle.close());
  t.after(() => server.stop());
  const url = `postgres://vigie:${FORMER_PASSWORD}@127.0.0.1:${port}/vigie`;
  await waitUntilReady(server, 60_000, () => query(url, 'select 1').catch(() => null));
  return { ...server, url };
}

async function startFormerNats(t: TestContext, dataDir: string) {
  const home = join(dataDir, 'nats');
  const binary = await findNatsServer(serverBin, cacheDir);
  const port = await freePort();
  await mkdir(join(home, 'ports'), { recursive: true, mode: 0o700 });
  const configFile = join(home, 'nats-server.conf');
  const configuration = ['host: "127.0.0.1"', `port: ${port}`, 'jetstream { store_dir: "store" }'];
  await writeFile(configFile, configuration.join('\n'), { mode: 0o600 });
  const server = await startChildServer({
    name: 'former nats-server',
    command: binary.path,
    args: ['--config', configFile],
    directory: home,
    logFile: join(home, 'server.log'),
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 15_000,
    user: null,
  });
  t.after(() => server.stop());
  await until(
    () => readFile(join(home, 'server.log'), 'utf8'),
    (log) => log.includes('Server is ready'),
  );
  return { ...server, url: `nats://127.0.0.1:${port}` };
}
