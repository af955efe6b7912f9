/**
 * The scene of a chaos run: PostgreSQL with a standby, NATS, complete daemons, a crawler and a receiver, and proxies
 * that can break their connections. A watcher records when each delivery could first be read as delivered.
 */

import { join } from 'node:path';
import { readConfig } from '../../src/config.ts';
import { type Broker, connectBroker } from '../../src/engine/broker/connection.ts';
import { startJetStreamWatch } from '../../src/engine/broker/jetstream-watch.ts';
import { ensureAdvertsStream } from '../../src/engine/broker/topology.ts';
import { type Database, migrate } from '../../src/engine/store/database.ts';
import { createApiKey, tuned } from '../../test/support/daemon.ts';
import { connectDatabase } from '../../test/support/database.ts';
import { type Watcher, watchDeliveries } from '../../test/support/delivery-watcher.ts';
import { type PostgresPair, startPostgresPair } from '../../test/support/postgres-pair.ts';
import type { OracleSearch } from '../../test/support/replay-oracle.ts';
import { restClient } from '../../test/support/rest-client.ts';
import { type Cleanup, temporaryDirectory } from '../../test/support/servers.ts';
import { type SimulatedClock, simulateClock } from '../../test/support/simulated-clock.ts';
import { startTcpProxy, type TcpProxy } from '../../test/support/tcp-proxy.ts';
import { RECOVERY_MAX_MS, until } from '../../test/support/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../test/support/webhook-receiver.ts';
import type { Random } from '../adverts/seeded-random.ts';
import { mountSmallDisk, type SmallDisk } from './disk.ts';
import { type Instance, keepInstance } from './instances.ts';
import { PROPERTY_ADVERTS_MAX } from './mischief.ts';
import { type ChaosNats, natsUrlsOf, openNats } from './nats.ts';
import { type Hiccups, prepareHiccups } from './overload.ts';
import { chaosSearches } from './searches.ts';
import { seedWaiting, WAITING_ROW_BYTES } from './waiting.ts';

export const RETRY_DELAY_MS = 1_000;
const ATTEMPT_TIMEOUT_MS = 1_000;
/**
 * The lease of an attempt: its timeout plus the courier's margin to record the outcome. It counts from the last
 * heartbeat before the attempt, up to 2 s earlier.
 */
export const LEASE_MS = ATTEMPT_TIMEOUT_MS + 15_000 - 2_000;

const SETTINGS = {
  VIGIE_RETRY_DELAY_MS: String(RETRY_DELAY_MS),
  VIGIE_ATTEMPT_TIMEOUT_MS: String(ATTEMPT_TIMEOUT_MS),
  VIGIE_CONNECT_TIMEOUT_MS: '500',
};
/**
 * The breaker tolerates all unstorable properties of a run. The limit of adverts per property is low, so that a crowd
 * exceeds it.
 */
const BORNE = {
  breaker: { propertiesMax: 1_000, windowMs: 600_000, restMs: 30_000 },
  recordBounds: { ...readConfig({}).recordBounds, advertsMax: PROPERTY_ADVERTS_MAX },
};
const PATIENT = tuned(BORNE);
/** Mailboxes and slots so small that any burst fills them. */
const TINY = {
  VIGIE_DATABASE_CONNECTIONS_MAX: '4',
  ...tuned({ ...BORNE, recordBatchMax: 8, attemptsInFlightMax: 8 }),
};
/** Half of it is for the write-ahead log (test/support/postgres-pair.ts). */
const POSTGRES_DISK_BYTES = 1024 ** 3;

/** A connection that can break: its proxies, one for each server that it may reach. */
export type Link = Pick<TcpProxy, 'cut' | 'stall' | 'swallow' | 'refuse' | 'heal'>;
type Look = Pick<Database, 'query'>;

export interface Scene {
  readonly servers: { readonly postgres: PostgresPair; readonly nats: { readonly url: string } };
  readonly nats: ChaosNats;
  /** Index of the NATS server that the leader's daemon is connected to; 0 while there is no leader. */
  readonly natsOfLeader: () => number;
  readonly instances: readonly Instance[];
  /** By the name of the connection. */
  readonly links: Readonly<Record<string, Link>>;
  /** Empty if the machine forbids mounting any. */
  readonly postgresDisks: readonly SmallDisk[];
  readonly clock: SimulatedClock;
  readonly hiccups: Hiccups;
  /** The crawler's connection. */
  readonly broker: Broker;
  readonly receiver: WebhookReceiver;
  /** Connection of the auditor to the current primary, without a proxy. */
  readonly database: Look;
  readonly searches: readonly OracleSearch[];
  /** SQL condition of the rows that `--waiting` adds to the queue. */
  readonly waitingRows: string;
  readonly watcher: Watcher;
}

export interface SceneOptions {
  readonly random: Random;
  readonly instanceCount: number;
  readonly withDisk: boolean;
  readonly isCluster: boolean;
  readonly waitingCount: number;
  readonly onTransientError: (what: string) => void;
  readonly onCrash: (what: string) => void;
}

/** Resolves when all daemons know the `searches`. */
export async function openScene(cleanup: Cleanup, options: SceneOptions): Promise<Scene> {
  const { isCluster, withDisk } = options;
  const postgresDisks = withDisk ? await mountDisks(cleanup, options.waitingCount) : [];
  const [postgres, nats] = await Promise.all([
    startPostgresPair(
      cleanup,
      postgresDisks.map(({ path }) => join(path, 'data')),
    ),
    openNats(cleanup, isCluster, withDisk),
  ]);
  const servers = { postgres, nats: { url: natsUrlsOf(nats, 'daemon').join() } };
  const receiver = await startWebhookReceiver(cleanup);
  const database = lookInto(cleanup, postgres);
  const clock = await simulateClock(postgres.urls[0]);
  await migrate(postgres.urls[0]);
  const fromCrawler = await proxiesOf(cleanup, natsUrlsOf(nats, 'crawler'));
  const toReceiver = await proxyOf(cleanup, receiver.url);
  const links: Record<string, Link> = { 'crawler–NATS': together(fromCrawler), 'daemons–receiver': toReceiver };
  receiver.standBehind(toReceiver);
  const broker = await connectCrawler(cleanup, nats, fromCrawler);

  const hiccups = await prepareHiccups();
  const { instances, natsOfLeader } = await keepInstances(cleanup, options, { servers, nats, links, hiccups });
  const urlOf = (path: string) => new URL(path, through(toReceiver, receiver.url)).href;
  const searches = await saveSearches(servers, instances, chaosSearches(options.random, receiver, urlOf));
  const waitingRows = await saveWaiting(servers, instances, database, urlOf('/waiting'), options.waitingCount);
  return {
    servers,
    nats,
    natsOfLeader,
    instances,
    links,
    postgresDisks,
    clock,
    hiccups,
    broker,
    receiver,
    database,
    searches,
    waitingRows,
    watcher: watchDeliveries(cleanup, database),
  };
}

/** Also adds the instances' connections to `links`. */
async function keepInstances(
  cleanup: Cleanup,
  options: SceneOptions,
  { servers, nats, links, hiccups }: Pick<Scene, 'servers' | 'nats' | 'hiccups'> & { links: Record<string, Link> },
): Promise<Pick<Scene, 'instances' | 'natsOfLeader'>> {
  const { postgres } = servers;
  const kept: { readonly instance: Instance; readonly toNats: readonly TcpProxy[] }[] = [];
  for (const name of 'ABC'.slice(0, options.instanceCount)) {
    const toPostgres = await proxiesOf(cleanup, postgres.urls);
    const toNats = await proxiesOf(cleanup, natsUrlsOf(nats, 'daemon'));
    links[`${name}–PostgreSQL`] = together(toPostgres);
    links[`${name}–NATS`] = together(toNats);
    const hosts = toPostgres.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const settings = {
      ...SETTINGS,
      ...hiccups.settings,
      DATABASE_URL: withHosts(postgres.url, hosts),
      NATS_URL: natsUrl(nats, 'daemon', toNats),
      VIGIE_NATS_REPLICAS: String(replicasOf(nats)),
      ...(name === 'A' ? TINY : PATIENT),
    };
    kept.push({ instance: keepInstance(cleanup, { ...options, name, servers, settings }), toNats });
  }
  return {
    instances: kept.map(({ instance }) => instance),
    natsOfLeader() {
      const leader = kept.find(({ instance }) => instance.leads);
      const used = leader?.toNats.findIndex(({ connections }) => connections > 0) ?? 0;
      return Math.max(used, 0);
    },
  };
}

async function mountDisks(cleanup: Cleanup, waitingCount: number): Promise<readonly SmallDisk[]> {
  const bytes = POSTGRES_DISK_BYTES + waitingCount * WAITING_ROW_BYTES;
  const mount = async (name: string) => mountSmallDisk(cleanup, await temporaryDirectory(name), bytes);
  return [await mount('primary-disk'), await mount('standby-disk')];
}

/** In a cluster the crawler leaves a server that is cut off, as the daemons do. */
async function connectCrawler(cleanup: Cleanup, nats: ChaosNats, proxies: readonly TcpProxy[]): Promise<Broker> {
  const broker = await connectBroker({
    url: natsUrl(nats, 'crawler', proxies),
    name: 'chaos crawler',
    replicas: replicasOf(nats),
    onStatus: () => undefined,
  });
  cleanup.after(() => broker.close());
  await ensureAdvertsStream(broker);
  const watch = startJetStreamWatch({ broker, onMove: () => undefined });
  cleanup.after(() => watch.stop());
  return broker;
}

function replicasOf(nats: ChaosNats): number {
  return nats.type === 'cluster' ? nats.nodes.length : 1;
}

/** The URLs with the ports of the proxies. */
function natsUrl(nats: ChaosNats, user: 'daemon' | 'crawler', proxies: readonly TcpProxy[]): string {
  return natsUrlsOf(nats, user)
    .map((url, position) => through(proxies[position] as TcpProxy, url))
    .join();
}

function proxyOf(cleanup: Cleanup, url: string): Promise<TcpProxy> {
  return startTcpProxy(cleanup, Number(new URL(url).port));
}

function proxiesOf(cleanup: Cleanup, urls: readonly string[]): Promise<readonly TcpProxy[]> {
  return Promise.all(urls.map((url) => proxyOf(cleanup, url)));
}

/** The same URL with the proxy's port. */
function through({ port }: TcpProxy, url: string): string {
  const proxied = new URL(url);
  proxied.port = String(port);
  return proxied.href;
}

/** The same URL with other hosts. */
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

/** Queries the current primary. */
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

async function saveWaiting(
  servers: Scene['servers'],
  instances: readonly Instance[],
  database: Look,
  url: string,
  count: number,
): Promise<string> {
  if (count === 0) return 'false';
  const daemon = await (instances[0] as Instance).untilUp();
  return seedWaiting(database, restClient(daemon, await createApiKey(servers, 'waiting')), url, count);
}
