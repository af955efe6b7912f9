/**
 * Measures how long a daemon with many saved searches in PostgreSQL takes from its start until it is ready, and its
 * memory then. A daemon is ready when `/readyz`, which is polled, answers 200. The servers are embedded,
 * and the searches are those of the matching benchmark.
 *
 *   npm run bench:loading -- [--searches 1000000] [--starts 3] [--seed 1] [--json]
 *
 * `peakMb` is the daemon's own high-water mark; `residentMb`, taken a few seconds later, includes its children.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { migrate, openDatabase } from '../src/engine/store/database.ts';
import { cacheDirectory } from '../src/local/data-directory.ts';
import { startNatsServer } from '../src/local/nats-server.ts';
import { startPostgres } from '../src/local/postgres.ts';
import { SERVE } from './pipeline/daemon.ts';
import { usageOf } from './pipeline/processes.ts';
import { insertSavedSearches } from './pipeline/saved-searches.ts';
import { SMOKE, sized } from './smoke.ts';

const { values: options } = parseArgs({
  options: {
    ...SMOKE,
    searches: { type: 'string', default: sized('1000000', '1000') },
    starts: { type: 'string', default: sized('3', '1') },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const searchCount = Number(options.searches);

const POLL_MS = 50;
const SETTLE_MS = sized(5_000, 100);

interface Start {
  readonly readySeconds: number;
  readonly peakMb: number;
  readonly residentMb: number;
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'vigie-bench-'));
  const cacheDir = cacheDirectory();
  const serverBin = process.env.NATS_SERVER_BIN ?? null;
  const [postgres, nats] = await Promise.all([
    startPostgres({ dataDir: folder, cacheDir }),
    startNatsServer({ dataDir: folder, cacheDir, serverBin }),
  ]);
  try {
    await fill(postgres.url);
    const starts: Start[] = [];
    while (starts.length < Number(options.starts)) {
      const start = await measureStart(postgres.url, nats.url);
      starts.push(start);
      console.log(
        `ready after ${start.readySeconds.toFixed(1)} s, peak ${start.peakMb.toFixed(0)} MB, ` +
          `then ${start.residentMb.toFixed(0)} MB`,
      );
    }
    const worst = (member: keyof Start): number => Number(Math.max(...starts.map((start) => start[member])).toFixed(1));
    const found = {
      searches: searchCount,
      readySeconds: worst('readySeconds'),
      peakMb: worst('peakMb'),
      residentMb: worst('residentMb'),
    };
    if (options.json) console.log(JSON.stringify(found));
  } finally {
    await Promise.all([postgres.stop(), nats.stop()]);
    await rm(folder, { recursive: true, force: true });
  }
}

async function fill(databaseUrl: string): Promise<void> {
  await migrate(databaseUrl);
  const database = openDatabase({ url: databaseUrl, connectionsMax: 1, onConnectionLost: () => undefined });
  const endpoints = ['https://example.org/hook'];
  await insertSavedSearches(database, {
    count: searchCount,
    seed: Number(options.seed),
    notifyingShare: 0.2,
    endpoints,
  });
  await database.end();
}

async function measureStart(databaseUrl: string, natsUrl: string): Promise<Start> {
  const port = await freePort();
  const startedAt = performance.now();
  const daemon = spawn(process.execPath, SERVE, {
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      NATS_URL: natsUrl,
      VIGIE_API_ADDRESS: '127.0.0.1:0',
      VIGIE_OPERATIONS_ADDRESS: `127.0.0.1:${port}`,
      VIGIE_ADMIN_ADDRESS: '127.0.0.1:0',
      VIGIE_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = once(daemon, 'exit');
  try {
    await untilReady(port, daemon);
    const readySeconds = (performance.now() - startedAt) / 1_000;
    const peakMb = await peakMbOf(daemon.pid as number);
    await wait(SETTLE_MS);
    return { readySeconds, peakMb, residentMb: usageOf(daemon.pid as number).residentMb };
  } finally {
    daemon.kill('SIGTERM');
    await ended;
  }
}

async function untilReady(port: number, daemon: ChildProcess): Promise<void> {
  for (;;) {
    if (daemon.exitCode !== null) throw new Error(`the daemon ended with exit code ${daemon.exitCode} at start-up`);
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
    await answer?.arrayBuffer();
    if (answer?.status === 200) return;
    await wait(POLL_MS);
  }
}

/** VmHWM of proc(5), which is in kibibytes. */
async function peakMbOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** The operations port must be known before the daemon is ready, because `/readyz` is polled from the start. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

await main();
