/** What a courier finds at its start: what waits in the queue, and what another one died with. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Uuid } from '../../src/engine/domain/ids.ts';
import { registerCourier } from '../../src/engine/store/couriers.ts';
import { claimDeliveries } from '../../src/engine/store/delivery-claims.ts';
import { type CourierSettings, countOpen, openDeliveryStage } from '../support/courier.ts';
import { seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const RETRY_DELAY_MS = 1_000;
const COUNT = 200;

async function openBacklog(t: TestContext, settings: Partial<CourierSettings> = {}) {
  const receiver = await startWebhookReceiver(t);
  const stage = await openDeliveryStage(t, { retryDelayMs: RETRY_DELAY_MS, ...settings });
  const endpoints = Array.from({ length: COUNT }, (_, position) => receiver.urlOf(`/${position}`));
  const due = await seedDeliveries(stage.database, await seedSearch(stage.database), endpoints);
  return { receiver, stage, due };
}

test('what was recorded while no courier was there, and announced to nobody, is sent after the start', async (t) => {
  const { receiver, stage } = await openBacklog(t);
  await stage.start();
  await stage.untilAllEnded();
  assert.equal(receiver.posts.length, COUNT);
});

test('first attempts need no NATS, and no retry is lost to one that is away', async (t) => {
  const { receiver, stage } = await openBacklog(t);
  receiver.script('/0', { type: 'answer', status: 500 }, { type: 'answer', status: 200 });
  await stage.servers.nats.stop();
  await stage.start();
  await stage.untilAllEnded();
  assert.equal(receiver.posts.length, COUNT + 1);
  const [first, second] = receiver.posts.filter(({ path }) => path === '/0');
  const gapMs = (second?.receivedAt ?? 0) - (first?.receivedAt ?? 0);
  assert.ok(gapMs >= RETRY_DELAY_MS && gapMs < RETRY_DELAY_MS + 8_000, `${gapMs} ms`);
  assert.deepEqual(stage.repairs.missing, [1]);
});

test('what a courier died with counts as an aborted attempt, and what it had not claimed is sent at once', async (t) => {
  const { receiver, stage, due } = await openBacklog(t, { attemptTimeoutMs: 5_000, silentMarginMs: 3_000 });
  const dead = await registerCourier(stage.database);
  const [claimed] = due;
  await claimDeliveries(stage.database, dead, [claimed?.id as Uuid], new Date());
  await stage.start();
  await until(
    () => countOpen(stage.database),
    (open) => open === 1,
  );
  await stage.untilAllEnded();
  assert.deepEqual(stage.repairs.aborted, [1]);
  assert.equal(receiver.posts.length, COUNT);
  const { rows } = await stage.database.query('select number, error from attempts where delivery_id = $1 order by 1', [
    claimed?.id,
  ]);
  assert.deepEqual(rows, [
    { number: 1, error: 'aborted' },
    { number: 2, error: null },
  ]);
  assert.equal((await stage.database.query('select from couriers')).rowCount, 1);
});
