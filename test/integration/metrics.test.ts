/** Metrics and readiness of a live service, checked with promtool (see also `test/long/monitoring.test.ts`). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricOf, readinessOf, startScene } from '../support/operator-scene.ts';
import { promtool } from '../support/prometheus.ts';
import { restClient } from '../support/rest-client.ts';
import { startTestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until, untilIs } from '../support/until.ts';

test('promtool accepts the live metrics, which count a delivery as failed until it has been sent again', async (t) => {
  const { daemon, key, receiver, publishAdverts } = await startScene(t, { VIGIE_RETRY_DELAY_MS: '50' });
  receiver.script('/hook', { type: 'answer', status: 500 });
  await publishAdverts(1);
  await untilIs(() => metricOf(daemon, 'vigie_deliveries_exhausted_total'), 1);
  await untilIs(() => metricOf(daemon, 'vigie_failed_deliveries'), 1);
  const exposition = await (await fetch(`${daemon.operationsUrl}/metrics`)).text();
  assert.deepEqual(await promtool(['check', 'metrics'], { input: exposition }), { status: 0, output: '' });
  receiver.script('/hook', { type: 'answer', status: 200 });
  await restClient(daemon, key).request('POST', `/deliveries/${receiver.posts[0]?.id}/resend`);
  await untilIs(() => metricOf(daemon, 'vigie_failed_deliveries'), 0);
});

test('readiness lists each check, and reports when PostgreSQL is unavailable', async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startHere(t, servers);
  // On a busy machine, a check may have no result in time.
  const { text, checks } = await until(
    () => readinessOf(daemon),
    ({ status }) => status === 200,
  );
  assert.equal(JSON.parse(text).status, 'ok');
  const names = ['actors', 'clocks', 'index', 'intake', 'nats', 'postgresql', 'progress', 'room', 'started', 'streams'];
  assert.deepEqual(Object.keys(checks).sort(), names);

  await servers.postgres.kill();
  const away = await until(
    () => readinessOf(daemon),
    (seen) => seen.status === 503,
  );
  assert.equal(JSON.parse(away.text).status, 'unavailable');
  assert.equal(away.checks.postgresql?.status, 'failed');
  assert.equal(away.checks.nats?.status, 'ok');
  for (const path of ['healthz', 'metrics'])
    assert.equal((await fetch(`${daemon.operationsUrl}/${path}`)).status, 200, 'the process is alive and has metrics');
  const failing = await until(
    () => readinessOf(daemon),
    // Other actors that have failed for as long may be named before the matcher.
    (seen) => /matcher for \d+ s: /.test(seen.checks.actors?.reason ?? ''),
  );
  assert.equal(failing.checks.actors?.status, 'failed');
  await servers.postgres.restart();
  await untilIs(async () => (await readinessOf(daemon)).status, 200);
});
