/**
 * A start that cannot succeed reports the faulty server or port, its address, and what to do, before it opens anything.
 * A successful start has already loaded the data that requests need.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect as connectTo, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { connectBroker } from '../../src/engine/broker/connection.ts';
import { migrate } from '../../src/engine/store/database.ts';
import { createApiKey, runVigie, type Settings, spawnVigie, startDaemon } from '../support/daemon.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { portForLater } from '../support/ports.ts';
import { restClient } from '../support/rest-client.ts';
import { emptyDirectory, startTestNats, startTestPostgres, type TestServer } from '../support/servers.ts';
import { until } from '../support/until.ts';

/** No server listens on this port, and ordinary users may not bind it. */
const DEAD = {
  postgres: dead('postgres://user:secret@127.0.0.1:1/base'),
  nats: dead('nats://user:secret@127.0.0.1:1'),
};

test('all unavailable ports are named with their settings, before a server is contacted', async (t) => {
  const [api, admin] = [await listenOnLoopback(t, createServer()), await listenOnLoopback(t, createServer())];
  const ports = { VIGIE_API_ADDRESS: `127.0.0.1:${api}`, VIGIE_ADMIN_ADDRESS: `127.0.0.1:${admin}` };
  const settings = { ...ports, VIGIE_OPERATIONS_ADDRESS: '192.0.2.1:0' };
  const { code, stderr } = await serve(settings);
  assert.equal(code, 1);
  const [operations, ...taken] = stderr.split('\n');
  assert.match(
    operations ?? '',
    /^vigie: Cannot listen on 192\.0\.2\.1:0 \(.*\)\. Correct VIGIE_OPERATIONS_ADDRESS\.$/,
  );
  const wordsOf = (setting: string, port: number): string =>
    `Another program listens on 127.0.0.1:${port}. Stop it, or set ${setting} to a free port (0 selects one).`;
  assert.deepEqual(taken, [wordsOf('VIGIE_API_ADDRESS', api), wordsOf('VIGIE_ADMIN_ADDRESS', admin), '']);
});

test('an unreachable server is named with its address and the remedy, and a role needs only its own port', async (t) => {
  const { code, stderr } = await serve({
    VIGIE_API_ADDRESS: `127.0.0.1:${await listenOnLoopback(t, createServer())}`,
    VIGIE_ROLES: 'deliver',
  });
  assert.equal(code, 1);
  assert.equal(
    stderr,
    'vigie: PostgreSQL at 127.0.0.1:1/base cannot be used (connect ECONNREFUSED 127.0.0.1:1). Start it there, or ' +
      'correct DATABASE_URL.\n',
  );
  await assert.rejects(connect(DEAD.nats.url), {
    message: 'NATS at 127.0.0.1:1 cannot be used (connection refused). Start it there, or correct NATS_URL.',
  });
});

test('if a server stops answering during start-up, the daemon waits for it and the ports report why', async (t) => {
  const postgres = await startTestPostgres(t);
  const { port } = new URL(postgres.url);
  let connections = 0;
  // Only the first connection, which checks whether the server is reachable, gets an answer; later ones get none.
  const network = createServer((near) => {
    connections += 1;
    if (connections > 1) return;
    const far = connectTo(Number(port), '127.0.0.1');
    near.pipe(far).pipe(near);
  });
  const url = Object.assign(new URL(postgres.url), { port: String(await listenOnLoopback(t, network)) });
  const [api, operations] = [await portForLater(), await portForLater()];
  const settings = { VIGIE_API_ADDRESS: `127.0.0.1:${api}`, VIGIE_OPERATIONS_ADDRESS: `127.0.0.1:${operations}` };
  const daemon = spawnVigie(['serve'], { postgres: { url: url.href }, nats: DEAD.nats }, { settings });
  t.after(() => void daemon.kill('SIGKILL'));
  const [log, exited] = [text(daemon.stdout), once(daemon, 'exit')];
  const look = (path: string): Promise<Response | null> => fetch(path).catch(() => null);
  const ready = await until(
    () => look(`http://127.0.0.1:${operations}/readyz`),
    (answer) => answer !== null,
  );
  assert.equal((ready as Response).status, 503);
  const { checks } = (await (ready as Response).json()) as { checks: { started: { reason: string } } };
  // The pool and the connection have the same time limit but different messages, so only the word `timeout` is checked.
  const [start, reason, end] = checks.started.reason.split(/[()]/);
  assert.equal(start, `PostgreSQL at ${url.host}${url.pathname} cannot be used `);
  assert.match(reason ?? '', /timeout/);
  assert.equal(end, '. Start it there, or correct DATABASE_URL.');
  const refused = await until(
    () => look(`http://127.0.0.1:${api}/searches`),
    (answer) => answer !== null,
  );
  assert.equal(refused?.status, 503);
  assert.ok(Number(refused?.headers.get('Retry-After')) > 0);
  assert.equal((await look(`http://127.0.0.1:${operations}/healthz`))?.status, 200);
  daemon.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
  assert.equal((await log).split('Vigie is waiting for PostgreSQL.').length, 2, 'it is logged once');
});

test('conflicting settings are reported before a server is contacted', async () => {
  const { code, stderr } = await serve({
    VIGIE_API_ADDRESS: '127.0.0.1:9464',
    VIGIE_OPERATIONS_ADDRESS: '127.0.0.1:9464',
  });
  assert.equal(code, 1);
  const words = 'VIGIE_OPERATIONS_ADDRESS and VIGIE_API_ADDRESS both have port 9464. Give one of them another port.';
  assert.equal(stderr, `vigie: The configuration is invalid:\n  ${words}\n`);
});

test('replicas are requested only from a cluster', async (t) => {
  const { url } = await startTestNats(t);
  await assert.rejects(connectBroker({ url, replicas: 3, name: 'test', onStatus: () => undefined }), {
    message:
      `NATS at ${new URL(url).host} cannot be used (it is one server, but VIGIE_NATS_REPLICAS asks for 3 copies). ` +
      'Correct NATS_URL or VIGIE_NATS_REPLICAS.',
  });
});

test('a refusing server is named with the setting to correct, and no password is printed', async (t) => {
  const [postgres, nats] = await Promise.all([startTestPostgres(t), startTestNats(t)]);
  const { host } = new URL(postgres.url);
  for (const [change, words] of [
    [{ password: 'secret' }, /authentication failed.*\. Correct the user and password in DATABASE_URL\.$/],
    [{ pathname: '/missing' }, /database "missing" does not exist\)\. Create the database, or correct DATABASE_URL\.$/],
  ] as const) {
    const { href: url } = Object.assign(new URL(postgres.url), change as Partial<URL>);
    await assert.rejects(migrate(url), ({ message }: Error) => {
      assert.match(message, words);
      assert.ok(message.startsWith(`PostgreSQL at ${host}/`), message);
      assert.ok(!message.includes(new URL(url).password), message);
      return true;
    });
  }
  const refused = Object.assign(new URL(nats.url), { password: 'secret' });
  await assert.rejects(connect(refused.href), {
    message: `NATS at ${refused.host} cannot be used (it refuses the user or password). Correct them in NATS_URL.`,
  });
});

/** Script for each thread of a program: appends a line to `path` for each file decompressed on its event loop. */
const observer = (path: string): string => `
  const { appendFileSync } = require('node:fs');
  const { syncBuiltinESMExports } = require('node:module');
  const zlib = require('node:zlib');
  const unpack = zlib.brotliDecompressSync;
  zlib.brotliDecompressSync = (...input) => {
    appendFileSync(${JSON.stringify(path)}, 'unpacked\\n');
    return unpack(...input);
  };
  syncBuiltinESMExports();`;

test('no request waits for the word forms to be unpacked, and commands without expressions do not unpack them', async (t) => {
  const [postgres, nats] = await Promise.all([startTestPostgres(t), startTestNats(t)]);
  const directory = await emptyDirectory(t, 'words');
  const list = join(directory, 'unpacked');
  const unpacked = async (): Promise<number> => (await readFile(list, 'utf8')).split('\n').length - 1;
  await Promise.all([writeFile(list, ''), writeFile(join(directory, 'observer.cjs'), observer(list))]);
  const settings = { NODE_OPTIONS: `--require=${join(directory, 'observer.cjs')}` };
  await runVigie(['doctor'], { postgres, nats }, { settings });
  assert.equal(await unpacked(), 0);
  const key = await createApiKey({ postgres, nats });
  const daemon = await startDaemon(t, { postgres, nats }, { ...settings, VIGIE_ROLES: 'api' });
  assert.equal(await unpacked(), 1, 'by the process, before it is ready');
  const rest = restClient(daemon, key);
  const preview = (body: object) => rest.request('POST', '/searches/preview', body);
  assert.equal((await preview({ roomMin: 2 })).status, 200);
  assert.equal(await unpacked(), 2, 'by the thread, before its first answer');
  assert.equal((await preview({ expressions: [{ word: 'belles maisons' }] })).status, 200);
  await rest.request('POST', '/searches', { title: 'Maisons', expressions: [{ word: 'belles maisons' }] });
  assert.equal(await unpacked(), 2);
});

function connect(url: string): Promise<unknown> {
  return connectBroker({ url, name: 'test', onStatus: () => undefined });
}

function serve(settings: Settings = {}) {
  return runVigie(['serve'], DEAD, { settings });
}

function dead(url: string): TestServer {
  return { url, pid: null, kill: async () => undefined, stop: async () => undefined, restart: async () => undefined };
}
