/** A real Prometheus that scrapes one daemon, where it is installed. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Cleanup } from './servers.ts';

/** What `skip` of a test takes. */
export const PROMETHEUS_MISSING =
  spawnSync('prometheus', ['--version']).status === 0 ? false : 'prometheus is not installed here';

/** As committed, `for` and all. */
const RULES = fileURLToPath(new URL('../../config/prometheus/alerts.yml', import.meta.url));

export interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: 'pending' | 'firing';
}

export interface Prometheus {
  /** The values of an instant query; empty while there are none or nobody answers. */
  query(expression: string): Promise<readonly string[]>;
  alerts(): Promise<readonly Alert[]>;
}

/** Scrapes and judges the committed rules every second. `target`: `host:port` of the operations port. */
export async function startPrometheus(cleanup: Cleanup, target: string): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'vigie-prometheus-'));
  const config = join(folder, 'prometheus.yml');
  await writeFile(
    config,
    JSON.stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [RULES],
      scrape_configs: [{ job_name: 'vigie', static_configs: [{ targets: [target] }] }],
    }),
  );
  const args = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'tsdb')}`];
  const child = spawn('prometheus', [...args, '--web.listen-address=127.0.0.1:0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  cleanup.after(async () => {
    // It writes to the folder until it has ended.
    await endProcess(child, 'SIGTERM');
    await rm(folder, { recursive: true, force: true });
  });
  const address = await addressOf(child);
  return {
    async query(expression) {
      const answer = await read<{ result: { value: [number, string] }[] }>(
        `http://${address}/api/v1/query?query=${encodeURIComponent(expression)}`,
      );
      return (answer?.result ?? []).map(({ value }) => value[1]);
    },
    async alerts() {
      return (await read<{ alerts: Alert[] }>(`http://${address}/api/v1/alerts`))?.alerts ?? [];
    },
  };
}

async function read<T>(url: string): Promise<T | null> {
  const answer = await fetch(url)
    .then((response) => response.json())
    .catch(() => null);
  return (answer as { data?: T } | null)?.data ?? null;
}

export async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null;
  child.kill(signal);
  await exited;
}

/** Where its log says that it listens. */
function addressOf(prometheus: ChildProcess): Promise<string> {
  let log = '';
  return new Promise((resolve, reject) => {
    prometheus.once('exit', (code) => reject(new Error(`prometheus ended with ${code}: ${log}`)));
    prometheus.stderr?.on('data', (chunk) => {
      log += chunk;
      const address = /msg="Listening on".*?address=(\S+)/.exec(log)?.[1];
      if (address !== undefined) resolve(address);
    });
  });
}
