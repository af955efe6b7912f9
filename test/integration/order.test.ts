/**
 * Webhooks of a match in the order in which things happened, through the running daemon: what is published together, in
 * a row or in a flood is received in the order of `Vigie-Sequence`, each after the one before it was answered.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertOrdered, firstPosts, openOrderScene } from '../support/order-scene.ts';

const PROPERTIES = 100;
const CUTS = 5;

for (const [endpoints, paths] of [
  ['one endpoint', { matches: '/all', events: '/all' }],
  ['two endpoints', { matches: '/matches', events: '/events' }],
] as const) {
  test(`a match and price cuts that are published together arrive in their order, at ${endpoints}`, async (t) => {
    const { receiver, start, save, publish, untilAllDelivered } = await openOrderScene(t);
    const daemon = await start();
    await save([daemon], paths);
    await publish(PROPERTIES, CUTS);
    await untilAllDelivered(PROPERTIES * (CUTS + 1));
    assert.equal(receiver.posts.length, PROPERTIES * (CUTS + 1));
    assert.equal(firstPosts(receiver.posts).size, PROPERTIES);
    assertOrdered(receiver.posts, CUTS + 1);
    assert.equal(await daemon.end('SIGTERM'), 0);
  });
}
