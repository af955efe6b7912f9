/** The webhook receiver marks answers that a broken network kept from the sender. The auditor excuses only those. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createSender } from '../src/engine/delivery/sender.ts';
import { createGate } from './support/gate.ts';
import { startTcpProxy } from './support/tcp-proxy.ts';
import { type Behaviour, startWebhookReceiver } from './support/webhook-receiver.ts';

/** A sender whose connection to the endpoint has served one post. The next post gets `behaviour`. */
async function openScene(t: TestContext, behaviour: Behaviour) {
  const receiver = await startWebhookReceiver(t);
  const network = await startTcpProxy(t, Number(new URL(receiver.url).port));
  receiver.standBehind(network);
  const fine: Behaviour = { type: 'answer', status: 200 };
  receiver.script('/hook', fine, behaviour, fine);
  const options = { connectTimeoutMs: 60_000, attemptTimeoutMs: 60_000, allowPrivateNetworks: true };
  const sender = createSender({ ...options, userAgent: 'Vigie/0.0.0' });
  t.after(() => sender.close());
  const send = (id: string) =>
    sender.send({
      id,
      clientId: 'client',
      endpoint: `http://127.0.0.1:${network.port}/hook`,
      body: '{}',
      token: `whsec_${Buffer.alloc(32, 3).toString('base64')}`,
      startedAt: new Date(),
    });
  assert.equal((await send('first'))?.statusCode, 200);
  // The connection is free for another post only after this turn of the event loop.
  await setImmediate();
  const marksOf = (id: string) => receiver.postsOf(id).map(({ isAbandoned = false }) => isAbandoned);
  return { receiver, network, send, marksOf };
}

test('an answer that was lost with its connection is marked, and its attempt is tried once more', async (t) => {
  const { gate, open } = createGate();
  const { receiver, network, send, marksOf } = await openScene(t, { type: 'gated', gate, status: 200 });
  const attempt = send('second');
  await receiver.until((posts) => posts.length === 2);
  network.swallow('down');
  open();
  await receiver.until((posts) => posts[1]?.status === 200);
  network.cut();
  assert.equal((await attempt)?.statusCode, 200);
  assert.deepEqual(marksOf('second'), [true, false]);
});

test('an answer that has arrived is not marked when its connection breaks afterwards', async (t) => {
  const { network, send, marksOf } = await openScene(t, { type: 'answer', status: 500 });
  assert.equal((await send('second'))?.statusCode, 500);
  await setImmediate();
  network.cut();
  assert.equal((await send('third'))?.statusCode, 200);
  assert.deepEqual([...marksOf('second'), ...marksOf('third')], [false, false]);
});
