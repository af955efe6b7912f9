/** What a broken start must not leave behind. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { connectBroker } from '../src/engine/broker/connection.ts';

test('a server without JetStream is refused, and no connection to it stays open', async (t) => {
  const server = createServer((socket) => answerWithoutJetStream(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  const connected = once(server, 'connection') as Promise<[Socket]>;
  const { port } = server.address() as AddressInfo;
  const url = `nats://127.0.0.1:${port}`;
  await assert.rejects(connectBroker({ url, name: 'test', onStatus: () => undefined }), {
    code: 'NATS_UNREACHABLE',
    message: new RegExp(`^NATS at 127.0.0.1:${port} cannot be used \\(it has no JetStream\\)`),
  });
  const [socket] = await connected;
  if (!socket.closed) await once(socket, 'close');
});

/** As much of the protocol as a client needs to be told that nobody answers its request. */
function answerWithoutJetStream(socket: Socket): void {
  socket.write('INFO {"version":"2.10.0","headers":true,"max_payload":1048576}\r\n');
  let subscription = '1';
  socket.on('data', (bytes) => {
    for (const line of bytes.toString().split('\r\n')) {
      const [verb, subject, reply] = line.split(' ');
      if (verb === 'PING') socket.write('PONG\r\n');
      if (verb === 'SUB') subscription = reply ?? subscription;
      if (verb !== 'PUB' || subject !== '$JS.API.INFO') continue;
      const status = 'NATS/1.0 503\r\n\r\n';
      socket.write(`HMSG ${reply} ${subscription} ${status.length} ${status.length}\r\n${status}\r\n`);
    }
  });
}
