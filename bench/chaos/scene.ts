/**
 * The scene of a chaos run: one PostgreSQL, one nats-server, two full daemons, a crawler and a receiver, with a proxy
 * that can break in each connection; and a watcher, who notes when each delivery could first be read as delivered.
 */

import type pg from 'pg';
import { type Broker, connectBroker } from '../../src/broker/connection.ts';
import { ensureAdvertsStream } from '../../src/broker/topology.ts';
import type { Random } from '../../src/cli/demo/seeded-random.ts';
import { migrate } from '../../src/store/database.ts';
import { createApiKey } from '../../test/support/daemon.ts';
import { connectDatabase } from '../../test/support/database.ts';
import { noteParkings } from '../../test/support/order-auditor.ts';
import type { OracleSearch } from '../../test/support/replay-oracle.ts';
import { restClient } from '../../test/support/rest-client.ts';
import {
  type Cleanup,
  startTestNats,
  startTestPostgres,
  type TestServer,
  type TestServers,
  temporaryDirectory,
} from '../../test/support/servers.ts';
import { startTcpProxy, type TcpProxy } from '../../test/support/tcp-proxy.ts';
import { until } from '../../test/support/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../test/support/webhook-receiver.ts';
import { familyOf } from '../pipeline/processes.ts';
import { mountSmallDisk, type SmallDisk } from './disk.ts';
import { type Instance, keepInstance } from './instances.ts';
import { PROPERTY_ADVERTS_MAX } from './mischief.ts';
import { chaosSearches } from './searches.ts';

export const RETRY_DELAY_MS = 1_000;
const ATTEMPT_TIMEOUT_MS = 1_000;
/** The attempt's time and the courier's margin to record it. */
export const LEASE_MS = ATTEMPT_TIMEOUT_MS + 15_000;

const SETTINGS = {
  VIGIE_RETRY_DELAY_MS: String(RETRY_DELAY_MS),
  VIGIE_ATTEMPT_TIMEOUT_MS: String(ATTEMPT_TIMEOUT_MS),
  VIGIE_CONNECT_TIMEOUT_MS: '500',
  VIGIE_PROPERTY_ADVERTS_MAX: String(PROPERTY_ADVERTS_MAX),
  // As many properties that cannot be stored as a run may bring.
  VIGIE_SET_ASIDE_PROPERTIES_MAX: '1000',
};
/** Mailboxes and slots that any burst fills. */
const TINY = { VIGIE_RECORD_BATCH_MAX: '8', VIGIE_ATTEMPTS_IN_FLIGHT_MAX: '8', VIGIE_DATABASE_CONNECTIONS_MAX: '4' };
const WATCH_EVERY_MS = 250;

export interface Scene {
  readonly servers: TestServers;
  readonly instances: readonly Instance[];
  /** By the connection they stand in. */
  readonly links: Readonly<Record<string, TcpProxy>>;
  /** Null where the machine forbids to mount one. */
  readonly disk: SmallDisk | null;
  /** The crawler's connection. */
  readonly broker: Broker;
  readonly receiver: WebhookReceiver;
  /** The auditor's look into the rows; no proxy stands in it. */
  readonly database: pg.Pool;
  readonly searches: readonly OracleSearch[];
  readonly seenDelivered: ReadonlyMap<string, number>;
}

export interface SceneOptions {
  readonly random: Random;
  readonly withDisk: boolean;
  readonly onTrouble: (what: string) => void;
  readonly onCrash: (what: string) => void;
}

/** Resolves when both daemons know every search. */
export async function openScene(cleanup: Cleanup, options: SceneOptions): Promise<Scene> {
  const disk = options.withDisk ? await mountSmallDisk(cleanup, await temporaryDirectory('disk')) : null;
  const [postgres, nats] = await Promise.all([startTestPostgres(cleanup), startTestNats(cleanup, disk?.path ?? null)]);
  const servers = { postgres, nats };
  const receiver = await startWebhookReceiver(cleanup);
  await migrate(postgres.url);
  const proxyOf = (url: string) => startTcpProxy(cleanup, Number(new URL(url).port));
  const links: Record<string, TcpProxy> = {
    'crawler–NATS': await proxyOf(nats.url),
    'daemons–receiver': await proxyOf(receiver.url),
  };
  const broker = await connectBroker({
    url: through(links['crawler–NATS'] as TcpProxy, nats.url),
    name: 'chaos crawler',
    onStatus: () => undefined,
  });
  cleanup.after(() => broker.close());
  await ensureAdvertsStream(broker);

  const instances: Instance[] = [];
  for (const [name, sizes] of [
    ['A', TINY],
    ['B', {}],
  ] as const) {
    const [toPostgres, toNats] = [await proxyOf(postgres.url), await proxyOf(nats.url)];
    links[`${name}–PostgreSQL`] = toPostgres;
    links[`${name}–NATS`] = toNats;
    const urls = { DATABASE_URL: through(toPostgres, postgres.url), NATS_URL: through(toNats, nats.url) };
    const settings = { ...SETTINGS, ...sizes, ...urls };
    instances.push(keepInstance(cleanup, { ...options, name, servers, settings }));
  }
  const toReceiver = through(links['daemons–receiver'] as TcpProxy, receiver.url);
  const wanted = chaosSearches(options.random, receiver, (path) => new URL(path, toReceiver).href);
  const searches = await saveSearches(servers, instances, wanted);
  const database = connectDatabase(cleanup, postgres.url);
  await noteParkings(database);
  return {
    servers,
    instances,
    links,
    disk,
    broker,
    receiver,
    database,
    searches,
    seenDelivered: watchDeliveries(cleanup, database),
  };
}

/** The same URL with the proxy's port. */
function through({ port }: TcpProxy, url: string): string {
  const proxied = new URL(url);
  proxied.port = String(port);
  return proxied.href;
}

async function saveSearches(
  servers: TestServers,
  instances: readonly Instance[],
  wanted: readonly OracleSearch['members'][],
): Promise<readonly OracleSearch[]> {
  const daemons = await Promise.all(instances.map((instance) => instance.untilUp()));
  const rest = restClient(daemons[0] as (typeof daemons)[number], await createApiKey(servers));
  const searches: OracleSearch[] = [];
  for (const members of wanted) searches.push({ id: (await rest.createSearch(members)).id, members });
  for (const { operationsUrl } of daemons) {
    await until(
      async () => await (await fetch(`${operationsUrl}/metrics`)).text(),
      (metrics) => metrics.includes(`\nvigie_searches ${searches.length}\n`),
    );
  }
  return searches;
}

/** The time is taken after the answer: what starts later could have known. */
function watchDeliveries(cleanup: Cleanup, database: pg.Pool): ReadonlyMap<string, number> {
  const seen = new Map<string, number>();
  let looking: Promise<void> = Promise.resolve();
  async function look(): Promise<void> {
    const { rows } = await database.query<{ id: string }>(
      'select delivery_id as id from attempts where status_code = 200',
    );
    const now = performance.timeOrigin + performance.now();
    for (const { id } of rows) if (!seen.has(id)) seen.set(id, now);
  }
  const timer = setInterval(() => {
    // PostgreSQL may be away.
    looking = looking.then(look).catch(() => undefined);
  }, WATCH_EVERY_MS);
  cleanup.after(async () => {
    clearInterval(timer);
    await looking;
  });
  return seen;
}

/** Stops or continues a server and all its processes. */
export function signalFamily(server: TestServer, signal: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of server.pid === null ? [] : familyOf(server.pid)) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended meanwhile.
    }
  }
}
