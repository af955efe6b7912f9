/**
 * Compares the courier with other job queues, with the same deliveries, receiver and machine, and the image's Node.js.
 * They run in turns, each on its own PostgreSQL. With a snapshot there is a second measurement, `held`. The snapshot is
 * held for minutes while the same number of deliveries is repeated, and the last round counts.
 */

import { type ChildProcess, execFile } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { cacheDirectory } from '../../src/local/data-directory.ts';
import { ROOT } from '../../test/support/checkout.ts';
import { seedDeliveries } from '../../test/support/seeded-deliveries.ts';
import { until } from '../../test/support/until.ts';
import { messageOf } from '../child.ts';
import { healthyUrls } from './latencies.ts';
import type { Job } from './peer.ts';
import { closeScene, drain, openScene, type Scene, startStage, startWorker } from './scene.ts';
import { measureThroughput, type Throughput } from './throughput.ts';

/** Versions of the peers, which are installed only for `--peer`. */
const PEERS: Readonly<Record<string, string>> = { 'pg-boss': '12.38.0', 'graphile-worker': '0.18.0' };
const ROUND_MS = 15_000;
const ADDED_AT_ONCE = 1_000;

export interface Comparison {
  readonly peers: readonly string[];
  readonly deliveries: number;
  readonly turns: number;
  /** Seconds for which the second measurement holds its snapshot; 0 for no second measurement. */
  readonly heldSeconds: number;
  holdSnapshot(scene: Scene): Promise<() => void>;
  say(line: string): void;
}

type Cell = 'free' | 'held';
type Turn = Readonly<Partial<Record<Cell, Throughput>>>;

/** For the courier and each peer: the mean of its turns, and its CPU as a multiple of the courier's. */
export async function comparePeers(comparison: Comparison): Promise<Record<string, number>> {
  const { peers, turns, say } = comparison;
  const unknown = peers.find((peer) => !(peer in PEERS));
  if (unknown !== undefined) throw new Error(`--peer must be one of ${Object.keys(PEERS).join(', ')}, not ${unknown}`);
  const folder = await installPeers();
  const results = new Map<string, Turn[]>();
  for (let turn = 1; turn <= turns; turn++) {
    for (const name of ['vigie', ...peers]) {
      const result = await takeTurn(comparison, name, folder);
      say(`turn ${turn}, ${name}: ${JSON.stringify(result)}`);
      results.set(name, [...(results.get(name) ?? []), result]);
    }
  }
  return Object.fromEntries(['vigie', ...peers].flatMap((name) => figuresFrom(results, name)));
}

function figuresFrom(results: ReadonlyMap<string, readonly Turn[]>, name: string): [string, number][] {
  const mean = (of: string, cell: Cell, figure: (cell: Throughput) => number): number => {
    const values = (results.get(of) ?? []).flatMap((turn) => turn[cell] ?? []).map(figure);
    return values.reduce((sum, value) => sum + value, 0) / values.length;
  };
  const cpu = ({ workerMicros, postgresMicros }: Throughput): number => workerMicros + postgresMicros;
  const cells = (['free', 'held'] as const).filter((cell) => results.get(name)?.[0]?.[cell] !== undefined);
  return cells.flatMap((cell): [string, number][] => [
    [`${name} ${cell} perSecond`, Math.round(mean(name, cell, (one) => one.perSecond))],
    [`${name} ${cell} workerCpuMicros`, Math.round(mean(name, cell, (one) => one.workerMicros))],
    [`${name} ${cell} postgresCpuMicros`, Math.round(mean(name, cell, (one) => one.postgresMicros))],
    [`${name} ${cell} cpuRatio`, Number((mean(name, cell, cpu) / mean('vigie', cell, cpu)).toFixed(2))],
  ]);
}

async function takeTurn(comparison: Comparison, name: string, folder: string): Promise<Turn> {
  const { deliveries, heldSeconds, holdSnapshot } = comparison;
  const scene = await openScene(false, {});
  try {
    const free = await takeRound(scene, name, folder, deliveries);
    if (heldSeconds === 0) return { free };
    const letGo = await holdSnapshot(scene);
    let stored = free;
    const startedAt = performance.now();
    for (let round = 1; performance.now() - startedAt < 1_000 * heldSeconds; round++) {
      stored = await takeRound(scene, name, folder, deliveries);
      const isOver = () => performance.now() - startedAt >= Math.min(round * ROUND_MS, 1_000 * heldSeconds);
      await until(async () => isOver(), Boolean, ROUND_MS);
    }
    letGo();
    return { free, held: stored };
  } finally {
    await closeScene();
  }
}

/** Queues all deliveries before the worker starts. */
async function takeRound(scene: Scene, name: string, folder: string, count: number): Promise<Throughput> {
  const { database, databaseUrl, receivedAt } = scene;
  const ids = (await seedDeliveries(database, scene.search, healthyUrls(scene, count))).map(({ id }) => id);
  const execPath = join(folder, `node_modules/node-linux-${process.arch}/bin/node`);
  const module = pathToFileURL(join(folder, `node_modules/${name}/dist/index.js`)).href;
  const start = (...mode: readonly string[]): Promise<ChildProcess> =>
    startWorker('peer', [name, module, databaseUrl, ...mode], { execPath });
  if (name !== 'vigie') {
    const { rows } = await database.query<Job>('select id, endpoint, head from deliveries where id = any($1)', [ids]);
    await database.query('truncate open_deliveries');
    const filler = await start();
    for (let from = 0; from < count; from += ADDED_AT_ONCE) {
      filler.send({ jobs: rows.slice(from, from + ADDED_AT_ONCE) });
      await messageOf(filler);
    }
    await drain(filler);
  }
  await database.query('analyze');
  const worker = await (name === 'vigie' ? startStage(scene, { execPath }) : start('work'));
  const throughput = await measureThroughput(scene, worker, count);
  await drain(worker);
  await until(
    async () => ids.filter((id) => !receivedAt.has(id)).length,
    (missing) => missing === 0,
  );
  return throughput;
}

/** Also installs the image's Node.js, because the peers need a later version than Vigie. Runs no install script. */
async function installPeers(): Promise<string> {
  const folder = join(cacheDirectory(), 'bench-peers');
  await mkdir(folder, { recursive: true });
  const dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
  const node = `node-linux-${process.arch}@${/^ARG NODE_VERSION=(.+)$/m.exec(dockerfile)?.[1]}`;
  const packages = [node, ...Object.entries(PEERS).map(([name, version]) => `${name}@${version}`)];
  const quietly = ['--ignore-scripts', '--engine-strict=false', '--no-audit', '--no-fund', '--loglevel=error'];
  await promisify(execFile)('npm', ['install', '--prefix', folder, ...quietly, ...packages], { cwd: folder });
  return folder;
}
