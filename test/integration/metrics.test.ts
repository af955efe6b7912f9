/** The metrics and the dashboard against the real tools: promtool on a live daemon, Prometheus on the demonstration. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { LOADER, moduleUrl, ROOT } from '../support/checkout.ts';
import { startDaemon } from '../support/daemon.ts';
import { endProcess, promtool, startPrometheus } from '../support/prometheus.ts';
import { startTestServers } from '../support/servers.ts';
import { until } from '../support/until.ts';

test('promtool finds nothing to complain about in the live metrics', async (t) => {
  const daemon = await startDaemon(t, await startTestServers(t));
  const exposition = await (await fetch(`${daemon.operationsUrl}/metrics`)).text();
  assert.deepEqual(await promtool(['check', 'metrics'], { input: exposition }), { status: 0, output: '' });
});

test('readiness names each check, and says so when PostgreSQL is away', async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startDaemon(t, servers);
  const read = async (path: string) => {
    const response = await fetch(`${daemon.operationsUrl}${path}`);
    return {
      status: response.status,
      body: (await response.json()) as { checks: Record<string, { status: string; reason?: string }> },
    };
  };
  const { status, body } = await read('/readyz');
  assert.equal(status, 200);
  const checks = ['actors', 'clocks', 'index', 'intake', 'nats', 'postgresql', 'progress', 'started', 'streams'];
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
    // Others that have failed as long may be named before it.
    (seen) => /matcher for \d+ s: /.test(seen.body.checks.actors?.reason ?? ''),
  );
  assert.equal(failing.body.checks.actors?.status, 'failed');
  await servers.postgres.restart();
  await until(
    () => read('/readyz'),
    (seen) => seen.status === 200,
  );
});

test('every query of the dashboard returns data in the demonstration', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'vigie-dashboard-'));
  const demo = startDemo(folder);
  t.after(async () => {
    // It writes to the folder until it has ended.
    await endProcess(demo, 'SIGINT');
    await rm(folder, { recursive: true, force: true });
  });
  const { apiUrl, operationsHost } = await addressesOf(demo);
  const prometheus = await startPrometheus(t, operationsHost);
  for (const query of await dashboardQueries()) {
    await until(
      async () => {
        // Somebody uses the API: the demonstration does so at its start alone.
        await fetch(apiUrl).catch(() => undefined);
        return { query, values: await prometheus.query(query) };
      },
      // NaN: a quotient or quantile of a series that has not moved yet.
      ({ values }) => values.some((value) => value !== 'NaN'),
    );
  }
});

function startDemo(folder: string): ChildProcess {
  return spawn(process.execPath, [...LOADER, fileURLToPath(moduleUrl('src/main')), 'demo'], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH ?? '',
      ...(process.env.NATS_SERVER_BIN === undefined ? {} : { NATS_SERVER_BIN: process.env.NATS_SERVER_BIN }),
      VIGIE_DATA_DIR: join(folder, 'demo'),
      VIGIE_OPERATIONS_ADDRESS: '127.0.0.1:0',
      VIGIE_API_ADDRESS: '127.0.0.1:0',
      VIGIE_ADMIN_ADDRESS: '127.0.0.1:0',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

/** Where the demonstration says that it listens. */
function addressesOf(demo: ChildProcess): Promise<{ readonly apiUrl: string; readonly operationsHost: string }> {
  let shown = '';
  return new Promise((resolve, reject) => {
    demo.once('exit', (code) => reject(new Error(`the demonstration ended with ${code}: ${shown}`)));
    demo.stdout?.on('data', (chunk) => {
      shown += chunk;
      const apiUrl = /^ *API +(\S+)$/m.exec(shown)?.[1];
      const operationsHost = /metrics http:\/\/(\S+)\/metrics$/m.exec(shown)?.[1];
      if (apiUrl !== undefined && operationsHost !== undefined) resolve({ apiUrl, operationsHost });
    });
  });
}

async function dashboardQueries(): Promise<readonly string[]> {
  const panels = await Promise.all(['vigie.json', 'vigie-details.json'].map(readPanels));
  const queries = panels.flat().flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  return queries.map((expr) => expr.replaceAll('$__rate_interval', '1m'));
}

interface Panel {
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string }[];
  readonly fieldConfig?: { readonly defaults: { readonly thresholds?: { readonly steps: readonly unknown[] } } };
}

async function readPanels(name: string): Promise<readonly Panel[]> {
  const text = await readFile(join(ROOT, 'config/grafana', name), 'utf8');
  return (JSON.parse(text) as { panels: Panel[] }).panels;
}

test('the first dashboard has twelve panels, each with a sentence and thresholds', async () => {
  const panels = await readPanels('vigie.json');
  assert.equal(panels.length, 12);
  for (const { description = '', fieldConfig } of panels) {
    assert.match(description, /^[A-Z].*[.?]$/);
    assert.ok((fieldConfig?.defaults.thresholds?.steps.length ?? 0) > 0, description);
  }
});
