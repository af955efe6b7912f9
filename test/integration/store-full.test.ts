/**
 * The store of NATS is limited. `ADVERTS` uses a part of it and refuses new messages when that part is full. Long
 * before, the leader removes messages that are no longer needed. Recorded deliveries are sent even if the store accepts
 * nothing.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AckPolicy, DiscardPolicy, type JetStreamClient, NatsError } from 'nats';
import { checkBroker } from '../../src/cli/doctor/broker-checks.ts';
import { type Broker } from '../../src/engine/broker/connection.ts';
import { trimStream } from '../../src/engine/broker/stream-position.ts';
import { ADVERTS_STREAM, ensureAdvertsStream, ensureRejections } from '../../src/engine/broker/topology.ts';
import { connectTestBroker } from '../support/broker.ts';
import { createApiKey, runVigie } from '../support/daemon.ts';
import { connectCrawler, numberedFlat, numberedUuid } from '../support/intake.ts';
import { readinessOf } from '../support/operator-scene.ts';
import { everythingTo, restClient } from '../support/rest-client.ts';
import { type Cleanup, startTestNats, startTestPostgres } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until, untilIs } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const MEGABYTE = 1_048_576;
const STORE_BYTES = 64 * MEGABYTE;
const HOUR_MS = 3_600_000;
const ADVERT = Buffer.alloc(100_000, 'x');

async function connect(t: Cleanup, url: string): Promise<Broker> {
  const broker = await connectTestBroker(t, url);
  return broker;
}

/** Publishes until the stream refuses a message; resolves with the number of accepted messages. */
async function publishUntilRefused(jetStream: JetStreamClient, subject: string): Promise<number> {
  for (let taken = 0; ; taken++) {
    try {
      await jetStream.publish(subject, ADVERT);
    } catch (error) {
      assert.ok(error instanceof NatsError && error.api_error !== undefined, 'JetStream reports the refusal');
      return taken;
    }
  }
}

test('the stream of adverts uses a part of the store, leaves the rest free, and refuses messages when full', async (t) => {
  const nats = await startTestNats(t, null, STORE_BYTES);
  const broker = await connect(t, nats.url);
  await ensureAdvertsStream(broker);
  const { config } = await broker.manager.streams.info(ADVERTS_STREAM);
  const { config: rejected } = await broker.manager.streams.info('REJECTED');
  assert.ok(
    rejected.max_bytes > STORE_BYTES / 9 && rejected.max_bytes <= STORE_BYTES / 8,
    'an eighth is for rejections',
  );
  const share = config.max_bytes / STORE_BYTES;
  const wanted = Number(broker.serverVersion.split('.')[1]) >= 10 ? 0.75 : 0.5;
  assert.ok(share > wanted - 0.05 && share <= wanted, `${share} of the store`);
  const taken = await publishUntilRefused(broker.jetStream, 'adverts.a');
  assert.ok(Math.abs(taken * ADVERT.length - config.max_bytes) < 2 * MEGABYTE, `${taken} messages`);
  const { state } = await broker.manager.streams.info(ADVERTS_STREAM);
  assert.equal(state.first_seq, 1, 'nothing was dropped');
  await broker.manager.streams.add({ name: 'OTHER', subjects: ['other'] });
  await broker.jetStream.publish('other', ADVERT);
  for await (const each of broker.manager.streams.list())
    assert.ok(!each.config.name.startsWith('VIGIE'), 'no stream is left of the measurement of free space');
  const told: number = (await nats.stop(), await nats.restart(), state.messages);
  await untilIs(
    async () => (await broker.manager.streams.info(ADVERTS_STREAM).catch(() => null))?.state.messages,
    told,
  );
});

test('a stream of adverts that leaves no space for rejections is reported, with the command that frees some', async (t) => {
  const [postgres, nats] = await Promise.all([startTestPostgres(t), startTestNats(t, null, STORE_BYTES)]);
  const servers = { postgres, nats };
  const broker = await connect(t, nats.url);
  const { streams } = broker.manager;
  const name = ADVERTS_STREAM;
  await streams.add({ name, subjects: ['adverts.>'], max_bytes: 63 * MEGABYTE, discard: DiscardPolicy.New });
  const daemon = await startHere(t, servers);
  // On a busy machine, a check may have no result in time.
  const { checks } = await until(
    () => readinessOf(daemon),
    ({ status }) => status === 200,
  );
  assert.equal(checks.streams?.status, 'caution');
  const reason = checks.streams?.reason ?? '';
  const [, bytes] = /nats stream edit ADVERTS --max-bytes=(\d+)`\.$/.exec(reason) as RegExpExecArray;
  const findings = await checkBroker(broker, null);
  assert.deepEqual(
    findings.flatMap(({ level, text }) => (level === 'look at' && text.startsWith('The stream') ? [text] : [])),
    [reason],
  );
  await streams.update(name, { max_bytes: Number(bytes) });
  const crawler = await connectCrawler(t, nats.url);
  await crawler.publish('no JSON');
  await untilIs(async () => (await streams.info('REJECTED').catch(() => null))?.state.messages, 1);
});

test('messages that every consumer has read are purged, oldest first, and only as many as needed', async (t) => {
  const nats = await startTestNats(t);
  const broker = await connect(t, nats.url);
  const { consumers, streams } = broker.manager;
  await ensureAdvertsStream(broker);
  await streams.update(ADVERTS_STREAM, { max_bytes: 4 * MEGABYTE });
  for (const durable_name of ['intake', 'intake-west'])
    await consumers.add(ADVERTS_STREAM, { durable_name, ack_policy: AckPolicy.Explicit });
  const stored = async () => (await streams.info(ADVERTS_STREAM)).state;
  const trim = (upTo: number, keptMs = 0) => trimStream(broker, ADVERTS_STREAM, { upTo, keptMs });
  const take = async (consumer: string, count: number): Promise<void> => {
    const batch = { max_messages: count, expires: 5_000 };
    const messages = await (await broker.jetStream.consumers.get(ADVERTS_STREAM, consumer)).fetch(batch);
    for await (const message of messages) message.ack();
    await untilIs(async () => (await consumers.info(ADVERTS_STREAM, consumer)).num_ack_pending, 0);
  };
  await publishUntilRefused(broker.jetStream, 'adverts.a');
  const full = (await stored()).last_seq;
  await take('intake', full);
  assert.deepEqual(await trim(full), { removed: 0, heldBy: 'the consumer intake-west, up to message 0' });
  await take('intake-west', 3);
  assert.deepEqual(await trim(full), { removed: 3, heldBy: null }, 'messages that another namespace has not read stay');
  await take('intake-west', full);
  const { removed } = await trim(6);
  assert.deepEqual([removed, (await stored()).first_seq], [3, 7], 'messages that this database has not recorded stay');
  assert.match(
    (await trim(full, HOUR_MS)).heldBy as string,
    /^the messages that a restored dump may need/,
    'young messages stay',
  );
  await trim(full);
  const state = await stored();
  assert.ok(state.bytes <= 0.8 * 4 * MEGABYTE && state.bytes > 0.7 * 4 * MEGABYTE, `${state.bytes} bytes are left`);
  assert.deepEqual(await trim(full), { removed: 0, heldBy: null }, 'there is room');
  assert.equal((await stored()).last_seq, full);
  assert.ok((await publishUntilRefused(broker.jetStream, 'adverts.a')) > 0, 'crawlers can publish again');
});

test('recorded adverts are delivered while the whole store is full', async (t) => {
  const [postgres, nats] = await Promise.all([startTestPostgres(t), startTestNats(t, null, STORE_BYTES)]);
  const servers = { postgres, nats };
  const receiver = await startWebhookReceiver(t);
  const daemon = await startHere(t, servers);
  const broker = await connect(t, nats.url);
  // As an operator would do with `nats stream edit`.
  await broker.manager.streams.update(ADVERTS_STREAM, { max_bytes: 16 * MEGABYTE });
  await restClient(daemon, await createApiKey(servers)).createSearch(everythingTo(receiver));
  const paused = await runVigie(['admin', 'stages', 'drain', 'intake', '--address', daemon.adminAddress], servers);
  assert.equal(paused.code, 0, paused.stderr);
  const crawler = await connectCrawler(t, nats.url);
  const properties = Array.from({ length: 40 }, (_, number) => numberedUuid('property', number));
  const crawledAt = new Date().toISOString();
  await crawler.publish(...properties.map((_, number) => numberedFlat(number, 200_000, crawledAt)));
  await ensureRejections(broker).catch(() => undefined);
  await broker.manager.streams.add({ name: 'OTHER', subjects: ['other'] });
  await publishUntilRefused(broker.jetStream, 'other');
  const input = `${JSON.stringify(numberedFlat(99, 1, crawledAt))}\n`;
  const unpublished = await runVigie(['publish'], servers, { input });
  assert.match(unpublished.stderr, /vigie: NATS has no room \(insufficient resources\)\. Make room/);
  const resumed = await runVigie(['admin', 'stages', 'resume', 'intake', '--address', daemon.adminAddress], servers);
  assert.equal(resumed.code, 0, resumed.stderr);
  const received = await until(
    async () => receiver.posts.length,
    (count) => count >= properties.length,
    400_000,
  );
  assert.equal(received, properties.length);
});

test('a JetStream without space for retries makes intake not ready until it can write again', async (t) => {
  const [postgres, nats] = await Promise.all([startTestPostgres(t), startTestNats(t, null, STORE_BYTES)]);
  const servers = { postgres, nats };
  const receiver = await startWebhookReceiver(t);
  let fail: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    fail = resolve;
  });
  receiver.script('/matches', { type: 'gated', gate, status: 500 });
  const daemon = await startHere(t, servers);
  const broker = await connect(t, nats.url);
  await broker.manager.streams.update(ADVERTS_STREAM, { max_bytes: 16 * MEGABYTE });
  const client = restClient(daemon, await createApiKey(servers));
  const search = { title: 'all', notificationEnabled: true, endpointRecipient: receiver.urlOf('/matches') };
  await client.createSearch(search);
  const crawler = await connectCrawler(t, nats.url);
  await crawler.publish(numberedFlat(1, 200_000, new Date().toISOString()));
  await receiver.until((posts) => posts.length === 1);
  await broker.manager.streams.add({ name: 'OTHER', subjects: ['other'] });
  await publishUntilRefused(broker.jetStream, 'other');
  fail();
  const readiness = () => readinessOf(daemon);
  const refused = await until(readiness, ({ status }) => status === 503);
  assert.match(refused.checks.room?.reason ?? '', /^NATS has no room \(.*insufficient resources\): free some space/);
  // Only NATS is full, so PostgreSQL accepts writes.
  await client.createSearch({ ...search, title: 'more' });
  await broker.manager.streams.delete('OTHER');
  await until(readiness, ({ status }) => status === 200);
});
