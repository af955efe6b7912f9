/**
 * The composition root: opens every part in order and closes them in reverse. The only file that knows them all.
 */

import { createServer } from 'node:http';
import { createApi } from './api/api.ts';
import { createOperations } from './api/operations.ts';
import { announceSearchChange } from './broker/announcements.ts';
import { connectBroker } from './broker/connection.ts';
import type { Config } from './config.ts';
import { openDelivery, openSender } from './deliverers.ts';
import { openServers } from './embedded/servers.ts';
import { closeServer, listen } from './http-listening.ts';
import { openIntake } from './intake.ts';
import type { Log } from './log.ts';
import { createCommuneLocator } from './matching/commune-locator.ts';
import { createPointsOfInterest } from './matching/poi-index.ts';
import { measurePool, measureStore, measureStreams } from './measures.ts';
import { createMetrics } from './metrics.ts';
import { createObservers } from './observers.ts';
import { openOperators } from './operators.ts';
import type { Parts } from './parts.ts';
import { createActivityFeed } from './pipeline/activity.ts';
import type { Matcher } from './pipeline/matcher.ts';
import { keepPoints } from './pipeline/points.ts';
import { startPresence } from './pipeline/presence.ts';
import { loadReference } from './reference/communes.ts';
import { readCommuneCoordinates } from './store/commune-coordinates.ts';
import { migrate, openDatabase } from './store/database.ts';
import { VERSION } from './version.ts';

export interface Service {
  readonly databaseUrl: string;
  readonly natsUrl: string;
  /** Null without the role `api`. */
  readonly apiUrl: string | null;
  readonly operationsUrl: string;
  /** `host:port` of the gRPC interface of operators; null without the role `admin`. */
  readonly adminAddress: string | null;
  /** Resolves when the service cannot go on, with the reason. */
  readonly failed: Promise<string>;
  /** Stops pulling, finishes what is in flight, closes. Rejects when that takes longer than the drain timeout. */
  stop(): Promise<void>;
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
  const metrics = createMetrics(VERSION);
  let notReady: string | null = 'still starting';
  let matcher: Matcher | null = null;
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

  const feed = createActivityFeed(broker);
  const onTrouble: Parts['onTrouble'] = (what, error) => log.warn({ what, err: error }, 'trouble');
  const presence = await startPresence({
    broker,
    database,
    roles: config.roles,
    version: VERSION,
    clock: () => new Date(),
    onTrouble,
  });
  closing('presence', () => presence.stop());
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
    feed,
    observers: createObservers(metrics, log, feed),
    presence,
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
    onTrouble,
  };
  const operations = createServer(
    createOperations({
      checks: {
        started: () => assertThat(notReady === null, notReady ?? ''),
        index: () => assertThat(matcher !== null || !config.roles.includes('intake'), 'not loaded yet'),
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

  measurePool(metrics, database);
  measureStore(metrics, database);
  measureStreams(metrics, broker);
  if (config.roles.includes('deliver')) await openDelivery(parts);
  matcher = config.roles.includes('intake') ? await openIntake(parts, servers.databaseUrl) : null;
  const apiUrl = config.roles.includes('api') ? await openApi(parts, matcher) : null;
  const adminAddress = config.roles.includes('admin') ? await openOperators(parts, matcher) : null;
  notReady = null;
  closing('readiness', async () => {
    notReady = 'draining';
  });
  const { databaseUrl, natsUrl } = servers;
  return { databaseUrl, natsUrl, apiUrl, operationsUrl, adminAddress, failed, stop };
}

async function openApi(parts: Parts, matcher: Matcher | null): Promise<string> {
  const { config, log, database, broker, reference, observers, closing, onTrouble } = parts;
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
  observers.observeRequests(api);
  const url = await listen(api, config.api);
  closing('api', () => closeServer(api));
  return url;
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
