/** What is done again and again is done when its time has come or somebody asks, never twice at once, whatever fails. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startTask, type Task, type TaskOptions } from '../src/engine/actor/task.ts';

interface Run {
  readonly succeed: (restMs?: number) => void;
  readonly fail: (error: Error) => void;
  readonly stopping: AbortSignal;
}

interface Scene {
  readonly task: Task;
  /** Each ends when the test says so. */
  readonly runs: Run[];
  readonly transientErrors: string[];
}

/** Done only when asked for, unless said. */
function openScene(options: Partial<TaskOptions> = {}): Scene {
  const runs: Run[] = [];
  const transientErrors: string[] = [];
  const task = startTask({
    what: 'something',
    everyMs: Number.POSITIVE_INFINITY,
    work: (stopping) =>
      new Promise((resolve, fail) => runs.push({ succeed: (restMs) => resolve(restMs), fail, stopping })),
    onTransientError: (what, error) => transientErrors.push(`${what}: ${error.message}`),
    ...options,
  });
  return { task, runs, transientErrors };
}

/** Everything that has nothing to wait for is done. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The clock stands still until it is told; what is due at once is done. */
function stopClock({ mock }: TestContext): (durationMs: number) => Promise<void> {
  mock.timers.enable({ apis: ['setTimeout'] });
  return async (durationMs) => {
    mock.timers.tick(durationMs);
    await settled();
  };
}

test('asked during a run, it runs once more, however often it was asked', async () => {
  const { task, runs } = openScene();
  task.ask();
  await settled();
  task.ask();
  task.ask();
  await settled();
  assert.equal(runs.length, 1);
  runs[0]?.succeed();
  await settled();
  assert.equal(runs.length, 2);
  runs[1]?.succeed();
  await settled();
  assert.equal(runs.length, 2);
  await task.stop();
});

test('it runs when its time has come, and passes over the times that come during a run', async (context) => {
  const pass = stopClock(context);
  const { task, runs } = openScene({ everyMs: 1_000 });
  await pass(999);
  assert.equal(runs.length, 0);
  await pass(1);
  assert.equal(runs.length, 1);
  await pass(5_000);
  assert.equal(runs.length, 1);
  runs[0]?.succeed();
  await settled();
  await pass(1_000);
  assert.equal(runs.length, 2);
  runs[1]?.succeed();
  await task.stop();
});

test('due at once, it runs at once; a run may say how long to rest after it', async (context) => {
  const pass = stopClock(context);
  const { task, runs } = openScene({ everyMs: 1_000, isDueAtOnce: true });
  await settled();
  assert.equal(runs.length, 1);
  runs[0]?.succeed(60_000);
  await settled();
  await pass(59_999);
  assert.equal(runs.length, 1);
  await pass(1);
  assert.equal(runs.length, 2);
  runs[1]?.succeed(0);
  await settled();
  assert.equal(runs.length, 3);
  runs[2]?.succeed();
  await task.stop();
});

test('a failed run is reported, and the next run starts', async () => {
  const { task, runs, transientErrors } = openScene();
  task.ask();
  await settled();
  runs[0]?.fail(new Error('gone'));
  await settled();
  assert.deepEqual(transientErrors, ['something: gone']);
  task.ask();
  await settled();
  assert.equal(runs.length, 2);
  runs[1]?.succeed();
  await task.stop();
});

test('a caller waits for a run that began after its request, and receives its failure', async () => {
  const { task, runs } = openScene();
  const heard: string[] = [];
  task.ask();
  await settled();
  void task.run().then(() => heard.push('second'));
  runs[0]?.succeed();
  await settled();
  assert.deepEqual(heard, []);
  const third = task.run();
  runs[1]?.succeed();
  await settled();
  assert.deepEqual(heard, ['second']);
  runs[2]?.fail(new Error('gone'));
  await assert.rejects(third, /gone/);
  await task.stop();
});

test('stopped, it ends the run under way and makes no other', async () => {
  const { task, runs } = openScene();
  task.ask();
  await settled();
  const asked = task.run();
  const stopped = task.stop();
  assert.equal(runs[0]?.stopping.aborted, true);
  runs[0]?.succeed();
  await stopped;
  await asked;
  await task.run();
  task.ask();
  await settled();
  assert.equal(runs.length, 1);
});

test('stopped while it rests, it ends at once', async () => {
  const { task, runs } = openScene({ everyMs: 2 ** 30 });
  await task.stop();
  assert.equal(runs.length, 0);
});
