/**
 * Prometheus and promtool from the PATH or, otherwise, from the distribution's package, unpacked into the cache like
 * nats-server.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { succeeds } from '../../src/engine/actor/waiting.ts';
import { cacheEntry, unpackDebianPackages } from '../../src/local/cache.ts';
import { CACHE, type Cleanup } from './servers.ts';

type Program = 'prometheus' | 'promtool';

const PACKAGED = 'usr/bin';

export interface Prometheus {
  /** Values of an instant query; empty if there are none or Prometheus does not answer. */
  query(expression: string): Promise<readonly string[]>;
}

/** Output of promtool for `input` or for the files in `folder`, and whether it succeeded. */
export async function promtool(
  args: readonly string[],
  { folder, input = '' }: { readonly folder?: string; readonly input?: string },
): Promise<{ readonly status: number | null; readonly output: string }> {
  const child = spawn(await programPath('promtool'), args, { cwd: folder, stdio: 'pipe' });
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { status: child.exitCode, output: `${stdout}${stderr}` };
}

async function programPath(program: Program): Promise<string> {
  if (await runs(program)) return program;
  const unpacked = await cacheEntry(
    CACHE,
    `prometheus-${process.arch}`,
    (path) => runs(join(path, PACKAGED, program)),
    (path) => unpackDebianPackages(['prometheus'], path),
  );
  return join(unpacked, PACKAGED, program);
}

const runs = (path: string): Promise<boolean> => succeeds(promisify(execFile)(path, ['--version']));

/** Scrapes `target` every second. `target`: `host:port` of the operations port. */
export async function startPrometheus(cleanup: Cleanup, target: string): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'vigie-prometheus-'));
  const config = join(folder, 'prometheus.yml');
  await writeFile(
    config,
    JSON.stringify({
      global: { scrape_interval: '1s' },
      scrape_configs: [{ job_name: 'vigie', static_configs: [{ targets: [target] }] }],
    }),
  );
  const args = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'tsdb')}`];
  const child = spawn(await programPath('prometheus'), [...args, '--web.listen-address=127.0.0.1:0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  cleanup.after(async () => {
    // Prometheus writes to the folder until it has ended.
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

/** The address at which it listens, from its log. */
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
