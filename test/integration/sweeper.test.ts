/** The sweeper has eyes for what is lost, whatever else is overdue, and does not flood the stream for it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDeliveryStage } from '../support/courier.ts';
import { publishSeeded, seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const HANGING_ENDPOINTS = 40;
const HANGING = 16_000;
const LOST = 50;

test('what is lost of a healthy endpoint is found behind thousands that are overdue at hanging ones', async (t) => {
  const receiver = await startWebhookReceiver(t);
  const stage = await openDeliveryStage(t, {
    retryDelayMs: 60_000,
    attemptTimeoutMs: 60_000,
    attemptsInFlightMax: 256,
  });
  const search = await seedSearch(stage.database);
  const hanging = Array.from({ length: HANGING_ENDPOINTS }, (_, position) => `/hanging/${position}`);
  for (const path of hanging) receiver.script(path, { type: 'hang' });
  const flood = Array.from({ length: HANGING }, (_, position) =>
    receiver.urlOf(hanging[position % hanging.length] as string),
  );
  await publishSeeded(stage.broker, await seedDeliveries(stage.database, search, flood));
  await stage.database.query(`update deliveries set due_at = due_at - interval '10 minutes'`);
  // Never published: their messages are lost.
  await seedDeliveries(stage.database, search, Array<string>(LOST).fill(receiver.urlOf('/healthy')));
  await stage.database.query(
    `update deliveries set due_at = due_at - interval '5 minutes' where endpoint like '%/healthy'`,
  );
  await stage.start();
  const delivered = async () =>
    (await stage.database.query(`select count(*)::integer from deliveries where state = 'delivered'`)).rows[0].count;
  await until(delivered, (count) => count === LOST);
  const { last_seq } = (await stage.broker.manager.streams.info(stage.broker.names.deliveriesStream)).state;
  assert.equal(last_seq, HANGING, 'not one message was published for them');
});

test('what the courier of the process holds is no loss', async (t) => {
  const receiver = await startWebhookReceiver(t);
  const stage = await openDeliveryStage(t, { retryDelayMs: 60_000, attemptTimeoutMs: 60_000 });
  receiver.script('/hanging', { type: 'hang' });
  const search = await seedSearch(stage.database);
  const addresses = await seedDeliveries(stage.database, search, Array<string>(9).fill(receiver.urlOf('/hanging')));
  await stage.database.query(`update deliveries set due_at = due_at - interval '10 minutes'`);
  await publishSeeded(stage.broker, addresses);
  const courier = await stage.start();
  await until(
    async () => addresses.filter(({ id }) => courier.holds(id)).length,
    (held) => held === addresses.length,
  );
  // A loss after that shows that it has swept.
  await seedDeliveries(stage.database, search, [receiver.urlOf('/healthy')]);
  await stage.database.query(
    `update deliveries set due_at = due_at - interval '5 minutes' where endpoint like '%/healthy'`,
  );
  await until(
    async () => stage.repairs.map(({ overdue }) => overdue),
    (repairs) => repairs.length > 0,
  );
  assert.deepEqual(stage.repairs, [{ aborted: 0, republished: 0, overdue: 1 }]);
});
