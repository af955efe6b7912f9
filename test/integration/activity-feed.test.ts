/** A watcher of the activity feed receives the activities of all instances, which build them only for a watcher. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { credentials, Metadata } from '@grpc/grpc-js';
import type { Activity } from '../../src/engine/domain/activity.ts';
import { randomUuid } from '../../src/engine/domain/ids.ts';
import { createActivityFeed } from '../../src/engine/maintenance/activity.ts';
import { AdminStub, factOf, type WatchedActivity } from '../support/admin.ts';
import { connectTestBroker } from '../support/broker.ts';
import { ADMIN_TOKEN } from '../support/daemon.ts';
import { startScene } from '../support/operator-scene.ts';
import { startTestNats } from '../support/servers.ts';
import { startHere } from '../support/service.ts';

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

test('activities are built only for a watcher, and a watch is refused while NATS is unavailable', async (t) => {
  const server = await startTestNats(t);
  const broker = await connectTestBroker(t, server.url);
  const feed = createActivityFeed(broker);
  feed.publish(() => assert.fail('there is no watcher'));
  const seen: Activity[] = [];
  const stop = await feed.watch((activities) => seen.push(...activities));
  feed.publish(() => [CHANGE]);
  await broker.connection.flush();
  assert.deepEqual(seen, [CHANGE]);
  stop();
  await server.stop();
  await assert.rejects(feed.watch(() => undefined));
});

test('a watcher of one instance receives the activities of another, from the first advert on', async (t) => {
  const scene = await startScene(t, { VIGIE_ROLES: 'intake,deliver,api' });
  const operators = await startHere(t, scene.servers, { VIGIE_ROLES: 'admin' });
  const stub = new AdminStub(operators.adminAddress, credentials.createInsecure());
  t.after(() => stub.close());
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${ADMIN_TOKEN}`);
  const request = { kinds: [], search: '', property: '', endpoint: '', failuresOnly: false };
  const stream = stub.watchActivity(request, metadata);
  await once(stream, 'metadata');
  const [uuid] = await scene.publishAdverts(1);
  const facts: string[] = [];
  for await (const activity of stream as AsyncIterable<WatchedActivity>) {
    const { change, match, attempt } = activity;
    if (change !== undefined) assert.equal(change.property, `properties/${uuid}`);
    if (match !== undefined) assert.equal(match.search, `searches/${scene.search.id}`);
    if (attempt !== undefined) assert.equal(attempt.state, 'delivered');
    facts.push(factOf(activity));
    if (facts.length === 3) break;
  }
  assert.deepEqual(facts, ['change', 'match', 'attempt']);
});
