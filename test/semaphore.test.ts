/** Slots are never given twice, and nobody in line is overtaken. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { createSemaphore } from '../src/cli/semaphore.ts';

test('who finds enough slots proceeds at once, who does not waits for them', async () => {
  const slots = createSemaphore(3);
  const order: string[] = [];
  await slots.acquire(2);
  void slots.acquire(2).then(() => order.push('two'));
  await turn();
  assert.deepEqual(order, []);
  slots.release(1);
  await turn();
  assert.deepEqual(order, ['two']);
});

test('a small request does not overtake a large one that waits', async () => {
  const slots = createSemaphore(4);
  const order: string[] = [];
  await slots.acquire(3);
  void slots.acquire(4).then(() => order.push('large'));
  void slots.acquire(1).then(() => order.push('small'));
  await turn();
  assert.deepEqual(order, []);
  slots.release(3);
  await turn();
  assert.deepEqual(order, ['large']);
  slots.release(4);
  await turn();
  assert.deepEqual(order, ['large', 'small']);
});

test('a request for more slots than there are is refused instead of waiting for ever', async () => {
  const slots = createSemaphore(10);
  await assert.rejects(slots.acquire(11), RangeError);
  await slots.acquire(10);
});

test('whatever comes and goes, the slots taken never exceed the bound and all who wait proceed in order', async () => {
  const requests = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(requests, fc.integer({ min: 5, max: 9 }), async (counts, max) => {
      const slots = createSemaphore(max);
      const admitted: number[] = [];
      let taken = 0;
      const work = counts.map(async (count, position) => {
        await slots.acquire(count);
        admitted.push(position);
        taken += count;
        assert.ok(taken <= max);
        await turn();
        taken -= count;
        slots.release(count);
      });
      await Promise.all(work);
      assert.deepEqual(admitted, [...counts.keys()]);
    }),
    { numRuns: 50 },
  );
});
