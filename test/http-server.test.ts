/** Incomplete requests end, and the number of connections is limited. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { createHttpServer, type ServerBounds } from '../src/roles/http-server.ts';
import { listenOnLoopback } from './support/loopback.ts';
import { until, untilIs } from './support/until.ts';

interface Open {
  readonly port: number;
  readonly open: (sent: string) => {
    readonly socket: Socket;
    readonly received: () => string;
    readonly closed: Promise<unknown>;
  };
  readonly connections: () => Promise<number>;
}

async function started(t: TestContext, bounds: ServerBounds): Promise<Open> {
  const server = createHttpServer((request, response) => {
    request.resume();
    request.on('end', () => response.end('heard'));
  }, bounds);
  const port = await listenOnLoopback(t, server);
  return {
    port,
    open(sent) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.write(sent);
      return { socket, received: () => text, closed: once(socket, 'close') };
    },
    connections: promisify(server.getConnections.bind(server)),
  };
}

const WHOLE = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

for (const [what, half] of [
  ['header', 'POST / HTTP/1.1\r\nHost: x\r\nX-'],
  ['body', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{'],
  ['body in chunks', 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{'],
] as const) {
  test(`a request with an incomplete ${what} is answered 408, and its connection ends`, async (t) => {
    const { open } = await started(t, { connectionsMax: 10, requestTimeoutMs: 200 });
    const { received, closed } = open(half);
    await closed;
    assert.match(received(), /^HTTP\/1.1 408 /);
  });
}

test('an idle connection ends', async (t) => {
  const { open } = await started(t, { connectionsMax: 10, idleTimeoutMs: 100 });
  await open('').closed;
});

test('connections beyond the maximum are closed, and new ones are accepted when others have ended', async (t) => {
  const { open, connections } = await started(t, { connectionsMax: 2 });
  const first = open(WHOLE);
  const second = open(WHOLE);
  for (const { received } of [first, second])
    await until(
      async () => received(),
      (text) => text.endsWith('heard'),
    );
  const third = open(WHOLE);
  await third.closed;
  assert.equal(third.received(), '');
  assert.equal(await connections(), 2);
  first.socket.destroy();
  await untilIs(connections, 1);
  const fourth = open(WHOLE);
  await until(
    async () => fourth.received(),
    (text) => text.endsWith('heard'),
  );
});

test('a connection that is idle between two requests ends too, and the answer states its timeout', async (t) => {
  const { open } = await started(t, { connectionsMax: 10, idleTimeoutMs: 1_500 });
  const { received, closed } = open(WHOLE);
  await closed;
  assert.match(received(), /^Keep-Alive: timeout=1\r$/m);
});

test('a partial request has ten seconds, five for its headers; an idle connection outlives those of load balancers', () => {
  const { headersTimeout, requestTimeout, timeout, keepAliveTimeout, maxConnections } = createHttpServer(
    () => undefined,
    { connectionsMax: 3 },
  );
  assert.deepEqual([headersTimeout, requestTimeout, maxConnections], [5_000, 10_000, 3]);
  assert.deepEqual([timeout, keepAliveTimeout], [75_000, 75_000]);
});
