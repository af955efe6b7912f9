/** Repeated work runs when it is due or requested, never twice at once, and also after a run has failed. */

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
  /** Each run ends when the test ends it. */
  readonly runs: Run[];
  readonly transientErrors: string[];
}

/** By default, the task runs only on request. */
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

/** Resolves when all work that is not waiting is done. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Stops the clock. The returned function advances it, and resolves when all work due at that time is done. */
function stopClock({ mock }: TestContext): (durationMs: number) => Promise<void> {
  mock.timers.enable({ apis: ['setTimeout'] });
  return async (durationMs) => {
    mock.timers.tick(durationMs);
    await settled();
  };
}

test('a task requested during its run runs once more, for any number of requests', async () => {
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

test('a task runs on schedule, and skips times that pass during a run', async (context) => {
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

test('a task that is due at its start runs at once, and a run can set the pause after it', async (context) => {
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

test('a failed run is reported, and a later request starts another', async () => {
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

test('a stopped task aborts its current run and starts no other', async () => {
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

test('a task stopped while it rests ends at once', async () => {
  const { task, runs } = openScene({ everyMs: 2 ** 30 });
  await task.stop();
  assert.equal(runs.length, 0);
});
