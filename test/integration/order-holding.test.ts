/**
 * Which deliveries an earlier one holds back. Couriers run in the test's own process. Endpoints hang or are paused. The
 * deliveries of a match are as the recorder writes them.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HELD_BACK_MAX_MS } from '../../src/engine/domain/delivery.ts';
import { urlKeyOf } from '../../src/engine/domain/endpoint.ts';
import type { Uuid } from '../../src/engine/domain/ids.ts';
import { registerCourier } from '../../src/engine/store/couriers.ts';
import { claimDeliveries } from '../../src/engine/store/delivery-claims.ts';
import { pauseEndpoint } from '../../src/engine/store/endpoints.ts';
import { type CourierSettings, openDeliveryStage } from '../support/courier.ts';
import { auditDeliveries } from '../support/delivery-auditor.ts';
import { createGate } from '../support/gate.ts';
import { seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import type { Cleanup } from '../support/servers.ts';
import { untilIs } from '../support/until.ts';
import { type ReceivedPost, startWebhookReceiver } from '../support/webhook-receiver.ts';

const LATER_MS = 3_600_000;

async function openScene(t: Cleanup, settings: Partial<CourierSettings> = {}) {
  const receiver = await startWebhookReceiver(t);
  const stage = await openDeliveryStage(t, { retryDelayMs: LATER_MS, ...settings });
  const { database, announcer } = stage;
  const search = await seedSearch(database);
  const expected: string[] = [];

  /** Seeds deliveries of one match in this order, recorded `agoMs` ago. */
  async function seedAgo(agoMs: number, ...paths: readonly string[]) {
    const urls = paths.map((path) => receiver.urlOf(path));
    expected.push(...urls);
    return seedDeliveries(database, search, urls, 'one match', new Date(Date.now() - agoMs));
  }

  const seed = (...paths: readonly string[]) => seedAgo(0, ...paths);

  async function tell(...paths: readonly string[]) {
    const addresses = await seed(...paths);
    announcer.announce(addresses);
    return addresses;
  }

  async function audit(): Promise<void> {
    const rules = { database, posts: receiver.posts, retryDelayMs: settings.retryDelayMs ?? LATER_MS };
    const order = { isHeld: true };
    const keyOf = ({ endpoint }: { endpoint: string }) => endpoint;
    assert.deepEqual(await auditDeliveries({ ...rules, expected, keyOf, order }), []);
  }

  const untilPosted = (path: string, count = 1) =>
    receiver.until((posts) => posts.filter((post) => post.path === path).length >= count);
  return { ...stage, search, receiver, seed, seedAgo, tell, audit, untilPosted };
}

const pathsOf = (posts: readonly ReceivedPost[]): readonly string[] => posts.map(({ path }) => path);

test('an endpoint that hangs holds back its own match at every endpoint, and no other match', async (t) => {
  const { receiver, tell, start, audit, untilPosted, untilAllEnded } = await openScene(t);
  const { gate, open: answer } = createGate();
  receiver.script('/hanging', { type: 'gated', gate, status: 200 }, { type: 'answer', status: 200 });
  await tell('/hanging', '/elsewhere', '/hanging', '/last');
  await start();
  await untilPosted('/hanging');
  await tell('/other', '/other', '/another');
  await untilPosted('/another');
  assert.deepEqual(pathsOf(receiver.posts), ['/hanging', '/other', '/other', '/another']);
  answer();
  await untilAllEnded();
  assert.deepEqual(pathsOf(receiver.posts).slice(4), ['/elsewhere', '/hanging', '/last']);
  await audit();
});

test('a pause immediately releases deliveries that its endpoint held back', async (t) => {
  const { gate, open: release } = createGate();
  t.after(() => release());
  const { receiver, seedAgo, tell, start, database, untilPosted } = await openScene(t);
  receiver.script('/busy', { type: 'gated', gate, status: 200 });
  await tell('/busy');
  await start();
  await untilPosted('/busy');
  // Recorded an hour in the future, so that they do not exceed the longest wait within this test.
  const [, other] = await seedAgo(-LATER_MS, '/busy', '/other');
  const readWaiting = async () => (await database.query('select from open_deliveries where lane = 0')).rowCount;
  await untilIs(readWaiting, 1);
  const url = receiver.urlOf('/busy');
  assert.deepEqual(await pauseEndpoint(database, urlKeyOf(url), url), [other]);
  await untilPosted('/other');
  assert.deepEqual(pathsOf(receiver.posts), ['/busy', '/other']);
});

test('an attempt of a dead process holds its match back until it counts as aborted', async (t) => {
  const { database, receiver, seed, start, untilPosted } = await openScene(t, {
    attemptTimeoutMs: 5_000,
    silentMarginMs: 3_000,
  });
  const [first, second] = await seed('/all', '/all');
  await claimDeliveries(database, await registerCourier(database), [first?.id as Uuid], new Date());
  await start();
  await untilPosted('/all');
  const { rows } = await database.query('select state, attempt_count from delivery_states order by id');
  assert.equal(rows[0].state, 'retry_wait');
  assert.equal(receiver.posts[0]?.id, second?.id);
});

test('two couriers with few slots keep the order of every match under load', async (t) => {
  const { database, announcer, seed, start, audit, untilAllEnded, receiver } = await openScene(t, {
    attemptsInFlightMax: 16,
  });
  const seeded: Awaited<ReturnType<typeof seed>>[number][] = [];
  for (let match = 0; match < 60; match++) seeded.push(...(await seed('/a', '/b', '/a', '/a', '/b', '/a')));
  // The announcements of several instances may arrive in any order.
  announcer.announce(seeded.toReversed());
  await Promise.all([start(), start()]);
  await untilAllEnded();
  assert.equal(receiver.posts.length, 360);
  await audit();
  const { rows } = await database.query(`
    select count(*)::integer as count from delivery_states later join delivery_states earlier using (match_id)
    where later.sequence = earlier.sequence + 1 and later.finished_at <= earlier.finished_at
      and (later.endpoint = earlier.endpoint or later.finished_at < later.created_at + interval '${HELD_BACK_MAX_MS} milliseconds')`);
  assert.equal(rows[0].count, 0);
});
