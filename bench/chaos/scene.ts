/**
 * The scene of a chaos run: PostgreSQL with a standby, one nats-server, full daemons, a crawler and a receiver, with a
 * proxy that can break in each connection; and a watcher, who notes when each delivery could first be read as delivered.
 */

import { join } from 'node:path';
import type { Random } from '../../src/cli/demo/seeded-random.ts';
import { readConfig } from '../../src/config.ts';
import { type Broker, connectBroker } from '../../src/engine/broker/connection.ts';
import { ensureAdvertsStream } from '../../src/engine/broker/topology.ts';
import { type Database, migrate } from '../../src/engine/store/database.ts';
import { createApiKey, tuned } from '../../test/support/daemon.ts';
import { connectDatabase } from '../../test/support/database.ts';
import { type Watcher, watchDeliveries } from '../../test/support/delivery-watcher.ts';
import { type PostgresPair, startPostgresPair } from '../../test/support/postgres-pair.ts';
import type { OracleSearch } from '../../test/support/replay-oracle.ts';
import { restClient } from '../../test/support/rest-client.ts';
import { type Cleanup, startTestNats, type TestServer, temporaryDirectory } from '../../test/support/servers.ts';
import { type SimulatedClock, simulateClock } from '../../test/support/simulated-clock.ts';
import { startTcpProxy, type TcpProxy } from '../../test/support/tcp-proxy.ts';
import { startTurnedClock, type TurnedClock } from '../../test/support/turned-clock.ts';
import { RECOVERY_MAX_MS, until } from '../../test/support/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../test/support/webhook-receiver.ts';
import { familyOf } from '../pipeline/processes.ts';
import { mountSmallDisk, type SmallDisk } from './disk.ts';
import { type Instance, keepInstance } from './instances.ts';
import { PROPERTY_ADVERTS_MAX } from './mischief.ts';
import { STORE_BYTES } from './nats-store.ts';
import { type Hiccups, prepareHiccups } from './overload.ts';
import { chaosSearches } from './searches.ts';

export const RETRY_DELAY_MS = 1_000;
const ATTEMPT_TIMEOUT_MS = 1_000;
/** The attempt's time and the courier's margin to record it, which count from the heartbeat before. */
export const LEASE_MS = ATTEMPT_TIMEOUT_MS + 15_000 - 2_000;

const SETTINGS = {
  VIGIE_RETRY_DELAY_MS: String(RETRY_DELAY_MS),
  VIGIE_ATTEMPT_TIMEOUT_MS: String(ATTEMPT_TIMEOUT_MS),
  VIGIE_CONNECT_TIMEOUT_MS: '500',
};
/** As many properties that cannot be stored as a run may bring, and few adverts a property, which a burst exceeds. */
const BORNE = {
  breaker: { propertiesMax: 1_000, windowMs: 600_000, restMs: 30_000 },
  recordBounds: { ...readConfig({}).recordBounds, advertsMax: PROPERTY_ADVERTS_MAX },
};
const PATIENT = tuned(BORNE);
/** Mailboxes and slots that any burst fills. */
const TINY = {
  VIGIE_DATABASE_CONNECTIONS_MAX: '4',
  ...tuned({ ...BORNE, recordBatchMax: 8, attemptsInFlightMax: 8 }),
};
const NATS_DISK_BYTES = 256 * 1024 ** 2;
/** Half of it is log (test/support/postgres-pair.ts). */
const POSTGRES_DISK_BYTES = 1024 ** 3;

/** A connection that can break: the proxies in it, of which there are as many as servers at its end. */
export type Link = Pick<TcpProxy, 'cut' | 'stall' | 'swallow' | 'refuse' | 'heal'>;
type Look = Pick<Database, 'query'>;

export interface Scene {
  readonly servers: { readonly postgres: PostgresPair; readonly nats: TestServer };
  /** Where the streams lie. */
  readonly natsStore: string;
  readonly instances: readonly Instance[];
  /** By the connection they stand in. */
  readonly links: Readonly<Record<string, Link>>;
  /** Null where the machine forbids to mount one. */
  readonly disk: SmallDisk | null;
  readonly postgresDisks: readonly SmallDisk[];
  readonly clock: SimulatedClock;
  readonly natsClock: TurnedClock;
  readonly hiccups: Hiccups;
  /** The crawler's connection. */
  readonly broker: Broker;
  readonly receiver: WebhookReceiver;
  /** The auditor's look into the rows of the present primary; no proxy stands in it. */
  readonly database: Look;
  readonly searches: readonly OracleSearch[];
  readonly watcher: Watcher;
}

export interface SceneOptions {
  readonly random: Random;
  readonly instanceCount: number;
  readonly withDisk: boolean;
  readonly onTransientError: (what: string) => void;
  readonly onCrash: (what: string) => void;
}

/** Resolves when all daemons know every search. */
export async function openScene(cleanup: Cleanup, options: SceneOptions): Promise<Scene> {
  const { disk, postgresDisks } = options.withDisk ? await mountDisks(cleanup) : { disk: null, postgresDisks: [] };
  const natsStore = disk?.path ?? (await temporaryDirectory('streams'));
  const [postgres, nats] = await Promise.all([
    startPostgresPair(
      cleanup,
      postgresDisks.map(({ path }) => join(path, 'data')),
    ),
    startTestNats(cleanup, natsStore, STORE_BYTES),
  ]);
  const servers = { postgres, nats };
  const receiver = await startWebhookReceiver(cleanup);
  const database = lookInto(cleanup, postgres);
  const clock = await simulateClock(postgres.urls[0]);
  const natsClock = await startTurnedClock(cleanup, nats.url);
  await migrate(postgres.urls[0]);
  const proxyOf = (url: string) => startTcpProxy(cleanup, Number(new URL(url).port));
  const [fromCrawler, toReceiver] = [await proxyOf(nats.url), await proxyOf(receiver.url)];
  const links: Record<string, Link> = { 'crawler–NATS': fromCrawler, 'daemons–receiver': toReceiver };
  receiver.standBehind(toReceiver);
  const broker = await connectBroker({
    url: through(fromCrawler, nats.url),
    name: 'chaos crawler',
    onStatus: () => undefined,
  });
  cleanup.after(() => broker.close());
  await ensureAdvertsStream(broker);

  const hiccups = await prepareHiccups();
  const instances: Instance[] = [];
  for (const name of 'ABC'.slice(0, options.instanceCount)) {
    const toPostgres = [await proxyOf(postgres.urls[0]), await proxyOf(postgres.urls[1])];
    const toNats = await proxyOf(natsClock.url);
    links[`${name}–PostgreSQL`] = together(toPostgres);
    links[`${name}–NATS`] = toNats;
    const hosts = toPostgres.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const urls = { DATABASE_URL: withHosts(postgres.url, hosts), NATS_URL: through(toNats, nats.url) };
    const settings = { ...SETTINGS, ...hiccups.settings, ...urls, ...(name === 'A' ? TINY : PATIENT) };
    instances.push(keepInstance(cleanup, { ...options, name, servers, settings }));
  }
  const urlOf = (path: string) => new URL(path, through(toReceiver, receiver.url)).href;
  const searches = await saveSearches(servers, instances, chaosSearches(options.random, receiver, urlOf));
  return {
    ...{
      servers,
      natsStore,
      instances,
      links,
      disk,
      postgresDisks,
      clock,
      natsClock,
      hiccups,
      broker,
      receiver,
      database,
      searches,
    },
    watcher: watchDeliveries(cleanup, database),
  };
}

async function mountDisks(cleanup: Cleanup): Promise<{ disk: SmallDisk; postgresDisks: readonly SmallDisk[] }> {
  const mount = async (name: string, bytes: number): Promise<SmallDisk> =>
    mountSmallDisk(cleanup, await temporaryDirectory(name), bytes);
  const postgresDisks = [
    await mount('primary-disk', POSTGRES_DISK_BYTES),
    await mount('standby-disk', POSTGRES_DISK_BYTES),
  ];
  return { disk: await mount('disk', NATS_DISK_BYTES), postgresDisks };
}

/** The same URL with the proxy's port. */
function through({ port }: TcpProxy, url: string): string {
  const proxied = new URL(url);
  proxied.port = String(port);
  return proxied.href;
}

/** The same URL, which names several hosts, with others. */
function withHosts(url: string, hosts: string): string {
  return url.replace(/@[^/]*/, `@${hosts}`);
}

function together(links: readonly Link[]): Link {
  const all = (strike: (link: Link) => void) => () => links.forEach(strike);
  return {
    cut: all((link) => link.cut()),
    stall: all((link) => link.stall()),
    swallow: (direction) => all((link) => link.swallow(direction))(),
    refuse: all((link) => link.refuse()),
    heal: all((link) => link.heal()),
  };
}

/** Into the present primary. */
function lookInto(cleanup: Cleanup, postgres: PostgresPair): Look {
  const pools = new Map(postgres.urls.map((url) => [url, connectDatabase(cleanup, url)]));
  const query = (...parameters: readonly unknown[]): unknown => {
    const pool = pools.get(postgres.urls[0]) as Look;
    return Reflect.apply(pool.query, pool, parameters);
  };
  return { query: query as Look['query'] };
}

async function saveSearches(
  servers: Scene['servers'],
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
      RECOVERY_MAX_MS,
    );
  }
  return searches;
}

/** Stops or continues a server and all its processes. */
export function signalFamily(server: Pick<TestServer, 'pid'>, signal: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of server.pid === null ? [] : familyOf(server.pid)) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended meanwhile.
    }
  }
}
