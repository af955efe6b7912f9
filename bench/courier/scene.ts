/** The scene of the courier bench: PostgreSQL with fsync, nats-server, the endpoints and the delivering process. */

import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDueAnnouncer } from '../../src/engine/broker/announcements.ts';
import { type Broker, connectBroker } from '../../src/engine/broker/connection.ts';
import { ensureRetries } from '../../src/engine/broker/topology.ts';
import type { DueDelivery } from '../../src/engine/domain/delivery.ts';
import { type Database, migrate, openDatabase } from '../../src/engine/store/database.ts';
import { cacheDirectory } from '../../src/local/data-directory.ts';
import { startNatsServer } from '../../src/local/nats-server.ts';
import { LOADER, moduleUrl } from '../../test/support/checkout.ts';
import { startExternalPostgres } from '../../test/support/external-postgres.ts';
import { type SeededSearch, seedSearch } from '../../test/support/seeded-deliveries.ts';
import { startTestPostgres } from '../../test/support/servers.ts';
import { endOf, messageOf } from '../child.ts';
import type { Receipt } from './receiver.ts';

const closers: (() => Promise<unknown>)[] = [];

export interface Scene {
  readonly databaseUrl: string;
  readonly postgresPid: number;
  readonly database: Database;
  readonly nats: Awaited<ReturnType<typeof openNats>>;
  readonly receiverUrl: string;
  /** Time of the first post of each delivery, by id, in milliseconds since the epoch. */
  readonly receivedAt: ReadonlyMap<string, number>;
  /** Number of answers 200 to each delivery, by id. */
  readonly successes: ReadonlyMap<string, number>;
  readonly search: SeededSearch;
  /** Makes the dead endpoints answer again. */
  revive(): void;
}

async function openNats() {
  const dataDir = await mkdtemp(join(tmpdir(), 'vigie-bench-nats-'));
  const start = (port?: number) =>
    startNatsServer({
      dataDir,
      serverBin: process.env.NATS_SERVER_BIN || null,
      cacheDir: cacheDirectory(),
      ...(port === undefined ? {} : { port }),
    });
  let server = await start();
  const connect = () => connectBroker({ url: server.url, name: 'bench', onStatus: () => undefined });
  let broker: Broker = await connect();
  closers.push(async () => {
    await broker.close();
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  await ensureRetries(broker);
  return {
    get url() {
      return server.url;
    },
    get broker() {
      return broker;
    },
    rssMb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1_024,
    async restart() {
      await broker.close();
      await server.stop();
      server = await start(Number(new URL(server.url).port));
      broker = await connect();
    },
  };
}

/** `isExternal`: uses a distribution's PostgreSQL with its defaults. `settings`: for the embedded PostgreSQL. */
export async function openScene(isExternal: boolean, settings: Readonly<Record<string, string>>): Promise<Scene> {
  const cleanup = { after: (work: () => Promise<void>) => void closers.push(work) };
  const durable = { fsync: 'on', full_page_writes: 'on', shared_buffers: '256MB', ...settings };
  const postgres = isExternal ? await startExternalPostgres(cleanup) : await startTestPostgres(cleanup, durable);
  await migrate(postgres.url);
  const database = openDatabase({ url: postgres.url, connectionsMax: 4, onConnectionLost: () => undefined });
  closers.push(() => database.end());
  const nats = await openNats();
  const receiver = child('receiver');
  const receivedAt = new Map<string, number>();
  const successes = new Map<string, number>();
  const { port } = await messageOf<{ readonly port: number }>(receiver);
  receiver.on('message', ({ receipts }: { receipts: readonly Receipt[] }) => {
    for (const { id, at, status } of receipts) {
      if (!receivedAt.has(id)) receivedAt.set(id, at);
      if (status === 200) successes.set(id, (successes.get(id) ?? 0) + 1);
    }
  });
  closers.push(() => end(receiver));
  const receiverUrl = `http://127.0.0.1:${port}`;
  const postgresPid = ('pid' in postgres ? postgres.pid : null) ?? 0;
  return {
    databaseUrl: postgres.url,
    postgresPid,
    database,
    nats,
    receiverUrl,
    receivedAt,
    successes,
    search: await seedSearch(database),
    revive: () => void receiver.send('revive'),
  };
}

function child(
  name: string,
  args: readonly string[] = [],
  { flags = [], execPath = process.execPath }: Running = {},
): ChildProcess {
  return fork(moduleUrl(`bench/courier/${name}`), args, { execPath, execArgv: [...LOADER, ...flags] });
}

interface Running {
  readonly flags?: readonly string[];
  readonly execPath?: string;
}

export async function end(process: ChildProcess): Promise<void> {
  process.kill('SIGKILL');
  await endOf(process);
}

/** `profile`: folder for a CPU profile. `retryDelayMs`: one hour by default. */
export function startStage(
  { databaseUrl, nats }: Scene,
  {
    profile,
    retryDelayMs = 3_600_000,
    ...running
  }: { readonly profile?: string | undefined; readonly retryDelayMs?: number } & Pick<Running, 'execPath'> = {},
): Promise<ChildProcess> {
  const flags = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const args = [databaseUrl, nats.url, String(retryDelayMs)];
  return startWorker('stage', args, { flags, ...running });
}

/** Starts a worker; resolves when it reports that it is ready. */
export async function startWorker(
  name: string,
  args: readonly string[],
  { flags = [], ...running }: Running,
): Promise<ChildProcess> {
  const worker = child(name, args, { flags: ['--max-semi-space-size=64', ...flags], ...running });
  closers.push(() => end(worker));
  await messageOf(worker);
  return worker;
}

/** Lets the process finish its work and end, as SIGTERM does with a daemon. */
export async function drain(stage: ChildProcess): Promise<void> {
  stage.send('drain');
  await endOf(stage);
}

export async function figuresOf(stage: ChildProcess): Promise<{ readonly attempts: number; readonly rssMb: number }> {
  stage.send('figures');
  return messageOf(stage);
}

/** Announces deliveries as a recording process without a courier does. */
export function announce({ nats }: Pick<Scene, 'nats'>, due: readonly DueDelivery[]): void {
  createDueAnnouncer(nats.broker).announce(due);
}

/** Closes everything in reverse order. */
export async function closeScene(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}
