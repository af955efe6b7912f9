/**
 * The stream of adverts is deleted, restored or lags: no new message is skipped, or mistaken for one already recorded.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Broker } from '../../src/engine/broker/connection.ts';
import { ADVERTS_STREAM, ensureIntake } from '../../src/engine/broker/topology.ts';
import { findIntakeStart, startPositionMarks } from '../../src/engine/intake/position.ts';
import { PRICE_HELD } from '../support/adverts.ts';
import { connectTestBroker } from '../support/broker.ts';
import { startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { connectCrawler, numberedFlat } from '../support/intake.ts';
import { startTestNats, startTestPostgres, temporaryDirectory } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until, untilIs } from '../support/until.ts';

const PROPERTIES = 20;

const changes = (minute: number, above = minute) =>
  Array.from({ length: PROPERTIES }, (_, number) =>
    numberedFlat(number, 200_000 + above, `2026-03-10T08:0${minute}:00.000Z`),
  );

async function openScene(t: TestContext) {
  const store = await temporaryDirectory('nats-store');
  t.after(() => rm(store, { recursive: true, force: true }));
  const [postgres, nats] = await Promise.all([startTestPostgres(t), startTestNats(t, store)]);
  const servers = { postgres, nats };
  const daemon = await startHere(t, servers);
  const database = connectDatabase(t, servers.postgres.url);
  const broker = await connectTestBroker(t, servers.nats.url);
  const pricesOf = async () =>
    (
      await database.query<{ price: number; stream: number; sequence: number }>(
        `select ${PRICE_HELD} as price, (value ->> 1)::integer as stream
         from properties, json_each(crawls)`,
      )
    ).rows;
  /** Publishes changes dated `minute`. `above`: the amounts above 200,000 € to which each price changes in turn. */
  async function takeIn(minute: number, ...above: number[]) {
    const prices = above.length > 0 ? above : [minute];
    // Uses a new connection each time, because an earlier one may have broken unnoticed.
    const crawler = await connectCrawler(t, servers.nats.url);
    for (const each of prices) await crawler.publish(...changes(minute, each));
    const last = 200_000 + (prices.at(-1) ?? 0);
    return until(pricesOf, (rows) => rows.length === PROPERTIES && rows.every(({ price }) => price === last));
  }
  const countEvents = async () => Number((await database.query('select count(*) from events')).rows[0].count);
  const floor = async () => (await database.query('select sequence_floor from intake_leader')).rows[0].sequence_floor;
  return { store, servers, daemon, broker, database, takeIn, countEvents, floor };
}

type Remake = (broker: Broker) => Promise<unknown>;

const REMADE: Readonly<Record<string, Remake>> = {
  'the daemon creates it again': ({ manager }) => manager.streams.delete(ADVERTS_STREAM),
  async 'an operator creates it again at once'(broker) {
    await broker.manager.streams.delete(ADVERTS_STREAM);
    await ensureIntake(broker);
  },
};

for (const [how, remake] of Object.entries(REMADE)) {
  test(`the stream is deleted and ${how}: its first messages are not mistaken for the former ones`, async (t) => {
    const { daemon, broker, takeIn, countEvents, floor } = await openScene(t);
    await takeIn(1);
    await takeIn(2);
    await remake(broker);
    await untilIs(
      () =>
        broker.manager.streams.info(ADVERTS_STREAM).then(
          () => true,
          () => false,
        ),
      true,
    );
    const rows = await takeIn(3);
    assert.equal(await countEvents(), PROPERTIES * 5);
    assert.ok(rows.every(({ stream }) => stream === 2));
    // A restored NATS may mean a restored PostgreSQL, so the floor was raised; it is raised once for each stream.
    const raised = await floor();
    assert.ok(raised >= 1_000_000);
    assert.equal(await daemon.end('SIGTERM'), 0);
    assert.equal(await floor(), raised);
  });
}

test('event numbers jump far ahead once for a new stream, however often the leader changes before its first message', async (t) => {
  const { servers, daemon, broker, takeIn, floor } = await openScene(t);
  await takeIn(1);
  assert.equal(await daemon.end('SIGTERM'), 0);
  await broker.manager.streams.delete(ADVERTS_STREAM);
  const floors: number[] = [];
  for (let terms = 0; terms < 2; terms++) {
    const next = await startDaemon(t, servers);
    await untilIs(() => next.log.some(({ message }) => message === 'This instance leads intake.'), true);
    floors.push(await floor());
    assert.equal(await next.end('SIGKILL'), null);
  }
  assert.ok((floors[0] ?? 0) >= 1_000_000);
  assert.deepEqual(floors, [floors[0], floors[0]]);
});

test('a change that is repeated with its crawl time is recorded once, also when NATS is restored', async (t) => {
  const { daemon, broker, takeIn, countEvents } = await openScene(t);
  const restored = async () => {
    await broker.manager.streams.delete(ADVERTS_STREAM);
    await ensureIntake(broker);
  };
  await takeIn(1);
  await takeIn(1, 5);
  await restored();
  // A crawler publishes again the messages missing in the restored stream. The last one shows that all were recorded.
  await takeIn(1, 1, 5, 7);
  // For each property: its creation, two changes of its price and two of its advert.
  assert.equal(await countEvents(), PROPERTIES * (1 + 2 + 2));
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('a lagging server that has just become the leader of a replicated stream is not mistaken for another stream', async (t) => {
  const { daemon, broker, database, takeIn } = await openScene(t);
  await takeIn(1);
  assert.equal(await daemon.end('SIGTERM'), 0);
  const { streams } = broker.manager;
  const read = streams.info.bind(streams);
  const lagging = [PROPERTIES - 5, PROPERTIES - 1];
  t.mock.method(streams, 'info', async (name: string) => {
    const info = await read(name);
    const last_seq = lagging.shift() ?? info.state.last_seq;
    return { ...info, config: { ...info.config, num_replicas: 3 }, state: { ...info.state, last_seq } };
  });
  const { isKnownStream, isRestored, recordedUpTo } = await findIntakeStart(broker, database);
  assert.deepEqual(
    { isKnownStream, isRestored, recordedUpTo },
    { isKnownStream: true, isRestored: false, recordedUpTo: PROPERTIES },
  );
  assert.deepEqual(lagging, []);
});

test('acknowledgements that a replicated consumer has lost send no term back to the beginning of the stream', async (t) => {
  const { daemon, broker, database, takeIn } = await openScene(t);
  await takeIn(1);
  assert.equal(await daemon.end('SIGTERM'), 0);
  const { consumers } = broker.manager;
  const read = consumers.info.bind(consumers);
  // As observed on nats-server 2.9.10 after the consumer's leader was cut off from its peers.
  t.mock.method(consumers, 'info', async (stream: string, name: string) => {
    const info = await read(stream, name);
    return { ...info, ack_floor: { ...info.ack_floor, stream_seq: 1 }, num_ack_pending: 7 };
  });
  const { isKnownStream, isRestored, recordedUpTo } = await findIntakeStart(broker, database);
  assert.deepEqual([isKnownStream, isRestored, recordedUpTo], [true, false, PROPERTIES]);
});

test('a stream that returns without its last messages is read from its new end, and its consumer skips none', async (t) => {
  const { store, servers, daemon, broker, takeIn, countEvents } = await openScene(t);
  const { nats } = servers;
  const kept = join(store, 'jetstream', '$G', 'streams', ADVERTS_STREAM, 'msgs');
  const copy = join(store, 'copy');
  await takeIn(1);
  await nats.stop();
  // Keeps the owner of the files.
  execFileSync('cp', ['-a', kept, copy]);
  await nats.restart();
  await takeIn(2);
  await takeIn(3);
  await nats.stop();
  await rm(kept, { recursive: true });
  execFileSync('cp', ['-a', copy, kept]);
  await nats.restart();
  const losses = async () => daemon.log.filter(({ message }) => String(message).includes('lost its last messages'));
  await until(losses, ({ length }) => length > 0);
  const rows = await takeIn(4);
  assert.ok(rows.every(({ stream }) => stream === 2));
  await takeIn(5);
  assert.equal(await countEvents(), PROPERTIES * 9);
  const reported = (await losses()).map(({ messages, after, storedAt }) => ({ messages, after, storedAt }));
  const { timestamp } = await broker.manager.streams.getMessage(ADVERTS_STREAM, { seq: PROPERTIES });
  assert.deepEqual(reported, [{ messages: 2 * PROPERTIES, after: PROPERTIES, storedAt: timestamp }]);
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('a term ends when the majority’s leader lacks known messages in fifteen checks, or has another newest one', async (t) => {
  const { daemon, broker, database, takeIn } = await openScene(t);
  await takeIn(1);
  assert.equal(await daemon.end('SIGTERM'), 0);
  const start = await findIntakeStart(broker, database);
  let ends = 0;
  const { time } = await broker.manager.streams.getMessage(ADVERTS_STREAM, { seq: PROPERTIES });
  const inOrder = { settledUpTo: PROPERTIES, newest: { sequence: PROPERTIES, storedAtMs: time.getTime() } };
  const marks = startPositionMarks('0', { ...start, recordedUpTo: 0 }, inOrder, {
    ...{ broker, database, onOtherStream: () => void ends++ },
    onTransientError: (_, error) => assert.fail(error),
  });
  await marks.stop();
  const { streams } = broker.manager;
  const read = streams.info.bind(streams);
  const answer = { last_seq: PROPERTIES, unheardMs: 0 };
  t.mock.method(streams, 'info', async (name: string) => {
    const { state, ...info } = await read(name);
    const config = { ...info.config, num_replicas: 3 };
    const replicas = [1, 2].map(() => ({ name: '', current: true, active: answer.unheardMs * 1e6 }));
    return { ...info, config, state: { ...state, last_seq: answer.last_seq }, cluster: { leader: 'one', replicas } };
  });
  const check = async (count: number) => {
    for (let checks = 0; checks < count; checks++) await marks.markLast();
    return ends;
  };
  assert.equal(await check(1), 0);
  answer.last_seq -= 1;
  assert.equal(await check(14), 0);
  answer.unheardMs = 10_000;
  assert.equal(await check(5), 0, 'a leader that is cut off proves nothing');
  answer.unheardMs = 0;
  assert.equal(await check(1), 1);
  answer.last_seq = PROPERTIES;
  assert.equal(await check(1), 1, 'the last message is the same: the server had lagged');
  inOrder.newest.storedAtMs -= 5_000;
  assert.equal(await check(1), 2, 'the number of the last message was given to another one');
});
