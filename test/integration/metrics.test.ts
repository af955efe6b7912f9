/**
 * Metrics and readiness of a live service, checked with promtool, and the dashboards (see also
 * `test/long/monitoring.test.ts`).
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricOf, startScene } from '../support/operator-scene.ts';
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
  const read = async (path: string) => {
    const response = await fetch(`${daemon.operationsUrl}${path}`);
    return {
      status: response.status,
      body: (await response.json()) as { checks: Record<string, { status: string; reason?: string }> },
    };
  };
  const { status, body } = await read('/readyz');
  assert.equal(status, 200);
  const checks = [
    'actors',
    'clocks',
    'index',
    'intake',
    'nats',
    'postgresql',
    'progress',
    'room',
    'started',
    'streams',
  ];
  assert.deepEqual(Object.keys(body.checks).sort(), checks);

  await servers.postgres.kill();
  const away = await until(
    () => read('/readyz'),
    (seen) => seen.status === 503,
  );
  assert.equal(away.body.checks.postgresql?.status, 'failed');
  assert.equal(away.body.checks.nats?.status, 'ok');
  assert.equal((await read('/healthz')).status, 200, 'alive all the same');
  const { status: scraped } = await fetch(`${daemon.operationsUrl}/metrics`);
  assert.equal(scraped, 200, 'metrics are there when they are needed most');
  const failing = await until(
    () => read('/readyz'),
    // Other actors that have failed for as long may be named before it.
    (seen) => /matcher for \d+ s: /.test(seen.body.checks.actors?.reason ?? ''),
  );
  assert.equal(failing.body.checks.actors?.status, 'failed');
  await servers.postgres.restart();
  await untilIs(async () => (await read('/readyz')).status, 200);
});
