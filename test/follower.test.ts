/** What follows PostgreSQL looks when it is told to, never twice at once, and survives a look that fails. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFollower } from '../src/upkeep/follower.ts';

/** Never within a test. */
const POLL_MS = 2 ** 30;

interface Look {
  readonly succeed: () => void;
  readonly fail: (error: Error) => void;
}

/** The first look succeeds by itself, the others when the test says so. */
async function openScene() {
  const looks: Look[] = [];
  const troubles: string[] = [];
  let isFirst = true;
  const follower = await startFollower({
    what: 'something',
    pollMs: POLL_MS,
    refresh() {
      if (isFirst) {
        isFirst = false;
        return Promise.resolve();
      }
      return new Promise((succeed, fail) => looks.push({ succeed, fail }));
    },
    onTrouble: (what, error) => troubles.push(`${what}: ${error.message}`),
  });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { follower, looks, troubles, settled };
}

test('told during a look, it looks once more, however often it was told', async () => {
  const { follower, looks, settled } = await openScene();
  follower.look();
  follower.look();
  follower.look();
  assert.equal(looks.length, 1);
  looks[0]?.succeed();
  await settled();
  assert.equal(looks.length, 2);
  looks[1]?.succeed();
  await settled();
  assert.equal(looks.length, 2);
  await follower.stop();
});

test('a look that fails is told, and the next one is made', async () => {
  const { follower, looks, troubles, settled } = await openScene();
  follower.look();
  looks[0]?.fail(new Error('gone'));
  await settled();
  assert.deepEqual(troubles, ['something: gone']);
  follower.look();
  assert.equal(looks.length, 2);
  looks[1]?.succeed();
  await follower.stop();
});

test('stopped, it ends the look under way and makes no other', async () => {
  const { follower, looks } = await openScene();
  follower.look();
  follower.look();
  const stopped = follower.stop();
  looks[0]?.succeed();
  await stopped;
  follower.look();
  assert.equal(looks.length, 1);
});
