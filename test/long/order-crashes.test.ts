/** Webhooks of a match stay in the order in which things happened while daemons die, and when two share the deliveries. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditDeliveries } from '../support/delivery-auditor.ts';
import { assertOrdered, firstPosts, openOrderScene } from '../support/order-scene.ts';

const PROPERTIES = 100;
const CUTS = 5;

test('a daemon that is killed again and again keeps the order', async (t) => {
  const { receiver, database, start, save, publish, untilAllDelivered } = await openOrderScene(t);
  const dying = { VIGIE_ATTEMPT_TIMEOUT_MS: '1000', VIGIE_RETRY_DELAY_MS: '1000' };
  let daemon = await start(dying);
  await save([daemon], { matches: '/matches', events: '/events' });
  const published = publish(PROPERTIES, CUTS);
  for (const share of [1 / 6, 1 / 3, 1 / 2]) {
    await receiver.until((posts) => posts.length > share * PROPERTIES * CUTS);
    await daemon.end('SIGKILL');
    daemon = await start(dying);
  }
  await published;
  await untilAllDelivered(PROPERTIES * (CUTS + 1));
  assert.equal(await daemon.end('SIGTERM'), 0);
  const faults = await auditDeliveries({
    database,
    posts: receiver.posts,
    retryDelayMs: 1_000,
    expected: Array.from(firstPosts(receiver.posts).values()).flatMap((told) => told.map(({ path }) => path)),
    keyOf: ({ endpoint }) => new URL(endpoint).pathname,
    order: { isHeld: true },
  });
  assert.deepEqual(faults, []);
});

test('two instances share the deliveries of a match and keep its order', async (t) => {
  const { receiver, start, save, publish, untilAllDelivered } = await openOrderScene(t);
  const daemons = [await start(), await start()];
  await save(daemons, { matches: '/matches', events: '/events' });
  await publish(PROPERTIES, CUTS);
  await untilAllDelivered(PROPERTIES * (CUTS + 1));
  assertOrdered(receiver.posts, CUTS + 1);
  for (const daemon of daemons) assert.equal(await daemon.end('SIGTERM'), 0);
});
