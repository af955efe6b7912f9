/** Alert rules and dashboards, checked by the tools that load them: promtool, and Prometheus on the demonstration. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { LOADER, moduleUrl, ROOT } from '../support/checkout.ts';
import { endProcess, promtool, startPrometheus } from '../support/prometheus.ts';
import { RECOVERY_MAX_MS, until } from '../support/until.ts';

const FOLDER = join(ROOT, 'config/prometheus/');

for (const args of [
  ['check', 'config', 'prometheus.yml'],
  ['check', 'rules', 'alerts.yml'],
  ['test', 'rules', 'alerts.test.yml'],
]) {
  test(`promtool ${args.join(' ')} finds no fault`, async () => {
    const { status, output } = await promtool(args, { folder: FOLDER });
    assert.equal(status, 0, output);
  });
}

test('every query of the dashboards returns data in the demonstration', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'vigie-dashboard-'));
  const demo = startDemo(folder);
  t.after(async () => {
    // The demonstration writes to the folder until it has ended.
    await endProcess(demo, 'SIGINT');
    await rm(folder, { recursive: true, force: true });
  });
  const { apiUrl, operationsHost } = await addressesOf(demo);
  const prometheus = await startPrometheus(t, operationsHost);
  for (const query of await dashboardQueries()) {
    await until(
      async () => {
        // Simulates use of the API, which the demonstration calls only at its start.
        await fetch(apiUrl).catch(() => undefined);
        return { query, values: await prometheus.query(query) };
      },
      // NaN is a quotient or quantile of a series that has not changed yet.
      ({ values }) => values.some((value) => value !== 'NaN'),
      RECOVERY_MAX_MS,
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

/** Resolves with the addresses that the demonstration reports. */
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

interface Panel {
  readonly targets?: readonly { readonly expr: string }[];
}

async function panelsOf(dashboard: string): Promise<readonly Panel[]> {
  const text = await readFile(join(ROOT, 'config/grafana', dashboard), 'utf8');
  return (JSON.parse(text) as { panels: Panel[] }).panels;
}

async function dashboardQueries(): Promise<readonly string[]> {
  const panels = await Promise.all(['vigie.json', 'vigie-details.json'].map(panelsOf));
  const queries = panels.flat().flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  return queries.map((expr) => expr.replaceAll('$__rate_interval', '1m'));
}
