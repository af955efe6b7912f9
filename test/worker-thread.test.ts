/** A worker thread answers requests, ends cancelled ones, and a failure costs only the requests in progress. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { createWorkerThread, WorkerLostError, type WorkerThread } from '../src/engine/actor/worker-thread.ts';
import { LOADER, moduleUrl } from './support/checkout.ts';
import type { CountingRequest } from './support/counting-thread.ts';

interface Counting extends Pick<WorkerThread, 'stop'> {
  readonly lost: Error[];
  ask(request: CountingRequest, signal?: AbortSignal): Promise<unknown>;
}

function startCounting(t: TestContext): Counting {
  const lost: Error[] = [];
  const entry = new URL('./support/counting-thread', import.meta.url);
  const onLost = (error: Error) => void lost.push(error);
  const thread = createWorkerThread({ entry, settings: { answer: 42 }, heapMaxMb: 64, onLost });
  t.after(thread.stop);
  return { lost, ask: thread.ask, stop: thread.stop };
}

test('one thread answers all requests, and has its settings', async (t) => {
  const { ask, lost } = startCounting(t);
  const [first, second, settings] = await Promise.all([ask('thread'), ask('thread'), ask('settings')]);
  assert.equal(first, second);
  assert.notEqual(first, 0);
  assert.deepEqual(settings, { answer: 42 });
  assert.deepEqual(lost, []);
});

test('a request that fails reports why, and is the only one that fails', async (t) => {
  const { ask, lost } = startCounting(t);
  const failed = assert.rejects(ask('fail'), { message: 'a statement failed', code: '57014' });
  assert.equal(typeof (await ask('thread')), 'number');
  await failed;
  assert.deepEqual(lost, []);
});

for (const what of ['count for ever', 'wait for ever'] as const) {
  test(`a cancelled request to ${what} ends, and others are answered before and after`, async (t) => {
    const { ask } = startCounting(t);
    const leaving = new AbortController();
    const asked = ask(what, leaving.signal);
    const thread = await ask('thread');
    leaving.abort(new Error('left'));
    await assert.rejects(asked, /^Error: left$/);
    assert.equal(await ask('thread'), thread);
  });
}

test('a request that is cancelled before it is sent is not sent', async (t) => {
  const { ask } = startCounting(t);
  await assert.rejects(ask('exit', AbortSignal.abort(new Error('left'))), /^Error: left$/);
  assert.equal(typeof (await ask('thread')), 'number');
});

for (const what of ['throw', 'exit'] as const) {
  test(`a thread that fails (${what}) fails the requests in progress, and the next request starts another`, async (t) => {
    const { ask, lost } = startCounting(t);
    const first = await ask('thread');
    const waiting = assert.rejects(ask('wait for ever'), WorkerLostError);
    await assert.rejects(ask(what), WorkerLostError);
    await waiting;
    assert.notEqual(await ask('thread'), first);
    assert.equal(lost.length, 1);
  });
}

test('a stopped thread answers no requests, and is not reported as lost', async (t) => {
  const { ask, lost, stop } = startCounting(t);
  await ask('thread');
  const waiting = assert.rejects(ask('wait for ever'), WorkerLostError);
  await stop();
  await waiting;
  await assert.rejects(ask('thread'), WorkerLostError);
  assert.deepEqual(lost, []);
});

test('a thread without requests does not keep the process alive', async () => {
  const script = `
    import { createWorkerThread } from '${moduleUrl('src/engine/actor/worker-thread')}';
    const entry = new URL('file://${import.meta.dirname}/support/counting-thread');
    const thread = createWorkerThread({ entry, settings: null, heapMaxMb: 64, onLost: () => undefined });
    await thread.ask('thread');
  `;
  const child = spawn(process.execPath, [...LOADER, '--input-type=module', '--eval', script], {
    stdio: 'inherit',
  });
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});
