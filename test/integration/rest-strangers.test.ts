/** Clients without a key cannot slow down other clients or use up the connections that clients share. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { BlockList, connect } from 'node:net';
import { test } from 'node:test';
import { randomUuid, uuidOf } from '../../src/engine/domain/ids.ts';
import { createConnectionLimits } from '../../src/roles/api.ts';
import { CONNECTIONS_MAX, startTestApi } from '../support/api.ts';
import { valuesOf } from '../support/lists.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import type { Cleanup } from '../support/servers.ts';

const STRANGERS_MAX = 64;
const CLIENT_ID = uuidOf('00000000-0000-4000-8000-000000000000');

/** A server that counts requests for `/known` as authenticated. */
async function startLimited(t: Cleanup, proxies: BlockList, connectionsMax = 4_096) {
  const limits = createConnectionLimits(proxies, connectionsMax);
  const server = createServer(({ url, socket }, response) => {
    response.statusCode = url !== '/known' || limits.noteAuthenticated(socket, CLIENT_ID) ? 200 : 429;
    response.end();
  });
  server.on('connection', limits.onConnection);
  const port = await listenOnLoopback(t, server);
  /** Resolves with the status of the answer, or with `closed` if the server closes the connection. */
  return async (path: string): Promise<number | 'closed'> => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    // The connection may be closed or reset, depending on when the server reads the request.
    const answer = await new Promise<Buffer | null>((resolve) => {
      socket.once('data', resolve).once('close', () => resolve(null));
    });
    return answer === null ? 'closed' : Number(/^HTTP\/1.1 (\d+)/.exec(String(answer))?.[1]);
  };
}

test('an address may have sixty-four connections without an authenticated request', async (t) => {
  const open = await startLimited(t, new BlockList());
  for (let count = 0; count < STRANGERS_MAX; count++) assert.equal(await open('/'), 200);
  assert.equal(await open('/'), 'closed');
  assert.equal(await open('/known'), 'closed');
});

test('connections with an authenticated request do not count for their address', async (t) => {
  const open = await startLimited(t, new BlockList());
  for (let count = 0; count < 3 * STRANGERS_MAX; count++) assert.equal(await open('/known'), 200);
  assert.equal(await open('/'), 200);
});

test('a client may use at most a quarter of all connections', async (t) => {
  const open = await startLimited(t, new BlockList(), 40);
  const answers: unknown[] = [];
  for (let count = 0; count < 12; count++) answers.push(await open('/known'));
  assert.deepEqual(answers, [...Array<number>(10).fill(200), 429, 429]);
});

test('connections of a proxy are not counted', async (t) => {
  const proxies = new BlockList();
  proxies.addSubnet('127.0.0.0', 8, 'ipv4');
  const open = await startLimited(t, proxies);
  for (let count = 0; count < 3 * STRANGERS_MAX; count++) assert.equal(await open('/'), 200);
});

test('an IPv6 network of one customer counts as one address', () => {
  const { onConnection } = createConnectionLimits(new BlockList(), 4_096);
  const closed: string[] = [];
  const come = (remoteAddress: string): void =>
    onConnection({ remoteAddress, once: () => undefined, destroy: () => closed.push(remoteAddress) } as never);
  for (let n = 0; n < STRANGERS_MAX; n++) come(`2001:db8::${n.toString(16)}:1`);
  come('2001:db8:0:0:ffff::1');
  come('2001:db8:0:1::1');
  assert.deepEqual(closed, ['2001:db8:0:0:ffff::1']);
});

test('guesses of keys and links use none of the connections that clients share', async (t) => {
  const api = await startTestApi(t);
  const stored = await Promise.all(Array.from({ length: CONNECTIONS_MAX }, () => api.database.connect()));
  try {
    const guesses = Array.from({ length: 300 }, (_, n) => `vigie_${n.toString(16).padStart(8, '0')}_${'k'.repeat(43)}`);
    const answers = await Promise.all(guesses.map((key) => api.call('GET', '/searches', undefined, { key })));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [401]);
    for (const method of ['GET', 'POST']) {
      const link = await fetch(`${api.baseUrl}/unsubscribe/${'k'.repeat(22)}`, { method });
      assert.equal(link.status, 404, method);
    }
  } finally {
    for (const client of stored) client.release();
  }
});

test('a key works from its creation on, at any instance, even if it was tried before', async (t) => {
  const api = await startTestApi(t);
  const key = `vigie_01234567_${'n'.repeat(43)}`;
  const status = async () => (await api.call('GET', '/searches', undefined, { key })).status;
  assert.deepEqual([await status(), await status()], [401, 401]);
  // Creates the key as another instance or the command line does; this instance is not notified.
  await api.database.query(
    `insert into api_keys (id, client_id, name, prefix, hash) values ($1, $2, 'elsewhere', '01234567', $3)`,
    [randomUuid(), api.clientId, createHash('sha256').update(key).digest()],
  );
  assert.equal(await status(), 200);
});

test('keys that are looked up together are distinguished', async (t) => {
  const api = await startTestApi(t);
  const clients = await Promise.all(Array.from({ length: 20 }, (_, n) => api.newClient(`client ${n}`)));
  const keys = clients.flatMap((key, n) => [key, `vigie_${n.toString(16).padStart(8, '0')}_${'k'.repeat(43)}`]);
  const answers = await Promise.all(keys.map((key) => api.call('POST', '/searches', { title: key }, { key })));
  assert.deepEqual(
    valuesOf(answers, 'status'),
    keys.map((_, n) => (n % 2 === 0 ? 201 : 401)),
  );
  for (const key of clients) {
    const { body } = await api.call('GET', '/searches', undefined, { key });
    assert.deepEqual(valuesOf(body['hydra:member'], 'title'), [key]);
  }
});
