/**
 * A network between the daemon and PostgreSQL that loses bytes without resetting connections, in either direction,
 * while prices change. The daemon notices this, continues on other connections, and ends in order.
 */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { openTestDatabase } from '../support/database.ts';
import { openPriceStory, STORY_SETTINGS } from '../support/price-story.ts';
import { restClient } from '../support/rest-client.ts';
import { lastFirst, startTestPostgres, startTestServers } from '../support/servers.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';

async function openScene(t: TestContext) {
  const cleanup = lastFirst(t);
  const servers = await startTestServers(cleanup);
  const proxy = await startTcpProxy(cleanup, Number(new URL(servers.postgres.url).port));
  const url = new URL(servers.postgres.url);
  url.port = String(proxy.port);
  const daemon = await startDaemon(cleanup, { postgres: { url: url.href }, nats: servers.nats }, STORY_SETTINGS);
  const story = await openPriceStory(cleanup, [servers.nats.url]);
  const key = await createApiKey(servers);
  await story.begin(daemon, key);
  const untilReady = (isReady: boolean) =>
    until(
      async () => (await fetch(`${daemon.operationsUrl}/readyz`)).ok,
      (ok) => ok === isReady,
    );
  return { servers, proxy, daemon, story, key, untilReady };
}

test('the first statement of a new connection has a time limit like the others', async (t) => {
  const postgres = await startTestPostgres(t);
  const proxy = await startTcpProxy(t, Number(new URL(postgres.url).port));
  const url = Object.assign(new URL(postgres.url), { port: String(proxy.port) }).href;
  const database = openTestDatabase(t, url, 1);
  database.once('connect', () => proxy.swallow('down'));
  await assert.rejects(database.query('select'), { code: 'ETIMEDOUT', message: /does not answer/ });
  assert.equal((await database.query('select')).rowCount, 1, 'the next statement has a new connection');
});

for (const direction of ['up', 'down'] as const) {
  test(`packets ${direction === 'up' ? 'to' : 'from'} PostgreSQL are dropped, and the deliveries continue`, async (t) => {
    const { servers, proxy, daemon, story, key, untilReady } = await openScene(t);
    const tookMs: Record<string, number> = { undisturbed: await story.tell(3) };
    const publishing = story.publishRound();
    proxy.swallow(direction);
    await publishing;
    tookMs['swallowed'] = await story.tell(2);
    assert.equal((await restClient(daemon, key).request('GET', '/searches')).status, 200);
    await untilReady(true);
    tookMs['afterwards'] = await story.tell(2);
    t.diagnostic(`milliseconds: ${JSON.stringify(tookMs)}`);
    await story.audit(servers.postgres.url);
    proxy.swallow(direction);
    assert.equal(await daemon.end('SIGTERM'), 0, 'the daemon ends in order over new connections');
  });
}

test('if the network passes no bytes, even of new connections, readiness fails, and recovers with the network', async (t) => {
  const { servers, proxy, daemon, story, untilReady } = await openScene(t);
  await story.tell(2);
  const publishing = story.publishRound();
  proxy.stall();
  await publishing;
  await untilReady(false);
  await until(
    async () => JSON.stringify(daemon.log),
    (log) => log.includes('the connection to PostgreSQL does not answer'),
  );
  proxy.heal();
  const tookMs = await story.tell(1);
  t.diagnostic(`milliseconds after the network worked again: ${tookMs}`);
  await untilReady(true);
  await story.audit(servers.postgres.url);
  assert.equal(await daemon.end('SIGTERM'), 0);
});
