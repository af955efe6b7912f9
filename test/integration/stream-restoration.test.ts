/** The deliveries' stream is lost, and another one takes its place: no open delivery waits for the sweeper. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ensureDeliveries } from '../../src/broker/topology.ts';
import { startDeliveryOutcomes } from '../../src/delivery/outcomes.ts';
import { createStreamRestoration } from '../../src/delivery/stream-restoration.ts';
import type { Uuid } from '../../src/domain/ids.ts';
import { claimDeliveries } from '../../src/store/delivery-claims.ts';
import { openDeliveryStage } from '../support/courier.ts';
import { publishSeeded, seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { quietSupervisor } from '../support/supervisor.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const COUNT = 50;
const NO_OUTCOME = { durationMs: 1, responseHead: null, startedAt: new Date() };

async function openScene(t: TestContext) {
  const receiver = await startWebhookReceiver(t);
  const stage = await openDeliveryStage(t, { retryDelayMs: 3_600_000 });
  const search = await seedSearch(stage.database);
  const seed = (count = COUNT) =>
    seedDeliveries(
      stage.database,
      search,
      Array.from({ length: count }, (_, position) => receiver.urlOf(`/${position}`)),
    );
  return { receiver, stage, seed };
}

test('a stream that somebody else has created anew is found to be empty', async (t) => {
  const { receiver, stage, seed } = await openScene(t);
  await (await stage.start()).drain();
  await publishSeeded(stage.broker, await seed());
  await stage.broker.manager.streams.delete(stage.broker.names.deliveriesStream);
  await ensureDeliveries(stage.broker);
  await stage.start();
  await stage.untilAllEnded();
  assert.equal(receiver.posts.length, COUNT);
  assert.deepEqual(stage.repairs, [], 'the sweeper had nothing to do with it');
});

test('a restoration that a crash interrupted goes on at the next start', async (t) => {
  const { receiver, stage, seed } = await openScene(t);
  await seed();
  const { rows } = await stage.database.query(`select id from deliveries order by id offset ${COUNT / 2} limit 1`);
  const { created } = await stage.broker.manager.streams.info(stage.broker.names.deliveriesStream);
  await stage.database.query('insert into stream_restorations values ($1, $2, $3)', [
    stage.broker.names.deliveriesStream,
    created,
    rows[0].id,
  ]);
  await stage.start();
  await receiver.until((posts) => posts.length === COUNT / 2 - 1);
  const restored = () => stage.database.query('select through from stream_restorations');
  await until(restored, (answer) => answer.rows[0]?.through === null);
});

test('what waits for its time gets a message again, what is due is drawn from the table', async (t) => {
  const { stage, seed } = await openScene(t);
  await seed(3);
  await stage.database.query(
    `update deliveries set state = 'retry_wait', attempt_count = 1, due_at = now() + interval '1 hour'
     where id = (select id from deliveries order by id limit 1)`,
  );
  await createStreamRestoration({ ...stage, onTrouble: () => undefined }).ensure();
  const states = () => stage.database.query('select state from deliveries order by id');
  const inStream = async () =>
    (await stage.broker.manager.streams.info(stage.broker.names.deliveriesStream)).state.messages;
  await stage.broker.manager.streams.delete(stage.broker.names.deliveriesStream);
  const restoration = createStreamRestoration({ ...stage, onTrouble: () => undefined });
  t.after(() => restoration.stop());
  await restoration.ensure();
  await until(inStream, (messages) => messages === 1);
  assert.deepEqual(
    (await states()).rows.map(({ state }) => state),
    ['retry_wait', 'parked', 'parked'],
  );
});

// A message that comes while the outcome of the one before is being recorded would be nobody's until `ack_wait`.
test('the newest message of a delivery is settled, not the one it was claimed by', async (t) => {
  const { stage, seed } = await openScene(t);
  const [address] = await seed(1);
  const { claimed } = await claimDeliveries(stage.database, [address?.id as Uuid], 60_000);
  const [delivery] = claimed;
  assert.ok(delivery);
  const settled: string[] = [];
  const messageOf = (name: string) => ({
    stream: stage.broker.names.deliveriesStream,
    consumer: 'courier',
    sequence: 1,
    subject: name,
    headers: {},
    bytes: Buffer.alloc(0),
    settle: async ({ type }: { readonly type: string }) => void settled.push(`${name} ${type}`),
  });
  const hint = { message: messageOf('old'), isRetry: true };
  const outcomes = startDeliveryOutcomes({
    ...stage,
    retryDelayMs: 1_000,
    onAttempt() {
      hint.message = messageOf('new');
    },
    supervisor: quietSupervisor(),
    onTrouble: () => undefined,
  });
  const outcome = { ...NO_OUTCOME, statusCode: 500, error: 'status' as const, reason: 'HTTP 500' };
  await outcomes.tell({ delivery, outcome, endedAt: performance.now(), hint, onRecorded: () => undefined });
  await outcomes.drain();
  assert.deepEqual(settled, ['new nak']);
});
