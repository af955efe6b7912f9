/** What a courier finds at its start: messages that wait in the stream, and those that another one died with. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startPull } from '../../src/broker/pull.ts';
import { DELIVERY_PARTITIONS, deliveryConsumer } from '../../src/broker/topology.ts';
import { openDeliveryStage } from '../support/courier.ts';
import { publishSeeded, seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const COUNT = 200;

/** First attempts that have been due for longer than any start takes, and their messages. */
async function openBacklog(t: TestContext) {
  const receiver = await startWebhookReceiver(t);
  const stage = await openDeliveryStage(t, { retryDelayMs: 60_000 });
  const endpoints = Array.from({ length: COUNT }, (_, position) => receiver.urlOf(`/${position}`));
  const addresses = await seedDeliveries(stage.database, await seedSearch(stage.database), endpoints);
  await stage.database.query(`update deliveries set due_at = due_at - interval '1 minute'`);
  await publishSeeded(stage.broker, addresses);
  const publishedCount = async () =>
    (await stage.broker.manager.streams.info(stage.broker.names.deliveriesStream)).state.last_seq;
  return { receiver, stage, publishedCount };
}

test('a start publishes no second message for first attempts that wait in the stream', async (t) => {
  const { receiver, stage, publishedCount } = await openBacklog(t);
  await stage.start();
  await stage.untilAllEnded();
  assert.equal(receiver.posts.length, COUNT);
  assert.equal(await publishedCount(), COUNT);
});

test('what a courier died with is sent after the next start, long before JetStream hands it out again', async (t) => {
  const { receiver, stage } = await openBacklog(t);
  let taken = 0;
  const dead = Array.from({ length: DELIVERY_PARTITIONS }, (_, partition) =>
    startPull(stage.broker, {
      stream: stage.broker.names.deliveriesStream,
      consumer: deliveryConsumer(partition),
      batchMax: COUNT,
      async onMessage() {
        taken += 1;
      },
      onTrouble: () => undefined,
      ensure: async () => undefined,
    }),
  );
  await until(
    async () => taken,
    (count) => count === COUNT,
  );
  await Promise.all(dead.map((pull) => pull.stop()));
  await stage.start();
  await stage.untilAllEnded();
  assert.equal(receiver.posts.length, COUNT);
});
