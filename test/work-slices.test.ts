/** Long-running work lets all other work run in between, including other long-running work. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextLook } from 'node:timers/promises';
import { createWorkSlices } from '../src/features/explanations/examination.ts';

test('work yields after its slice, and not before', () => {
  let nowMs = 0;
  const slices = createWorkSlices({ nowMs: () => nowMs });
  assert.equal(slices.yieldIfDue(), undefined);
  nowMs = 0.9;
  assert.equal(slices.yieldIfDue(), undefined);
  nowMs = 1;
  assert.ok(slices.yieldIfDue() instanceof Promise);
});

test('only one of eight pieces of work runs a slice between two turns of the event loop', async () => {
  const looks: number[] = [];
  let look = 0;
  let isOver = false;
  const watch = (async () => {
    for (; !isOver; look++) await nextLook();
  })();
  const work = async (): Promise<void> => {
    let nowMs = 0;
    const slices = createWorkSlices({ nowMs: () => nowMs });
    for (let i = 0; i < 10; i++) {
      nowMs += 5;
      await slices.yieldIfDue();
      looks.push(look);
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  isOver = true;
  await watch;
  assert.equal(looks.length, 80);
  assert.equal(new Set(looks).size, 80);
});

test('cancelled work ends with its slice', () => {
  let nowMs = 0;
  const cancelling = new AbortController();
  const slices = createWorkSlices({ nowMs: () => nowMs, cancelled: cancelling.signal });
  cancelling.abort(new Error('cancelled'));
  assert.equal(slices.yieldIfDue(), undefined);
  nowMs = 1;
  assert.throws(() => slices.yieldIfDue(), /cancelled/);
});
