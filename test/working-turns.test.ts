/** Those who work long let everybody else have a turn, and each other. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextLook } from 'node:timers/promises';
import { createWorkingTurns, sortedInTurns } from '../src/actor/working-turns.ts';
import { createRandom } from '../src/cli/demo/seeded-random.ts';

test('who has worked long enough waits, and not before', () => {
  let nowMs = 0;
  const turns = createWorkingTurns(() => nowMs);
  assert.equal(turns.take(), undefined);
  nowMs = 0.9;
  assert.equal(turns.take(), undefined);
  nowMs = 1;
  assert.ok(turns.take() instanceof Promise);
});

test('eight at once take turns: one of them works between two looks at sockets', async () => {
  const looks: number[] = [];
  let look = 0;
  let isOver = false;
  const watch = (async () => {
    for (; !isOver; look++) await nextLook();
  })();
  const work = async (): Promise<void> => {
    let nowMs = 0;
    const turns = createWorkingTurns(() => nowMs);
    for (let i = 0; i < 10; i++) {
      nowMs += 5;
      await turns.take();
      looks.push(look);
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  isOver = true;
  await watch;
  assert.equal(looks.length, 80);
  assert.equal(new Set(looks).size, 80);
});

test('what is waited for is no work', async () => {
  let nowMs = 0;
  const turns = createWorkingTurns(() => nowMs);
  nowMs = 2;
  const waited = await turns.pause(
    nextLook().then(() => {
      nowMs = 1_002;
      return 'rows';
    }),
  );
  nowMs += 0.5;
  assert.equal(waited, 'rows');
  assert.equal(turns.workedMs, 2.5);
  assert.equal(turns.take(), undefined);
});

test('what is sorted in turns is sorted as at once, equal ones in their order', async () => {
  const random = createRandom(21);
  for (const length of [0, 1, 499, 500, 501, 1_000, 3_777]) {
    const items = Array.from({ length }, (_, position) => ({ key: random.integer(0, 50), position }));
    const byKey = (a: { key: number }, b: { key: number }): number => a.key - b.key;
    assert.deepEqual(await sortedInTurns(items, byKey, createWorkingTurns()), items.toSorted(byKey), String(length));
  }
});
