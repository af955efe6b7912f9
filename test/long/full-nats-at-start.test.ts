/**
 * A daemon that is started on a NATS without space for its streams keeps running. It serves everything that needs only
 * PostgreSQL, and intake starts as soon as there is space.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectTestBroker } from '../support/broker.ts';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { connectCrawler, numberedFlat, numberedUuid } from '../support/intake.ts';
import { readinessOf } from '../support/operator-scene.ts';
import { restClient } from '../support/rest-client.ts';
import { startTestNats, startTestPostgres } from '../support/servers.ts';
import { until, untilIs } from '../support/until.ts';

const STORE_BYTES = 64 * 1_048_576;
const MESSAGE = Buffer.alloc(500_000, 'x');

const advert = (number: number, price: number) => numberedFlat(number, price, new Date().toISOString());

test('with a full NATS at start-up requests and explanations are served, and intake recovers on its own', async (t) => {
  const [postgres, nats] = await Promise.all([startTestPostgres(t), startTestNats(t, null, STORE_BYTES)]);
  const servers = { postgres, nats };
  const former = await startDaemon(t, servers);
  const key = await createApiKey(servers);
  const crawler = await connectCrawler(t, nats.url);
  await crawler.publish(advert(1, 200_000));
  const database = connectDatabase(t, postgres.url);
  const stored = async () => Number((await database.query('select count(*) from properties')).rows[0].count);
  await untilIs(stored, 1);
  assert.equal(await former.end('SIGTERM'), 0);

  const broker = await connectTestBroker(t, nats.url);
  const { streams } = broker.manager;
  for await (const { config } of streams.list()) await streams.delete(config.name);
  await streams.add({ name: 'ELSE', subjects: ['else'], max_bytes: STORE_BYTES });
  let isFull = false;
  while (!isFull) {
    isFull = await broker.jetStream.publish('else', MESSAGE).then(
      async () => (await streams.info('ELSE')).state.bytes > STORE_BYTES - 2 * 1_048_576,
      () => true,
    );
  }

  const daemon = await startDaemon(t, servers);
  const readiness = () => readinessOf(daemon);
  const refused = await until(
    readiness,
    ({ text }) => /storage|resource|stream/i.test(text) && !/"ok","checks"/.test(text),
  );
  assert.equal(refused.status, 503);
  const client = restClient(daemon, key);
  const search = await client.createSearch({ title: 'Toulon', budgetMax: 300_000 });
  const explained = await client.request<{ satisfied: boolean }>(
    'GET',
    `${search.iri}/explanation?property=${numberedUuid('property', 1)}`,
  );
  assert.deepEqual([explained.status, explained.body.satisfied], [200, true]);
  const preview = await client.request('POST', '/searches/preview', { budgetMax: 300_000 });
  assert.equal(preview.status, 200);
  assert.equal(daemon.process.exitCode, null);

  await streams.delete('ELSE');
  await until(readiness, ({ status }) => status === 200);
  await crawler.publish(advert(2, 100_000));
  await untilIs(stored, 2);
  assert.equal(await daemon.end('SIGTERM'), 0);
});
