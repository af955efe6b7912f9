/** A watcher that has been told that it watches misses nothing that any living instance does from then on. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { credentials, Metadata } from '@grpc/grpc-js';
import type { Msg } from 'nats';
import { type Broker } from '../../src/engine/broker/connection.ts';
import type { Activity } from '../../src/engine/domain/activity.ts';
import { randomUuid } from '../../src/engine/domain/ids.ts';
import { createActivityFeed } from '../../src/engine/maintenance/activity.ts';
import { migrate } from '../../src/engine/store/database.ts';
import { showInstance } from '../../src/engine/store/instances.ts';
import { AdminStub, factOf, type WatchedActivity } from '../support/admin.ts';
import { connectTestBroker } from '../support/broker.ts';
import { ADMIN_TOKEN } from '../support/daemon.ts';
import { openTestDatabase } from '../support/database.ts';
import { startScene } from '../support/operator-scene.ts';
import { lastFirst, startTestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until } from '../support/until.ts';

const WANTED = 'vigie.activity.wanted';
const PATIENT_MS = 60_000;

const CHANGE: Activity = {
  type: 'change',
  at: new Date(0).toISOString(),
  propertyUuid: randomUuid(),
  advertUuid: randomUuid(),
  kind: 'ad.update.price',
  field: 'price',
  oldValue: '1',
  newValue: '2',
};

/** Two instances that have shown themselves, each with a connection of its own; nobody answers for them yet. */
async function openTwo(t: TestContext) {
  const cleanup = lastFirst(t);
  const servers = await startTestServers(cleanup);
  await migrate(servers.postgres.url);
  const database = openTestDatabase(cleanup, servers.postgres.url, 2);
  const brokers: Broker[] = [];
  const ids = [randomUuid(), randomUuid()] as const;
  for (const id of ids) {
    const broker = await connectTestBroker(cleanup, servers.nats.url, id);
    brokers.push(broker);
    await showInstance(database, {
      id,
      host: 'test',
      processId: 1,
      roles: [],
      version: '1',
      startedAt: new Date(),
      stages: {},
      searchIndex: null,
      failing: [],
    });
  }
  return { servers, database, ids, brokers: brokers as [Broker, Broker] };
}

test('a watch begins when every living instance has said that it publishes', async (t) => {
  const { database, ids, brokers } = await openTwo(t);
  const feed = createActivityFeed({ broker: brokers[0], database, instanceId: ids[0], answersWithinMs: PATIENT_MS });
  const asked = new Promise<Msg>((resolve) => {
    brokers[1].connection.subscribe(WANTED, { callback: (_, message) => resolve(message) });
  });
  await brokers[1].connection.flush();
  let hasBegun = false;
  const seen: Activity[] = [];
  const watching = feed
    .watch((activities) => seen.push(...activities))
    .then((stop) => {
      hasBegun = true;
      return stop;
    });
  const request = await asked;
  await brokers[0].connection.flush();
  assert.equal(feed.isWatched, true);
  assert.equal(hasBegun, false, 'the second instance has not answered');
  request.respond(Buffer.from(ids[1]));
  const stop = await watching;
  feed.publish(() => [CHANGE]);
  await brokers[0].connection.flush();
  assert.deepEqual(seen, [CHANGE]);
  stop();
});

test('an instance that has died holds a watch up for a moment only', async (t) => {
  const { database, ids, brokers } = await openTwo(t);
  const watchFor = (answersWithinMs: number) =>
    createActivityFeed({ broker: brokers[0], database, instanceId: ids[0], answersWithinMs })
      .watch(() => undefined)
      .catch(() => null);
  // A busy machine answers even for itself only after a while; for the dead one nobody ever does.
  let answersWithinMs = 25;
  const stop = await until(
    () => {
      answersWithinMs *= 2;
      return watchFor(answersWithinMs);
    },
    (begun) => begun !== null,
  );
  stop?.();
});

test('a watch is refused while NATS is away', async (t) => {
  const { servers, database, ids, brokers } = await openTwo(t);
  const feed = createActivityFeed({ broker: brokers[0], database, instanceId: ids[0], answersWithinMs: 50 });
  await servers.nats.stop();
  await assert.rejects(
    feed.watch(() => undefined),
    { code: 'BROKER_UNAVAILABLE' },
  );
});

test('a watcher of one instance sees what another one does, from the first advert on', async (t) => {
  const scene = await startScene(t, { VIGIE_ROLES: 'intake,deliver,api' });
  const operators = await startHere(t, scene.servers, { VIGIE_ROLES: 'admin' });
  const stub = new AdminStub(operators.adminAddress, credentials.createInsecure());
  t.after(() => stub.close());
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${ADMIN_TOKEN}`);
  const request = { kinds: [], search: '', property: '', endpoint: '', failuresOnly: false };
  const stream = stub.watchActivity(request, metadata);
  await once(stream, 'metadata');
  await scene.publishAdverts(1);
  const facts: string[] = [];
  for await (const activity of stream as AsyncIterable<WatchedActivity>) {
    facts.push(factOf(activity));
    if (facts.length === 3) break;
  }
  assert.deepEqual(facts, ['change', 'match', 'attempt']);
});
