/** Measures the cost of a queue while a process empties it. */

import type { ChildProcess } from 'node:child_process';
import { until } from '../../test/support/until.ts';
import { usageOf } from '../pipeline/processes.ts';
import { figuresOf, type Scene } from './scene.ts';

export interface Throughput {
  readonly tookMs: number;
  readonly perSecond: number;
  /** CPU of the process and of PostgreSQL, in microseconds per delivery. */
  readonly workerMicros: number;
  readonly postgresMicros: number;
}

/** Measures from now until `worker` has made `count` attempts since its start. */
export async function measureThroughput(
  { postgresPid }: Scene,
  worker: ChildProcess,
  count: number,
): Promise<Throughput> {
  const cpuSeconds = () => [worker.pid as number, postgresPid].map((pid) => usageOf(pid).cpuSeconds);
  const startedAt = performance.now();
  const { attempts: early } = await figuresOf(worker);
  const before = cpuSeconds();
  await until(
    async () => (await figuresOf(worker)).attempts,
    (attempts) => attempts >= count,
    300_000,
  );
  const tookMs = performance.now() - startedAt;
  const after = cpuSeconds();
  const [workerMicros = 0, postgresMicros = 0] = after.map((seconds, of) =>
    Math.round((1e6 * (seconds - (before[of] as number))) / (count - early)),
  );
  return { tookMs, perSecond: (1_000 * (count - early)) / tookMs, workerMicros, postgresMicros };
}
