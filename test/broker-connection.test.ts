/** Failed starts and reconnections: the error names the cause, and no connection stays open. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { NatsError } from 'nats';
import { connectBroker } from '../src/engine/broker/connection.ts';
import { brokerUnreachable } from '../src/engine/broker/outage.ts';
import { listenOnLoopback } from './support/loopback.ts';
import { lastFirst } from './support/servers.ts';
import { until } from './support/until.ts';

test('a server without JetStream is refused, and no connection to it stays open', async (t) => {
  const server = createServer((socket) => answer(socket, null));
  const port = await listenOnLoopback(t, server);
  const connected = once(server, 'connection') as Promise<[Socket]>;
  const url = `nats://127.0.0.1:${port}`;
  await assert.rejects(connectBroker({ url, name: 'test', onStatus: () => undefined }), {
    code: 'NATS_UNREACHABLE',
    message: new RegExp(`^NATS at 127.0.0.1:${port} cannot be used \\(it has no JetStream\\)`),
  });
  const [socket] = await connected;
  if (!socket.closed) await once(socket, 'close');
});

test('a cluster that has lost its leader is not reported as lacking JetStream', () => {
  const refusal = Object.assign(new NatsError('503', '503'), {
    api_error: { code: 503, err_code: 10_008, description: 'JetStream system temporarily unavailable' },
  });
  assert.equal(
    brokerUnreachable('nats://a:4222,nats://b', refusal).message,
    'NATS at a:4222, b:4222 cannot be used (its JetStream has no leader). ' +
      'Make sure that most servers of the cluster run and reach each other.',
  );
});

test('a connection without a timely reply of a server is closed before the next attempt', async (t) => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    if (sockets.length !== 2) answer(socket, JSON.stringify(ACCOUNT));
  });
  const cleanup = lastFirst(t);
  const port = await listenOnLoopback(cleanup, server);
  const broker = await connectBroker({ url: `nats://127.0.0.1:${port}`, name: 'test', onStatus: () => undefined });
  cleanup.after(() => broker.close());
  sockets[0]?.destroy();
  await until(
    async () => sockets.map(({ closed }) => closed),
    (closed) => closed.length === 3 && closed[1] === true,
  );
  assert.equal(sockets[2]?.closed, false);
});

const ACCOUNT = {
  ...{ memory: 0, storage: 0, streams: 0, consumers: 0, api: { total: 0, errors: 0 } },
  limits: { max_memory: -1, max_storage: -1, max_streams: -1, max_consumers: -1 },
};

/** Implements enough of the NATS protocol to send a client its account. If `account` is null, there is no responder. */
function answer(socket: Socket, account: string | null): void {
  socket.write('INFO {"version":"2.10.0","headers":true,"max_payload":1048576}\r\n');
  let subscription = '1';
  socket.on('data', (bytes) => {
    for (const line of bytes.toString().split('\r\n')) {
      const [verb, subject, reply] = line.split(' ');
      if (verb === 'PING') socket.write('PONG\r\n');
      if (verb === 'SUB') subscription = reply ?? subscription;
      if (verb !== 'PUB' || subject !== '$JS.API.INFO') continue;
      const status = 'NATS/1.0 503\r\n\r\n';
      if (account !== null) socket.write(`MSG ${reply} ${subscription} ${account.length}\r\n${account}\r\n`);
      else socket.write(`HMSG ${reply} ${subscription} ${status.length} ${status.length}\r\n${status}\r\n`);
    }
  });
}
