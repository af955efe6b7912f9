/** Two couriers, one of which loses its link to PostgreSQL: bytes disappear without an error. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openDeliveryStage } from '../support/courier.ts';
import { createGate } from '../support/gate.ts';
import { seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import { lastFirst } from '../support/servers.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

async function openScene(t: TestContext, attemptTimeoutMs: number, silentMarginMs = 3_000) {
  const cleanup = lastFirst(t);
  const receiver = await startWebhookReceiver(cleanup);
  const stage = await openDeliveryStage(cleanup, { retryDelayMs: 200, silentMarginMs, attemptTimeoutMs });
  const url = new URL(stage.servers.postgres.url);
  const proxy = await startTcpProxy(cleanup, Number(url.port));
  url.port = String(proxy.port);
  const search = await seedSearch(stage.database);
  const publish = async (paths: readonly string[]) =>
    stage.announcer.announce(
      await seedDeliveries(
        stage.database,
        search,
        paths.map((path) => receiver.urlOf(path)),
      ),
    );
  const rows = async () => (await stage.database.query('select state, attempt_count from delivery_states')).rows;
  const untilStreamIsEmpty = () =>
    until(
      async () => (await stage.broker.manager.streams.info(stage.broker.names.retriesStream)).state.messages,
      (messages) => messages === 0,
      120_000,
    );
  return { receiver, stage, proxy, proxied: { databaseUrl: String(url) }, publish, rows, untilStreamIsEmpty };
}

test('a 200 that is recorded late counts as delivered, even after attempts of other couriers', async (t) => {
  const { receiver, stage, proxy, proxied, publish, rows, untilStreamIsEmpty } = await openScene(t, 5_000, 1_000);
  const [first, second] = [createGate(), createGate()];
  receiver.script(
    '/hook',
    { type: 'gated', gate: first.gate, status: 200 },
    { type: 'gated', gate: second.gate, status: 500 },
    { type: 'answer', status: 500 },
  );
  await stage.start(proxied);
  await publish(['/hook']);
  await receiver.until((posts) => posts.length === 1);
  proxy.stall();
  first.open();
  // The second courier considers the first one dead, marks its attempt as aborted, and makes another attempt.
  await stage.start();
  await receiver.until((posts) => posts.length === 2);
  proxy.heal();
  await until(rows, ([row]) => row?.state === 'delivered');
  const attempts = async () =>
    (await stage.database.query('select number, status_code, error from attempts order by number')).rows;
  // The delivery may end before the answer to the second attempt is recorded.
  assert.deepEqual(await attempts(), [
    { number: 1, status_code: 200, error: null },
    { number: 2, status_code: null, error: 'aborted' },
  ]);
  second.open();
  await untilStreamIsEmpty();
  // The late answer is logged and changes nothing.
  await until(attempts, ([, last]) => last?.status_code === 500);
  assert.deepEqual(await rows(), [{ state: 'delivered', attempt_count: 2 }]);
  assert.equal(receiver.posts.length, 2);
});

test('another courier sends the deliveries of a cut-off one, and the cut-off one resumes on its own', async (t) => {
  // The time limit is so long that no attempt exceeds it on a busy machine.
  const { receiver, stage, proxy, proxied, publish, rows } = await openScene(t, 20_000);
  const paths = Array.from({ length: 300 }, (_, position) => `/${position % 30}`);
  const untilDelivered = (count: number) =>
    until(
      async () => (await rows()).filter(({ state }) => state === 'delivered').length,
      (delivered) => delivered === count,
    );
  const cutOff = await stage.start(proxied);
  await publish(['/hook']);
  await untilDelivered(1);
  proxy.stall();
  await publish(paths);
  await until(
    async () => cutOff.inFlight(),
    (count) => count > 0,
  );
  const other = await stage.start();
  await untilDelivered(1 + paths.length);
  await other.drain();
  proxy.heal();
  await publish(paths);
  await untilDelivered(1 + 2 * paths.length);
  assert.equal(receiver.posts.length, 1 + 2 * paths.length);
});
