/** Waiting ends when it should: on a signal, at a deadline, after a pause, or when work in flight ends. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  nullIfAbandoned,
  retryUntilAborted,
  retryUntilDone,
  transientErrorWatch,
} from '../src/engine/actor/supervisor.ts';
import { endsWithin, InFlight, inTime, oncePerTick, pause, rested, Signal } from '../src/engine/actor/waiting.ts';

/** Longer than any test. */
const LONG_MS = 2 ** 30;

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A promise that the test settles. */
function promised<T>() {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((...settle) => {
    [resolve, reject] = settle;
  });
  return { promise, resolve, reject };
}

test('a signal wakes all current waiters, and no later ones', async () => {
  const wakeUp = new Signal();
  const heard: string[] = [];
  wakeUp.notify();
  void wakeUp.wait(LONG_MS).then(() => heard.push('first'));
  void wakeUp.wait().then(() => heard.push('second'));
  await settled();
  assert.deepEqual(heard, []);
  wakeUp.notify();
  await settled();
  assert.deepEqual(heard, ['first', 'second']);
});

test('a wait for a signal ends at its time limit', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const wakeUp = new Signal();
  let isOver = false;
  void wakeUp.wait(1_000).then(() => {
    isOver = true;
  });
  context.mock.timers.tick(999);
  await settled();
  assert.equal(isOver, false);
  context.mock.timers.tick(1);
  await settled();
  assert.equal(isOver, true);
  await wakeUp.wait(0);
});

test('a pause ends when its signal is aborted', async () => {
  const stopping = new AbortController();
  const paused = pause(LONG_MS, stopping.signal);
  stopping.abort();
  await paused;
  await pause(LONG_MS, stopping.signal);
  assert.equal(await rested(async () => 'done', LONG_MS, stopping.signal), 'done');
});

test('work requested many times in one tick is done once, after the tick', async () => {
  let done = 0;
  const work = oncePerTick(() => {
    done += 1;
  });
  work();
  work();
  assert.equal(done, 0);
  await settled();
  assert.equal(done, 1);
  work();
  await settled();
  assert.equal(done, 2);
});

test('work that ended in time counts as ended, whether it succeeded or failed', async () => {
  assert.equal(await endsWithin(Promise.resolve(), LONG_MS), true);
  assert.equal(await endsWithin(Promise.reject(new Error('gone')), LONG_MS), true);
  assert.equal(await endsWithin(promised().promise, 1), false);
  assert.equal(await inTime(Promise.resolve('done'), LONG_MS, Error), 'done');
  await assert.rejects(
    inTime(Promise.reject(new Error('gone')), LONG_MS, () => new Error('late')),
    /gone/,
  );
  await assert.rejects(
    inTime(promised().promise, 1, () => new Error('late')),
    /late/,
  );
});

test('waiting for work in progress includes work that is added in the meantime', async () => {
  const inFlight = new InFlight();
  await inFlight.oneEnded();
  await inFlight.ended();
  const [first, second, late] = [promised<void>(), promised<void>(), promised<void>()];
  inFlight.add(first.promise);
  inFlight.add(second.promise);
  let hasEnded = false;
  const ended = inFlight.ended().then(() => {
    hasEnded = true;
  });
  const oneEnded = inFlight.oneEnded();
  first.resolve();
  await oneEnded;
  assert.equal(inFlight.count, 1);
  inFlight.add(late.promise);
  second.resolve();
  await settled();
  assert.equal(hasEnded, false);
  late.resolve();
  await ended;
  assert.equal(inFlight.count, 0);
});

test('when no time is left, work is tried once more and then given up', async () => {
  const stopping = new AbortController();
  const transientErrors: string[] = [];
  const watch = transientErrorWatch('work', (what, { message }) => transientErrors.push(`${what}: ${message}`));
  const work = retryUntilDone(() => Promise.reject(new Error('away')), watch, retryUntilAborted(stopping.signal));
  await settled();
  stopping.abort();
  assert.equal(await work.catch(nullIfAbandoned), null);
  assert.deepEqual(transientErrors, ['work: away', 'work: away']);
  await assert.rejects(Promise.reject(new Error('a bug')).catch(nullIfAbandoned), /a bug/);
});
