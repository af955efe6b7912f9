/** Opens what every role needs: the servers, the connections to them, and this instance's heartbeat. */

import { once } from 'node:events';
import { type Config, ConfigError } from '../config.ts';
import { type ActorFailure, createSupervisor, FAILING_MS, type Supervisor } from '../engine/actor/supervisor.ts';
import { startTask } from '../engine/actor/task.ts';
import { pause } from '../engine/actor/waiting.ts';
import { createWorkerThreads } from '../engine/actor/worker-thread.ts';
import { createDueAnnouncer, onChange } from '../engine/broker/announcements.ts';
import { type Broker, connectBroker } from '../engine/broker/connection.ts';
import { type JetStreamWatch, startJetStreamWatch } from '../engine/broker/jetstream-watch.ts';
import { findOtherLead } from '../engine/broker/lead-claims.ts';
import { BrokerSilentError, brokerUnreachable, isBrokerOutage, isBrokerSilence } from '../engine/broker/outage.ts';
import { untilElected } from '../engine/broker/topology.ts';
import { NO_NAMESPACE } from '../engine/domain/namespace.ts';
import { createActivityFeed } from '../engine/maintenance/activity.ts';
import { type ClockWatch, startClockWatch } from '../engine/maintenance/clock-watch.ts';
import { keepCoordinates } from '../engine/maintenance/imported-tables.ts';
import { startInstanceHeartbeat } from '../engine/maintenance/instance-heartbeat.ts';
import { startTopologyWatch, type TopologyWatch } from '../engine/maintenance/topology-watch.ts';
import { loadReference } from '../engine/reference/communes.ts';
import { assertReachable, migrate, openDatabase, type Queryable } from '../engine/store/database.ts';
import { addressOf, databaseUnreachable } from '../engine/store/database-servers.ts';
import { createDocumentCache } from '../engine/store/document-cache.ts';
import { readDatabaseLabel, recordNamespace } from '../engine/store/installation.ts';
import type { FailingPart } from '../engine/store/instances.ts';
import { noteClockBehind, readDatabaseIdentity } from '../engine/store/intake-position.ts';
import { databaseRefusal, isDatabaseOutage } from '../engine/store/outage.ts';
import { renumberRestored } from '../engine/store/search-feed.ts';
import { checkSessions } from '../engine/store/session-check.ts';
import { openServers } from '../local/servers.ts';
import type { Log } from '../log.ts';
import { createMetrics, type Metrics } from '../metrics.ts';
import { createObservers } from '../observers.ts';
import type { Shutdown } from '../shutdown.ts';
import { VERSION } from '../version.ts';
import { createStalls, type Stalls } from './measures.ts';
import type { Parts } from './parts.ts';

const STALLS_CHECK_EVERY_MS = 1_000;

export interface Foundation {
  readonly parts: Parts;
  readonly databaseUrl: string;
  readonly natsUrl: string;
  /** The file with the crawlers' URL of an embedded NATS; null when NATS is given. */
  readonly natsCredentialsFile: string | null;
  /** Resolves when the service cannot go on, with the reason. */
  readonly failed: Promise<string>;
}

/** How long a query may occupy PostgreSQL (decisions, section 11). */
export const QUESTION_STATEMENT_MS = 2_000;

/** `onDatabaseKnown`: called when PostgreSQL has accepted a connection. */
export async function openFoundation(
  config: Config,
  log: Log,
  shutdown: Shutdown,
  onDatabaseKnown: () => void,
): Promise<Foundation> {
  const servers = await openServers(config, {
    onLog: (line) => log.debug({ line }, 'embedded server'),
    onWarning: (warning) => log.warn({ warning }, 'embedded server'),
  });
  shutdown.closing('servers', servers.stop);
  await assertReachable(servers.databaseUrl);
  onDatabaseKnown();
  let fail: (reason: string) => void = () => undefined;
  const actorFailed = new Promise<string>((resolve) => {
    fail = resolve;
  });
  const parts = await openParts(config, log, shutdown, servers, fail).catch((error: Error) => {
    throw startFailure(error, servers);
  });
  const { databaseUrl, natsUrl, natsCredentialsFile } = servers;
  return { parts, databaseUrl, natsUrl, natsCredentialsFile, failed: Promise.race([servers.lost, actorFailed]) };
}

/** `fail`: called with the reason for which the service cannot continue. */
async function openParts(
  config: Config,
  log: Log,
  shutdown: Shutdown,
  { databaseUrl, natsUrl }: { readonly databaseUrl: string; readonly natsUrl: string },
  fail: (reason: string) => void,
): Promise<Parts> {
  const { ending, draining, closing } = shutdown;
  const metrics = createMetrics(VERSION);
  const transientErrors = createTransientErrors(log);
  const { onTransientError } = transientErrors;
  const { database, pipelineDatabase } = await openDatabases(config, databaseUrl, log, onTransientError, closing);
  const threads = createWorkerThreads({
    settings: { databaseUrl, connectionsMax: config.questionConnectionsMax, statementTimeoutMs: QUESTION_STATEMENT_MS },
    onLost: (error) => onTransientError('query worker', error),
  });
  closing('query worker', threads.stop);
  const renumbered = await renumberRestored(database);
  if (renumbered > 0) log.info({ searches: renumbered }, 'the database was restored: its searches are numbered anew');
  const broker = await connectBroker({
    url: natsUrl,
    replicas: config.natsReplicas,
    database: await readDatabaseLabel(database, databaseUrl),
    namespace: config.namespace,
    name: config.namespace === null ? `vigie ${VERSION}` : `vigie ${VERSION} ${config.namespace}`,
    onStatus: transientErrors.onBrokerStatus,
  });
  closing('broker', () => broker.close());
  const jetStream = watchJetStream(broker, log, closing);
  await untilElected(broker);
  const supervisor = openSupervisor(config, metrics, transientErrors, fail);
  const checks: Parts['checks'] = {};
  const failing = () => failingParts(supervisor, checks);
  const clock = () => new Date();
  const instance = { roles: config.roles, version: VERSION };
  const databaseIdentity = await readDatabaseIdentity(database);
  const databaseLocation = { databaseIdentity, address: addressOf(databaseUrl) };
  const topology = await watchTopology(broker, databaseLocation, log, onTransientError, closing);
  checks.streams = () => topology.reason;
  const clocks = await watchClocks({ config, broker, database, log, metrics, closing });
  const isHeld = () => (topology.found?.foreign ?? null) !== null;
  const heartbeat = await startInstanceHeartbeat({
    ...{ broker, database, ...instance, clock, failing, isHeld, onTransientError, onOutdated: fail },
  });
  closing('heartbeat', () => heartbeat.stop());
  const reference = await loadReference();
  const coordinates = await keepCoordinates(database, reference.relocate, onTransientError);
  closing('commune centres', () => coordinates.stop());
  onChange(broker, 'coordinates', coordinates.ask);
  const feed = createActivityFeed({ broker, database, instanceId: heartbeat.id });
  return {
    ...{ config, log, metrics, database, pipelineDatabase, askThread: threads.ask, broker, jetStream },
    ...{ databaseLocation, topology, clocks, feed, heartbeat, reference, announcer: createDueAnnouncer(broker) },
    ...{ ending, draining, closing, announced: announcement(ending, config.drainAnnounceMs) },
    ...{ supervisor, checks, fail, onTransientError, stalls: watchStalls(metrics, closing) },
    documents: createDocumentCache(pipelineDatabase),
    observers: createObservers(metrics, log, feed),
  };
}

async function openDatabases(
  config: Config,
  url: string,
  log: Log,
  onTransientError: Parts['onTransientError'],
  closing: Parts['closing'],
): Promise<Pick<Parts, 'database' | 'pipelineDatabase'>> {
  const connecting = {
    url,
    connectionsMax: config.databaseConnectionsMax,
    onConnectionLost: (error: Error) => onTransientError('connection to PostgreSQL', error),
  };
  const database = openDatabase(connecting);
  closing('database', () => database.end());
  await checkSessions(database);
  const { migrated, unknown } = await migrate(url, {
    onWaiting: (reason) => log.warn({ reason }, 'the upgrade of the database waits for a session that locks a table'),
  });
  if (migrated.length > 0) log.info({ migrated }, 'database upgraded');
  if (unknown.length > 0)
    log.warn({ unknown }, 'a newer version has upgraded the database; this one continues to use it');
  await assertNamespace(database, config.namespace);
  const pipelineDatabase = openDatabase({ ...connecting, plans: 'pipeline' });
  closing('database of the pipeline', () => pipelineDatabase.end());
  return { database, pipelineDatabase };
}

async function assertNamespace(database: Queryable, namespace: string | null): Promise<void> {
  const stored = await recordNamespace(database, namespace);
  if (stored === (namespace ?? NO_NAMESPACE)) return;
  const configured = namespace === null ? 'VIGIE_NAMESPACE is not set' : `VIGIE_NAMESPACE is ${namespace}`;
  throw ConfigError.of([`${configured}, and DATABASE_URL is the database of the namespace ${stored}`]);
}

function openSupervisor(
  { retryPausesMs }: Config,
  metrics: Metrics,
  { onFailure }: TransientErrors,
  fail: (reason: string) => void,
): Supervisor {
  return createSupervisor({
    retryPausesMs,
    isOperational: (error) => isDatabaseOutage(error) || isBrokerOutage(error),
    onFailure(failure) {
      metrics.failures.inc({ actor: failure.actor });
      onFailure(failure);
      if (failure.isFinal) fail(`actor ${failure.actor}: ${failure.error.message}`);
    },
    nowMs: () => performance.now(),
  });
}

/** An intake that rests has no failing actor, nor have invalid streams, and both are reported all the same. */
function failingParts(supervisor: Supervisor, checks: Parts['checks']): readonly FailingPart[] {
  const resting = Object.entries(checks).flatMap(([actor, check]) => {
    const reason = check();
    return reason === null ? [] : [{ actor, reason, failingForMs: 0 }];
  });
  return [...supervisor.failing(FAILING_MS), ...resting];
}

function watchJetStream(broker: Broker, log: Log, closing: Parts['closing']): JetStreamWatch {
  const watch = startJetStreamWatch({
    broker,
    onMove: (silentMs) =>
      log.warn(
        { silentMs: Math.round(silentMs) },
        'JetStream does not answer at this server of NATS: another is tried',
      ),
  });
  closing('check JetStream', watch.stop);
  return watch;
}

async function watchClocks({
  config,
  broker,
  database,
  log,
  metrics,
  closing,
}: Pick<Parts, 'config' | 'broker' | 'database' | 'log' | 'metrics' | 'closing'>): Promise<ClockWatch> {
  const clocks = await startClockWatch({
    broker,
    database,
    nowMs: Date.now,
    onChange(difference) {
      if (difference === null) log.info('the clocks agree again');
      else log.warn({ difference }, 'the clocks differ');
    },
    async onBrokerBehind(ms) {
      if (config.roles.includes('intake')) await noteClockBehind(database, ms);
    },
  });
  closing('clocks', clocks.stop);
  metrics.labelledGauge(
    'vigie_clock_ahead_seconds',
    'How far a clock is ahead of this instance’s own, to half a round trip',
    'clock',
    async () => [...clocks.aheadSeconds],
  );
  return clocks;
}

async function watchTopology(
  broker: Broker,
  databaseLocation: Parts['databaseLocation'],
  log: Log,
  onTransientError: Parts['onTransientError'],
  closing: Parts['closing'],
): Promise<TopologyWatch> {
  const topology = await startTopologyWatch({
    broker,
    findOther: () => findOtherLead(broker, databaseLocation),
    onFound(found) {
      const { faults, cautions, foreign } = found;
      const isInOrder = foreign === null && faults.length + cautions.length === 0;
      if (isInOrder) log.info('streams and consumers are in order');
      else log.warn(found, 'streams and consumers are not as they have to be');
    },
    onTransientError,
  });
  closing('check streams', topology.stop);
  return topology;
}

function watchStalls(metrics: Metrics, closing: Shutdown['closing']): Stalls {
  const stalls = createStalls();
  const checking = startTask({ what: 'stalls', everyMs: STALLS_CHECK_EVERY_MS, work: stalls.check });
  closing('stalls', checking.stop);
  metrics.labelledGauge(
    'vigie_stalled_seconds',
    'How long a role of this instance has had work and made no progress',
    'role',
    async () => [...stalls.seconds],
  );
  return stalls;
}

/** The time runs from the beginning of the shutdown. */
function announcement(ending: AbortSignal, announceMs: number): () => Promise<void> {
  if (ending.aborted) return () => Promise.resolve();
  const announced = once(ending, 'abort').then(() => pause(announceMs));
  return () => announced;
}

export interface TransientErrors {
  /** `what`: the work that met the error and retries by itself. */
  readonly onTransientError: (what: string, error: Error) => void;
  readonly onFailure: (failure: ActorFailure) => void;
  /** Called when the connection to NATS breaks or returns. */
  readonly onBrokerStatus: (status: 'disconnected' | 'reconnected' | 'error', detail: string) => void;
}

interface OpenError {
  readonly beganAt: number;
  count: number;
  /** Fires when the connection stays away for a while. */
  over: NodeJS.Timeout | undefined;
}

/** Longer than the pauses between retries of any work. */
const OVER_AFTER_MS = 30_000;

/** The server whose errors count as one, whatever work meets them; null: those of each work count separately. */
function serverOf(error: Error): string | null {
  if (isBrokerSilence(error)) return 'NATS';
  const reason = databaseRefusal(error);
  return reason === null ? null : `PostgreSQL: ${reason}`;
}

/** The stack only of what may be a bug: where our code met an outage says nothing. */
function loggedError(error: Error): Readonly<Record<string, unknown>> {
  if (!isDatabaseOutage(error) && !isBrokerOutage(error) && !isBrokerSilence(error)) return { err: error };
  const messages = [];
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) messages.push(cause.message);
  return { reason: messages.join(': '), code: (error as { readonly code?: unknown }).code ?? null };
}

/**
 * While a server is away every retry of every task fails. Instead of a line for each, one line is logged when such an
 * error begins and one when it is over.
 */
export function createTransientErrors(log: Pick<Log, 'info' | 'warn' | 'error'>): TransientErrors {
  const open = new Map<string, OpenError>();

  /** True when it is not logged yet. */
  function isNews(what: string, error: Error): boolean {
    // Partitions, ports and sequences differ between works with the same error.
    const key = serverOf(error) ?? `${what}: ${error.message.replaceAll(/\d+/g, '#')}`;
    const known = open.get(key);
    const lastAt = performance.now();
    const current = known ?? { beganAt: lastAt, count: 0, over: undefined };
    current.count += 1;
    open.set(key, current);
    clearTimeout(current.over);
    current.over = setTimeout(() => {
      open.delete(key);
      const { count, beganAt } = current;
      log.info(
        { what, reason: error.message, count, durationMs: Math.round(lastAt - beganAt) },
        'transient error over',
      );
    }, OVER_AFTER_MS);
    current.over.unref();
    return known === undefined;
  }

  return {
    onTransientError(what, error) {
      if (isNews(what, error)) log.warn({ what, ...loggedError(error) }, 'transient error');
    },
    onBrokerStatus(status, detail) {
      // A lost connection and missing answers count as one error.
      const isOver = status === 'reconnected';
      if (isOver) log.info({ status, detail }, 'connection to NATS');
      else if (isNews('connection to NATS', new BrokerSilentError(detail))) {
        log.warn({ status, detail }, 'connection to NATS');
      }
    },
    onFailure({ actor, error, isBug, isFinal, retryInMs }) {
      if (!isFinal && !isNews(`actor ${actor}`, error)) return;
      log.error({ actor, ...loggedError(error), isBug, retryInMs }, isFinal ? 'actor crashed' : 'actor failed');
    },
  };
}

export interface StartServers {
  readonly databaseUrl: string;
  readonly natsUrl: string;
}

/** Any other failure is returned unchanged: a bug, or an error with a message of its own. */
export function startFailure(error: Error, { databaseUrl, natsUrl }: StartServers): Error {
  if (isDatabaseOutage(error)) return databaseUnreachable(databaseUrl, error);
  return isBrokerOutage(error) ? brokerUnreachable(natsUrl, error) : error;
}
