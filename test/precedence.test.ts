/** Those who answer one client make way for what everyone waits for. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextLook } from 'node:timers/promises';
import { createCourtesy, goingFirst } from '../src/actor/precedence.ts';
import { createWorkSlices, type WorkSlices } from '../src/actor/work-slices.ts';

const LONG_MS = 3_600_000;

/** Work that ends when it is told to. */
function openWork() {
  let end = (): void => undefined;
  let fail: (error: Error) => void = () => undefined;
  const done = new Promise<void>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  return { work: () => done, end, fail };
}

test('nobody waits when nothing goes first', async () => {
  await createCourtesy(LONG_MS).stepAside();
});

test('who steps aside goes on when the last that goes first has ended, failed ones included', async () => {
  const [first, second] = [openWork(), openWork()];
  const recorded = goingFirst(first.work);
  const failed = goingFirst(second.work);
  let hasGoneOn = false;
  const aside = createCourtesy(LONG_MS)
    .stepAside()
    .then(() => {
      hasGoneOn = true;
    });
  first.end();
  await recorded;
  await nextLook();
  assert.equal(hasGoneOn, false);
  second.fail(new Error('broken'));
  await assert.rejects(failed, /broken/);
  await aside;
  assert.equal(hasGoneOn, true);
});

test('who has waited for long enough goes on while others still go first', async () => {
  const lasting = openWork();
  const recorded = goingFirst(lasting.work);
  const courtesy = createCourtesy(1);
  await courtesy.stepAside();
  await courtesy.stepAside();
  lasting.end();
  await recorded;
});

test('who steps aside between two slices of work keeps nobody waiting who does not', async () => {
  const lasting = openWork();
  const recorded = goingFirst(lasting.work);
  let nowMs = 0;
  const [polite, other] = [{ courtesy: createCourtesy(LONG_MS) }, {}].map((options) =>
    createWorkSlices({ nowMs: () => nowMs, ...options }),
  ) as [WorkSlices, WorkSlices];
  nowMs = 5;
  let hasGoneOn = false;
  const aside = polite.take()?.then(() => {
    hasGoneOn = true;
  });
  await other.take();
  assert.equal(hasGoneOn, false);
  lasting.end();
  await Promise.all([aside, recorded]);
});
