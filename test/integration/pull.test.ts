/** Pulling messages from a consumer of a real nats-server. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AckPolicy, nanos } from 'nats';
import type { Broker } from '../../src/engine/broker/connection.ts';
import { createPauseGate } from '../../src/engine/broker/pause-gate.ts';
import { publishAll } from '../../src/engine/broker/publish.ts';
import { type PulledMessage, startPull } from '../../src/engine/broker/pull.ts';
import { ensureRetries, retryConsumer, retrySubject } from '../../src/engine/broker/topology.ts';
import type { Uuid } from '../../src/engine/domain/ids.ts';
import { brokerNames } from '../../src/engine/domain/namespace.ts';
import { connectTestBroker } from '../support/broker.ts';
import { createGate } from '../support/gate.ts';
import { startTestNats } from '../support/servers.ts';
import { until, untilIs } from '../support/until.ts';

const ENDPOINT_KEY = '0123456789abcdef';
const REQUEST_TIMEOUT = 408;
const names = brokerNames(null);
const ID = '019b0000-0000-7000-8000-000000000001' as Uuid;
const CONSUMER = retryConsumer(Number(retrySubject({ names }, ENDPOINT_KEY, ID).split('.')[1]));

/** Pulls from the consumer of one partition of the retries. */
function pullRetries(broker: Broker, over: Partial<Parameters<typeof startPull>[1]>) {
  return startPull(broker, {
    stream: names.retriesStream,
    consumer: CONSUMER,
    batchMax: 10,
    onMessage: async () => undefined,
    onTransientError: () => undefined,
    ensure: async () => undefined,
    ...over,
  });
}

function publishRetry(broker: Broker, text: string): Promise<void> {
  const subject = retrySubject(broker, ENDPOINT_KEY, ID);
  return publishAll(broker, [{ subject, messageId: text, bytes: Buffer.from(text) }]);
}

test('an acknowledgement for a deleted stream does not settle messages of the stream that replaced it', async (t) => {
  const server = await startTestNats(t);
  const broker = await connectTestBroker(t, server.url);
  const pulled: PulledMessage[] = [];
  const storedCount = async () => (await broker.manager.streams.info(names.retriesStream)).state.messages;
  await ensureRetries(broker);
  let restored = 0;
  const pull = pullRetries(broker, {
    onMessage: async (message) => void pulled.push(message),
    async ensure() {
      await ensureRetries(broker);
      restored += 1;
    },
  });
  t.after(() => pull.stop());
  await publishRetry(broker, 'old');
  await untilIs(() => pulled.length, 1);
  await broker.manager.streams.delete(names.retriesStream);
  await until(
    async () => restored,
    (count) => count > 0,
  );
  await publishRetry(broker, 'new');
  await untilIs(() => pulled.length, 2);
  const [old, fresh] = pulled as [PulledMessage, PulledMessage];
  assert.equal(old.sequence, fresh.sequence, 'the numbers begin anew');
  for (const type of ['ack', 'term'] as const) await old.settle({ type });
  assert.equal(await storedCount(), 1);
  await fresh.settle({ type: 'ack' });
  assert.equal(await storedCount(), 0);
});

test('an acknowledgement settles no message of a stream that was replaced during a pause of the stage', async (t) => {
  const server = await startTestNats(t);
  const broker = await connectTestBroker(t, server.url);
  const gate = createPauseGate();
  const pulled: PulledMessage[] = [];
  await ensureRetries(broker);
  const pull = pullRetries(broker, {
    onMessage: async (message) => void pulled.push(message),
    ensure: () => ensureRetries(broker).then(() => undefined),
    gate,
  });
  t.after(() => pull.stop());
  const publishAndPull = async (text: string) => {
    const count = pulled.length + 1;
    await publishRetry(broker, text);
    await untilIs(() => pulled.length, count);
  };
  await publishAndPull('old');
  gate.close();
  await untilIs(() => gate.busyCount, 0);
  await broker.manager.streams.delete(names.retriesStream);
  await ensureRetries(broker);
  gate.open();
  await publishAndPull('new');
  await pulled[0]?.settle({ type: 'ack' });
  assert.equal((await broker.manager.streams.info(names.retriesStream)).state.messages, 1);
});

test('messages that wait longer than `ack_wait`, in the inbox or beyond it, are delivered once', async (t) => {
  // The pull extends the wait three times in this time, so it may be three seconds late on a busy machine.
  const ackWaitMs = 5_000;
  const server = await startTestNats(t);
  const broker = await connectTestBroker(t, server.url);
  await broker.manager.streams.add({ name: 'WORK', subjects: ['work.*'] });
  await broker.manager.consumers.add('WORK', {
    ...{ durable_name: 'worker', ack_policy: AckPolicy.Explicit, ack_wait: nanos(ackWaitMs) },
  });
  const texts = Array.from({ length: 30 }, (_, number) => String(number));
  await publishAll(
    broker,
    texts.map((text) => ({ subject: `work.${text}`, messageId: text, bytes: Buffer.from(text) })),
  );
  const { gate: stored, open: letGo } = createGate();
  const pulled: PulledMessage[] = [];
  const pull = startPull(broker, {
    ...{ stream: 'WORK', consumer: 'worker', batchMax: 20, extendsWait: true },
    async onMessage(message) {
      pulled.push(message);
      // Ten messages wait for their recorder, the eleventh waits for a slot, and the rest stay in the inbox.
      if (pulled.length > 10) await stored;
    },
    onTransientError: () => undefined,
    ensure: async () => undefined,
  });
  t.after(async () => {
    letGo();
    await pull.stop();
  });
  const heldSinceMs = performance.now();
  const consumer = () => broker.manager.consumers.info('WORK', 'worker');
  await until(consumer, ({ num_ack_pending }) => num_ack_pending === 20);
  await until(
    async () => performance.now() - heldSinceMs,
    (heldMs) => heldMs > 2 * ackWaitMs,
  );
  letGo();
  await until(
    async () => pulled.length,
    (count) => count >= texts.length,
  );
  await pull.stop();
  assert.deepEqual(
    pulled.map(({ bytes }) => Buffer.from(bytes).toString()),
    texts,
  );
  assert.equal((await consumer()).num_redelivered, 0);
  await Promise.all(pulled.map((message) => message.settle({ type: 'ack' })));
  assert.equal((await consumer()).num_ack_pending, 0);
});

// If a redelivery becomes due just when the only request ends, nats-server before 2.10 delays it by `ack_wait`.
test('a request of an idle pull does not end before the next one waits', async (t) => {
  const server = await startTestNats(t);
  const broker = await connectTestBroker(t, server.url);
  await ensureRetries(broker);
  const waiting = new Set<string>();
  let followed = 0;
  broker.connection.subscribe('$JS.API.CONSUMER.MSG.NEXT.>', {
    callback: (_error, { reply }) => void waiting.add(reply ?? ''),
  });
  broker.connection.subscribe('_INBOX.>', {
    callback(_error, { subject, headers }) {
      if (headers?.code !== REQUEST_TIMEOUT) return;
      waiting.delete(subject);
      followed = waiting.size > 0 ? followed + 1 : 0;
    },
  });
  const pull = pullRetries(broker, {});
  t.after(() => pull.stop());
  await until(
    async () => followed,
    (count) => count >= 3,
  );
});
