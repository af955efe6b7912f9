/** An operator's story: an endpoint fails for a while, and everything that it missed is sent once it works again. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Daemon, runVigie, startDaemon } from '../support/daemon.ts';
import { metricOf, type OperatorScene, startDaemonScene } from '../support/operator-scene.ts';
import { startPrometheus } from '../support/prometheus.ts';
import type { Cleanup } from '../support/servers.ts';
import { RECOVERY_MAX_MS, until, untilIs } from '../support/until.ts';

test('after an outage a recovery sends exactly the missing deliveries, under their own ids', async (t) => {
  const scene = await startDaemonScene(t, { VIGIE_RETRY_DELAY_MS: '100' });
  const { daemon, receiver, search } = scene;
  const admin = adminOf(scene);
  const alarm = await alarmOf(t, daemon);

  await scene.publishAdverts(3);
  await receiver.until((posts) => posts.filter(({ status }) => status === 200).length === 3);

  receiver.script('/hook', { type: 'answer', status: 500, body: 'database of the client is full' });
  const missedProperties = await scene.publishAdverts(4);

  await alarm.rings();
  await untilIs(() => metricOf(daemon, 'vigie_deliveries_exhausted_total'), 4);

  const { deliveries: failed } = await admin(
    'deliveries',
    'list',
    '--state',
    'failed',
    '--endpoint',
    receiver.urlOf('/hook'),
  );
  assert.equal(failed.length, 4);
  for (const { clientName, searchTitle, lastError } of failed)
    assert.deepEqual([clientName, searchTitle, lastError], ['tests', 'Toulon', 'HTTP status 500']);
  assert.deepEqual(new Set(failed.map(({ property }: Named) => idOf(property))), new Set(missedProperties));

  const explained = await admin('explain', search.id, missedProperties[0] as string);
  assert.equal(explained.satisfied, true);
  const missed = await admin('deliveries', 'show', idOf(explained.deliveries[0]));
  assert.deepEqual([missed.state, missed.attemptCount, missed.lastError], ['failed', 6, 'HTTP status 500']);

  receiver.script('/hook', { type: 'answer', status: 200 });
  await scene.publishAdverts(1);
  await receiver.until((posts) => posts.filter(({ status }) => status === 200).length === 4);
  const postCount = receiver.posts.length;
  const failedIds = failed.map(({ name }: Named) => idOf(name)).sort();

  const of = ['--client', idOf(failed[0].client), '--search', search.id, '--since', '1h'];
  const preview = await admin('recoveries', 'start', ...of, '--dry-run');
  assert.equal(preview.matchedCount, 4);
  assert.equal(receiver.posts.length, postCount, 'a dry run sends nothing');

  await admin('recoveries', 'start', ...of, '--watch');
  await receiver.until((posts) => posts.length === postCount + 4);
  const resent = receiver.posts.slice(postCount);
  assert.deepEqual(resent.map(({ id }) => id).sort(), failedIds);
  for (const { id, body } of resent)
    assert.deepEqual(body, receiver.postsOf(id)[0]?.body, 'the bytes of the first attempt');

  await untilIs(() => metricOf(daemon, 'vigie_failed_deliveries'), 0);
  const accepted = receiver.posts.filter(({ status }) => status === 200).map(({ id }) => id);
  assert.equal(new Set(accepted).size, accepted.length, 'nothing was accepted twice');
  assert.equal(accepted.length, 8);

  const delivery = await until(
    () => admin('deliveries', 'show', failedIds[0] as string),
    ({ state }) => state === 'delivered',
  );
  assert.equal(delivery.attempts.length, 7);
  assert.equal(delivery.attemptCount, 1, 'of the new series');
  assert.equal(delivery.replayCount, 1);
  const again = await admin('recoveries', 'start', ...of, '--dry-run');
  assert.equal(again.matchedCount ?? 0, 0);
});

test('a pause applies to every instance and survives their restarts', async (t) => {
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
  assert.equal(Number(streams[0].pendingCount), 2, 'nobody has pulled');
  await nextAdmin('stages', 'resume', 'intake');
  await receiver.until((posts) => posts.length === 2);
});

/** The committed alert rule, evaluated by a real Prometheus on the daemon's metrics. */
async function alarmOf(cleanup: Cleanup, daemon: Daemon): Promise<{ rings(): Promise<void> }> {
  const prometheus = await startPrometheus(cleanup, new URL(daemon.operationsUrl).host);
  await until(
    () => prometheus.query('vigie_deliveries_exhausted_total'),
    ([count]) => count === '0',
  );
  assert.deepEqual(await prometheus.alerts(), []);
  return {
    async rings() {
      const alerts = await until(
        () => prometheus.alerts(),
        (raised) => raised.some(({ labels }) => labels.alertname === 'VigieDeliveriesExhausted'),
        RECOVERY_MAX_MS,
      );
      const [alert] = alerts.filter(({ labels }) => labels.alertname === 'VigieDeliveriesExhausted');
      assert.equal(alert?.state, 'firing');
      assert.match(alert?.annotations.summary ?? '', /deliveries have used up their attempts/);
      // The operator's next command, word for word.
      assert.match(alert?.annotations.action ?? '', /^List them with vigie admin deliveries list --state failed\. /);
    },
  };
}

interface Named {
  readonly name: string;
  readonly property: string;
}

function idOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

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
