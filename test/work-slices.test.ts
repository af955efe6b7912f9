/** Those who work long let everybody else work in between, and each other. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextLook } from 'node:timers/promises';
import { createWorkSlices } from '../src/api/work-slices.ts';

test('who has worked long enough waits, and not before', () => {
  let nowMs = 0;
  const slices = createWorkSlices(() => nowMs);
  assert.equal(slices.take(), undefined);
  nowMs = 3.9;
  assert.equal(slices.take(), undefined);
  nowMs = 4;
  assert.ok(slices.take() instanceof Promise);
});

test('eight at once work one after the other: one of them between two looks at sockets', async () => {
  const looks: number[] = [];
  let look = 0;
  let isOver = false;
  const watch = (async () => {
    for (; !isOver; look++) await nextLook();
  })();
  const work = async (): Promise<void> => {
    let nowMs = 0;
    const slices = createWorkSlices(() => nowMs);
    for (let i = 0; i < 10; i++) {
      nowMs += 5;
      await slices.take();
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
  const slices = createWorkSlices(() => nowMs);
  nowMs = 2;
  const waited = await slices.pause(
    nextLook().then(() => {
      nowMs = 1_002;
      return 'rows';
    }),
  );
  nowMs += 1;
  assert.equal(waited, 'rows');
  assert.equal(slices.workedMs, 3);
  assert.equal(slices.take(), undefined);
});
