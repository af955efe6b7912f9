/**
 * The composition root: opens every part in order and closes them in reverse. The only file that knows them all.
 */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ActorFailure } from './actor/actor.ts';
import { createApi } from './api/api.ts';
import { createOperations } from './api/operations.ts';
import { announceSearchChange, onSearchChange } from './broker/announcements.ts';
import { type Broker, connectBroker } from './broker/connection.ts';
import type { Config } from './config.ts';
import { openServers } from './embedded/servers.ts';
import type { Log } from './log.ts';
import { createCommuneLocator } from './matching/commune-locator.ts';
import { createMarketMedians } from './matching/market-medians.ts';
import { createPointsOfInterest } from './matching/poi-index.ts';
import { createSearchIndex } from './matching/search-index.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { startCourier } from './pipeline/courier.ts';
import { startIntake } from './pipeline/intake.ts';
import { type Matcher, startMatcher } from './pipeline/matcher.ts';
import { keepPoints } from './pipeline/points.ts';
import { createRecorder } from './pipeline/recorder.ts';
import { startSweeper } from './pipeline/sweeper.ts';
import { loadReference, type Reference } from './reference/communes.ts';
import { readCommuneCoordinates } from './store/commune-coordinates.ts';
import { type Database, migrate, openDatabase } from './store/database.ts';
import { readMarketPrices } from './store/properties.ts';
import { changedSince } from './store/search-feed.ts';
import { listSiteCategories } from './store/site-categories.ts';
import { VERSION } from './version.ts';
import { createSender, type Sender } from './webhooks/sender.ts';

export interface Service {
  readonly databaseUrl: string;
  readonly natsUrl: string;
  /** Null without the role `api`. */
  readonly apiUrl: string | null;
  readonly operationsUrl: string;
  /** Resolves when the service cannot go on, with the reason. */
  readonly failed: Promise<string>;
  /** Stops pulling, finishes what is in flight, closes. Rejects when that takes longer than the drain timeout. */
  stop(): Promise<void>;
}

interface Parts {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly database: Database;
  readonly broker: Broker;
  readonly reference: Reference;
  readonly onFailure: (failure: ActorFailure) => void;
  readonly onTrouble: (what: string, error: Error) => void;
  /** Registers what closes a part; the last opened closes first. */
  readonly closing: (name: string, close: () => Promise<unknown>) => void;
}

export async function startService(config: Config, log: Log): Promise<Service> {
  const closers: { readonly name: string; readonly close: () => Promise<unknown> }[] = [];
  const closing: Parts['closing'] = (name, close) => closers.push({ name, close });
  const closeAll = async (): Promise<void> => {
    for (const { name, close } of closers.splice(0).reverse()) {
      log.debug({ part: name }, 'closing');
      await close();
    }
  };
  try {
    return await openAll(config, log, closing, () => withinTime(closeAll(), config.drainTimeoutMs));
  } catch (error) {
    await closeAll();
    throw error;
  }
}

async function openAll(
  config: Config,
  log: Log,
  closing: Parts['closing'],
  stop: () => Promise<void>,
): Promise<Service> {
  const metrics = createMetrics();
  let isReady = false;
  const servers = await openServers(config, (line) => log.debug({ line }, 'embedded server'));
  closing('servers', servers.stop);
  const failures = new EventTarget();
  const failed = Promise.race([
    servers.lost,
    new Promise<string>((resolve) =>
      failures.addEventListener('failure', (event) => resolve((event as CustomEvent<string>).detail)),
    ),
  ]);

  await migrate(servers.databaseUrl);
  const database = openDatabase({
    url: servers.databaseUrl,
    connectionsMax: config.databaseConnectionsMax,
    onConnectionLost: (error) => log.warn({ err: error }, 'connection to PostgreSQL lost'),
  });
  closing('database', () => database.end());
  const broker = await connectBroker({
    url: servers.natsUrl,
    name: `vigie ${VERSION}`,
    onStatus: (status, detail) => log.warn({ status, detail }, 'connection to NATS'),
  });
  closing('broker', () => broker.close());

  const parts: Parts = {
    config,
    log,
    metrics,
    database,
    broker,
    reference: await loadReference({
      nearest: createCommuneLocator,
      coordinates: await readCommuneCoordinates(database),
    }),
    closing,
    onFailure(failure) {
      metrics.failures.inc({ actor: failure.actor });
      log.error({ actor: failure.actor, err: failure.error, retryInMs: failure.retryInMs }, 'actor failed');
      if (failure.isFinal) {
        failures.dispatchEvent(
          new CustomEvent('failure', { detail: `actor ${failure.actor}: ${failure.error.message}` }),
        );
      }
    },
    onTrouble: (what, error) => log.warn({ what, err: error }, 'broker trouble'),
  };
  const operations = createServer(
    createOperations({
      checks: {
        started: () => assertThat(isReady, 'still starting, or draining'),
        postgresql: async () => void (await database.query('select 1')),
        nats: () => assertThat(broker.isConnected(), 'not connected'),
      },
      metrics: () => metrics.registry.metrics(),
      metricsContentType: metrics.registry.contentType,
      logger: log,
    }).callback(),
  );
  const operationsUrl = await listen(operations, config.operations);
  closing('operations', () => closeServer(operations));

  if (config.roles.includes('deliver')) await openDelivery(parts);
  const matcher = config.roles.includes('intake') ? await openIntake(parts) : null;
  const apiUrl = config.roles.includes('api') ? await openApi(parts, matcher) : null;
  isReady = true;
  closing('readiness', async () => {
    isReady = false;
  });
  const { databaseUrl, natsUrl } = servers;
  return { databaseUrl, natsUrl, apiUrl, operationsUrl, failed, stop };
}

async function openIntake(parts: Parts): Promise<Matcher> {
  const { config, log, metrics, database, broker, reference, closing, onFailure, onTrouble } = parts;
  const index = createSearchIndex();
  const medians = createMarketMedians();
  await readMarketPrices(database, (market, price) => medians.add(market, price));
  const matcher = await startMatcher({
    index,
    medians,
    changedSince: (horizon, onSearch) => changedSince(database, horizon, onSearch),
    async readSiteCategoryNames() {
      const names = new Map((await listSiteCategories(database)).map(({ id, name }) => [id, name]));
      return (id) => names.get(id) ?? null;
    },
    onFailure,
    onUnreadableSearch: (number, error) => log.error({ search: number, err: error }, 'search cannot be read'),
  });
  closing('matcher', () => matcher.stop());
  onSearchChange(broker, () => void matcher.refresh().catch((error: Error) => onTrouble('refresh', error)));
  const intake = await startIntake({
    broker,
    database,
    recordBatch: createRecorder({
      database,
      matcher,
      resolvePlace: reference.resolvePlace,
      clock: () => new Date(),
    }),
    recordBatchMax: config.recordBatchMax,
    onRecorded(recorded, { poison }) {
      for (const [outcome, count] of Object.entries(recorded.outcomes)) metrics.changes.inc({ outcome }, count);
      metrics.events.inc(recorded.eventCount);
      metrics.matches.inc(recorded.beganCount);
      metrics.deliveries.inc(recorded.deliveries.length);
      metrics.poison.inc(poison.length);
      for (const { subject, sequence, reason } of poison) log.warn({ subject, sequence, reason }, 'dead letter');
    },
    onFailure,
    onTrouble,
  });
  closing('intake', () => intake.drain());
  metrics.gauge('vigie_searches', 'Searches in the index', () => index.size);
  metrics.gauge('vigie_intake_depth', 'Messages pulled and not yet recorded', () => intake.depth);
  log.info({ searches: index.size }, 'intake runs');
  return matcher;
}

async function openDelivery(parts: Parts): Promise<void> {
  const { config, log, metrics, database, broker, closing, onFailure, onTrouble } = parts;
  const sender = openSender(parts);
  const courier = await startCourier({
    broker,
    database,
    sender,
    retryDelayMs: config.retryDelayMs,
    attemptTimeoutMs: config.attemptTimeoutMs,
    attemptsInFlightMax: config.attemptsInFlightMax,
    onAttempt({ id, attemptCount, outcome, after }) {
      metrics.attempts.inc({ result: outcome.error ?? 'delivered' });
      metrics.attemptSeconds.observe(outcome.durationMs / 1_000);
      const { statusCode, error, reason, durationMs } = outcome;
      const line = { delivery: id, attempt: attemptCount, state: after.state, statusCode, error, reason, durationMs };
      if (error === null) log.debug(line, 'attempt');
      else log.info(line, 'attempt');
    },
    onFailure,
    onTrouble,
  });
  closing('courier', () => courier.drain());
  const sweeper = startSweeper({
    broker,
    database,
    retryDelayMs: config.retryDelayMs,
    clock: () => new Date(),
    onRepair(repair) {
      for (const [kind, count] of Object.entries(repair)) metrics.repairs.inc({ kind }, count);
      log.warn(repair, 'sweeper repaired');
    },
    onTrouble,
  });
  closing('sweeper', () => sweeper.stop());
}

function openSender({ config, closing }: Parts): Sender {
  const sender = createSender({
    connectTimeoutMs: config.connectTimeoutMs,
    attemptTimeoutMs: config.attemptTimeoutMs,
    allowPrivateNetworks: config.allowPrivateEndpoints,
    userAgent: `Vigie/${VERSION}`,
  });
  closing('sender', () => sender.close());
  return sender;
}

async function openApi(parts: Parts, matcher: Matcher | null): Promise<string> {
  const { config, log, database, broker, reference, closing, onTrouble } = parts;
  const points = createPointsOfInterest();
  const keeper = await keepPoints(database, points, onTrouble);
  closing('points of interest', () => keeper.stop());
  const sender = openSender(parts);
  const api = createServer(
    createApi({
      database,
      reference,
      settings: {
        publicUrl: config.api.publicUrl,
        allowPrivateEndpoints: config.allowPrivateEndpoints,
        rateLimitPerSecond: config.rateLimit.perSecond,
        rateLimitBurst: config.rateLimit.burst,
        version: VERSION,
      },
      logger: log,
      now: () => new Date(),
      pointsOfInterest: (query) => points.within(query),
      deliverOnce: (delivery) => sender.send(delivery),
      async searchChanged() {
        announceSearchChange(broker);
        await matcher?.refresh();
      },
    }).callback(),
  );
  const url = await listen(api, config.api);
  closing('api', () => closeServer(api));
  return url;
}

function listen(server: Server, { host, port }: { readonly host: string; readonly port: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      const { address, port: bound, family } = server.address() as AddressInfo;
      resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`);
    });
  });
}

/** Answers what was asked already; idle keep-alive connections are closed at once. */
function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
}

function assertThat(holds: boolean, reason: string): void {
  if (!holds) throw new Error(reason);
}

async function withinTime(work: Promise<void>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not closed within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
