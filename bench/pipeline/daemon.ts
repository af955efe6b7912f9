/** The daemon under test, as one process or as one process per role, and its metrics. */

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { LOADER, moduleUrl } from '../../test/support/checkout.ts';

/** The arguments that `npm start` passes to Node.js, and the loader if the bench runs from its sources. */
export const SERVE = ['--max-semi-space-size=64', ...LOADER, fileURLToPath(moduleUrl('src/main')), 'serve'];

export interface Daemon {
  /** By the name of the process in the figures. */
  readonly pids: Readonly<Record<string, number>>;
  readonly readySeconds: number;
  counts(): Promise<Counts>;
  stop(): Promise<void>;
}

/** Counts since the daemon started. */
export interface Counts {
  readonly recorded: number;
  /** Recorded messages that changed something. */
  readonly changed: number;
  /** Matches that began. */
  readonly begun: number;
  readonly deliveries: number;
  readonly delivered: number;
  /** Searches in the index. */
  readonly searches: number;
  /** By number of seconds: recorded batches that took at most this long. */
  readonly batchesWithin: ReadonlyMap<number, number>;
}

export interface DaemonOptions {
  readonly databaseUrl: string;
  readonly natsUrl: string;
  /** Default: all. */
  readonly roles?: string;
  /** Folder for its CPU profile. */
  readonly profile?: string | undefined;
  /** Called with every log line except `starting` and `ready`. */
  readonly onLine: (line: string) => void;
}

/** Starts an intake leader and a courier. Resolves when both are ready. */
export async function startRolesApart(options: DaemonOptions): Promise<Daemon> {
  const intake = await startDaemon({ ...options, roles: 'intake' }, 'intake');
  const courier = await startDaemon({ ...options, roles: 'deliver' }, 'courier');
  return {
    pids: { ...intake.pids, ...courier.pids },
    readySeconds: intake.readySeconds,
    async counts() {
      return { ...(await intake.counts()), delivered: (await courier.counts()).delivered };
    },
    async stop() {
      await Promise.all([intake.stop(), courier.stop()]);
    },
  };
}

/** Resolves when it is ready. */
export async function startDaemon(options: DaemonOptions, name = 'daemon'): Promise<Daemon> {
  const { databaseUrl, natsUrl, roles, profile, onLine } = options;
  const startedAt = performance.now();
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const child = spawn(process.execPath, [...profiling, ...SERVE], {
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      NATS_URL: natsUrl,
      VIGIE_API_ADDRESS: '127.0.0.1:0',
      VIGIE_OPERATIONS_ADDRESS: '127.0.0.1:0',
      VIGIE_ADMIN_ADDRESS: '127.0.0.1:0',
      VIGIE_ALLOW_PRIVATE_ENDPOINTS: 'true',
      ...(roles === undefined ? {} : { VIGIE_ROLES: roles }),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const operationsUrl = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the daemon ended with exit code ${code} before it was ready`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const entry = JSON.parse(line) as { message: string; operations: string };
      if (entry.message === 'ready') resolve(entry.operations);
      else if (entry.message !== 'starting') onLine(line);
    });
  });
  return {
    pids: { [name]: child.pid as number },
    readySeconds: (performance.now() - startedAt) / 1_000,
    counts: () => readCounts(operationsUrl),
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve());
        child.kill('SIGTERM');
      }),
  };
}

async function readCounts(operationsUrl: string): Promise<Counts> {
  const text = await (await fetch(`${operationsUrl}/metrics`)).text();
  const sum = (pattern: RegExp): number =>
    [...text.matchAll(pattern)].reduce((total, line) => total + Number(line[1]), 0);
  return {
    recorded: sum(/^vigie_changes_total\{.*\} (\d+)$/gm),
    changed: sum(/^vigie_changes_total\{outcome="(?:created|changed)"\} (\d+)$/gm),
    begun: sum(/^vigie_matches_total (\d+)$/gm),
    deliveries: sum(/^vigie_deliveries_total (\d+)$/gm),
    searches: sum(/^vigie_searches (\d+)$/gm),
    delivered: sum(/^vigie_delivery_attempts_total\{result="delivered"\} (\d+)$/gm),
    batchesWithin: new Map(
      [...text.matchAll(/^vigie_record_batch_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm)].map(([, le, count]) => [
        le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le),
        Number(count),
      ]),
    ),
  };
}

/** Quantiles of the time to record a batch, in milliseconds, interpolated linearly within a bucket. */
export function batchQuantiles(before: Counts['batchesWithin'], after: Counts['batchesWithin']) {
  const within = [...after].map(([seconds, count]) => [seconds * 1_000, count - (before.get(seconds) ?? 0)] as const);
  const total = within.at(-1)?.[1] ?? 0;
  if (total === 0) return null;
  const at = (share: number): number => {
    let [fromMs, below] = [0, 0];
    for (const [toMs, count] of within) {
      if (count >= share * total)
        return Math.round(fromMs + ((toMs - fromMs) * (share * total - below)) / (count - below));
      [fromMs, below] = [toMs, count];
    }
    return fromMs;
  };
  return { p50: at(0.5), p99: at(0.99), batches: total };
}
