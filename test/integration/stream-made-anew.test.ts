/** Somebody deletes the stream of adverts under the daemon: the next one counts from 1 again, and every message counts. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Broker } from '../../src/engine/broker/connection.ts';
import { ADVERTS_STREAM, ensureIntake } from '../../src/engine/broker/topology.ts';
import { findIntakeStart } from '../../src/engine/intake/position.ts';
import { PRICE_HELD } from '../support/adverts.ts';
import { connectTestBroker } from '../support/broker.ts';
import { startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { connectCrawler, numberedUuid, upsert } from '../support/intake.ts';
import { startTestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until, untilIs } from '../support/until.ts';

const PROPERTIES = 20;

const changes = (minute: number, above = minute) =>
  Array.from({ length: PROPERTIES }, (_, number) =>
    upsert({
      property: numberedUuid('property', number),
      advert: numberedUuid('advert', number),
      crawledAt: `2026-03-10T08:0${minute}:00.000Z`,
      price: 200_000 + above,
    }),
  );

async function openScene(t: TestContext) {
  const servers = await startTestServers(t);
  const daemon = await startHere(t, servers);
  const database = connectDatabase(t, servers.postgres.url);
  const crawler = await connectCrawler(t, servers.nats.url);
  const broker = await connectTestBroker(t, servers.nats.url);
  const pricesOf = async () =>
    (
      await database.query<{ price: number; stream: number; sequence: number }>(
        `select ${PRICE_HELD} as price, (value ->> 1)::integer as stream
         from properties, json_each(crawls)`,
      )
    ).rows;
  /** `minute`: of the changes; `above`: by how much each price is then above 200,000 €, one change after the other. */
  async function takeIn(minute: number, ...above: number[]) {
    const prices = above.length > 0 ? above : [minute];
    for (const each of prices) await crawler.publish(...changes(minute, each));
    const last = 200_000 + (prices.at(-1) ?? 0);
    return until(pricesOf, (rows) => rows.length === PROPERTIES && rows.every(({ price }) => price === last));
  }
  const countEvents = async () => Number((await database.query('select count(*) from events')).rows[0].count);
  const floor = async () => (await database.query('select sequence_floor from intake_leader')).rows[0].sequence_floor;
  return { servers, daemon, broker, database, takeIn, countEvents, floor };
}

type Remake = (broker: Broker) => Promise<unknown>;

const REMADE: Readonly<Record<string, Remake>> = {
  'the daemon makes it anew': ({ manager }) => manager.streams.delete(ADVERTS_STREAM),
  async 'an operator makes it anew at once'(broker) {
    await broker.manager.streams.delete(ADVERTS_STREAM);
    await ensureIntake(broker);
  },
};

for (const [how, remake] of Object.entries(REMADE)) {
  test(`the stream is deleted and ${how}: its first messages are other ones`, async (t) => {
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
    // A restoration of NATS may be one of PostgreSQL as well; a stream is met once.
    const raised = await floor();
    assert.ok(raised >= 1_000_000);
    assert.equal(await daemon.end('SIGTERM'), 0);
    assert.equal(await floor(), raised);
  });
}

test('numbers go on far above once for a new stream, however often the lead changes before it has a message', async (t) => {
  const { servers, daemon, broker, takeIn, floor } = await openScene(t);
  await takeIn(1);
  assert.equal(await daemon.end('SIGTERM'), 0);
  await broker.manager.streams.delete(ADVERTS_STREAM);
  const floors: number[] = [];
  for (let terms = 0; terms < 2; terms++) {
    const next = await startDaemon(t, servers);
    floors.push(await floor());
    assert.equal(await next.end('SIGKILL'), null);
  }
  assert.ok((floors[0] ?? 0) >= 1_000_000);
  assert.deepEqual(floors, [floors[0], floors[0]]);
});

test('what one crawl said twice in one minute is told once, also when NATS is restored and takes it again', async (t) => {
  const { daemon, broker, takeIn, countEvents } = await openScene(t);
  const restored = async () => {
    await broker.manager.streams.delete(ADVERTS_STREAM);
    await ensureIntake(broker);
  };
  await takeIn(1);
  await takeIn(1, 5);
  await restored();
  // A crawler publishes again what the copy of the stream has not got; the last message shows that all are taken in.
  await takeIn(1, 1, 5, 7);
  // Of each: created; two changes of its price and of the advert.
  assert.equal(await countEvents(), PROPERTIES * (1 + 2 + 2));
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('a server that has just begun to lead a replicated stream, and lags, is not taken for another stream', async (t) => {
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
