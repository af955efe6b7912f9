/** An operator pauses intake on all instances with `vigie admin`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runVigie, startDaemon } from '../support/daemon.ts';
import { type OperatorScene, startDaemonScene } from '../support/operator-scene.ts';
import { until } from '../support/until.ts';

test('a pause applies to every instance and survives the restart of one', async (t) => {
  const scene = await startDaemonScene(t);
  const { servers, daemon, receiver } = scene;
  await startDaemon(t, servers);
  const admin = adminOf(scene);
  await until(
    () => admin('status'),
    ({ instances }) =>
      instances.length === 2 &&
      instances.filter(({ leadsIntake }: { leadsIntake: boolean }) => leadsIntake).length === 1,
  );
  const drained = await admin('stages', 'drain', 'intake');
  assert.equal(drained.state, 'paused');
  assert.equal(drained.instanceCount, 2);

  await daemon.end('SIGKILL');
  const next = await startDaemon(t, servers);
  await scene.publishAdverts(2);
  const nextAdmin = adminOf({ ...scene, daemon: next });
  const { stages, streams } = await nextAdmin('status');
  assert.equal(stages[0].state, 'paused');
  assert.equal(Number(streams[0].pendingCount), 2, 'no instance has pulled the messages');
  await nextAdmin('stages', 'resume', 'intake');
  await receiver.until((posts) => posts.length === 2);
});

/** Runs `vigie admin … --json` as an operator would, and parses its output. */
function adminOf({ servers, daemon }: OperatorScene) {
  // oxlint-disable-next-line typescript/no-explicit-any -- a script sees JSON
  return async (...args: string[]): Promise<any> => {
    const { code, stdout, stderr } = await runVigie(
      ['admin', ...args, '--json', '--address', daemon.adminAddress],
      servers,
    );
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
}
