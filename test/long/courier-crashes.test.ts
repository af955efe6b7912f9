/**
 * The delivering daemon is killed and stopped under load. Whatever was lost on the way, the auditor must find every
 * delivery ended by the rules.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COURIER_SETTINGS, openCourierScene } from '../support/courier-scene.ts';
import { startDaemon } from '../support/daemon.ts';

test('kill -9 of the daemon, again and again', async (t) => {
  const { cleanup, servers, receiver, load, audit, untilReceived } = await openCourierScene(t);
  let daemon = await startDaemon(cleanup, servers, COURIER_SETTINGS);
  for (let kill = 0; kill < 5; kill++) {
    await load(400);
    await untilReceived(receiver.posts.length + 150);
    await daemon.end('SIGKILL');
    daemon = await startDaemon(cleanup, servers, COURIER_SETTINGS);
  }
  await audit();
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('SIGTERM with a full queue: what was sent is recorded, and nothing is sent twice', async (t) => {
  const { cleanup, servers, receiver, load, audit, untilReceived } = await openCourierScene(t);
  // Nothing hangs, and no attempt runs out of time on a busy machine: it would be made again, and rightly so.
  receiver.script('/silent', { type: 'answer', status: 500 });
  const settings = { ...COURIER_SETTINGS, VIGIE_ATTEMPT_TIMEOUT_MS: '60000' };
  const first = await startDaemon(cleanup, servers, settings);
  await load(3_000);
  await untilReceived(500);
  assert.equal(await first.end('SIGTERM'), 0);
  assert.ok(receiver.posts.length < 3_000, 'the queue was still full');
  const second = await startDaemon(cleanup, servers, settings);
  await audit();
  const sentTwice = receiver.posts.filter(({ id, path }) => path.startsWith('/ok') && receiver.postsOf(id).length > 1);
  assert.deepEqual(sentTwice, []);
  assert.equal(await second.end('SIGTERM'), 0);
});
