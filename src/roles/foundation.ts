/** Opens what all roles need: the servers, the connections to them, and the heartbeat of this instance. */

import { once } from 'node:events';
import { type Config, ConfigError } from '../config.ts';
import { createSupervisor, FAILING_MS, type FailingActor, type Supervisor } from '../engine/actor/supervisor.ts';
import { startTask } from '../engine/actor/task.ts';
import { pause } from '../engine/actor/waiting.ts';
import { createWorkerThreads } from '../engine/actor/worker-thread.ts';
import { createDueAnnouncer } from '../engine/broker/announcements.ts';
import { type Broker, connectBroker } from '../engine/broker/connection.ts';
import { type JetStreamWatch, startJetStreamWatch } from '../engine/broker/jetstream-watch.ts';
import { findOtherLead } from '../engine/broker/lead-claims.ts';
import { brokerReason, brokerUnreachable, isBrokerOutage } from '../engine/broker/outage.ts';
import { probeBrokerWrite } from '../engine/broker/retry-messages.ts';
import { untilElected } from '../engine/broker/topology.ts';
import { createNameLookups } from '../engine/delivery/name-lookups.ts';
import { readFrenchForms } from '../engine/domain/inflection/lemmas.ts';
import { NO_NAMESPACE } from '../engine/domain/namespace.ts';
import { createActivityFeed } from '../engine/maintenance/activity.ts';
import { type ClockWatch, startClockWatch } from '../engine/maintenance/clock-watch.ts';
import { createFullServers, type FullServers } from '../engine/maintenance/full-servers.ts';
import { startInstanceHeartbeat } from '../engine/maintenance/instance-heartbeat.ts';
import { startTopologyWatch, type TopologyWatch } from '../engine/maintenance/topology-watch.ts';
import { loadReference } from '../engine/reference/communes.ts';
import { assertReachable, type Database, migrate, openDatabase, type Queryable } from '../engine/store/database.ts';
import { addressOf, databaseUnreachable } from '../engine/store/database-servers.ts';
import { createDocumentCache } from '../engine/store/document-cache.ts';
import { readDatabaseLabel, recordNamespace } from '../engine/store/installation.ts';
import { noteClockBehind, readDatabaseIdentity } from '../engine/store/intake-position.ts';
import { isDatabaseOutage } from '../engine/store/outage.ts';
import { probeDatabaseWrite } from '../engine/store/probe-write.ts';
import { renumberRestored } from '../engine/store/search-feed.ts';
import { checkSessions } from '../engine/store/session-check.ts';
import { dataDirectoryPath } from '../local/data-directory.ts';
import { openServers, type Servers } from '../local/servers.ts';
import type { Log } from '../log.ts';
import { createMetrics } from '../metrics.ts';
import { createObservers } from '../observers.ts';
import type { Shutdown } from '../shutdown.ts';
import { VERSION } from '../version.ts';
import { createStalls, type Stalls } from './measures.ts';
import type { Parts } from './parts.ts';
import { createTransientErrors, type TransientErrors } from './transient-errors.ts';

const STALLS_CHECK_EVERY_MS = 1_000;

export interface Foundation extends Omit<Servers, 'lost' | 'stop'> {
  readonly parts: Parts;
  /** Resolves with the reason if the service cannot continue. */
  readonly failed: Promise<string>;
}

/** The longest time for which a query may occupy PostgreSQL (decisions, section 11). */
export const QUESTION_STATEMENT_MS = 2_000;

/** Calls `onDatabaseKnown` when PostgreSQL has accepted a connection. */
export async function openFoundation(
  config: Config,
  log: Log,
  shutdown: Shutdown,
  onDatabaseKnown: () => void,
): Promise<Foundation> {
  const servers = await openServers(config, {
    onLog: (line) => log.debug({ line }, 'An embedded server wrote a line.'),
    onWarning: (warning) => log.warn({ warning }, 'An embedded server needs attention.'),
  });
  shutdown.closing('servers', servers.stop);
  await assertReachable(servers.databaseUrl);
  onDatabaseKnown();
  readFrenchForms();
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

type ServerUrls = Pick<Servers, 'databaseUrl' | 'natsUrl'>;

/** The parts that are needed to open the others. */
type Base = Pick<Parts, 'config' | 'log' | 'metrics' | 'closing' | 'fail' | 'onTransientError'>;

/** `fail` is called with the reason why the service cannot continue. */
async function openParts(
  config: Config,
  log: Log,
  { ending, draining, closing }: Shutdown,
  { databaseUrl, natsUrl }: ServerUrls,
  fail: (reason: string) => void,
): Promise<Parts> {
  const metrics = createMetrics(VERSION);
  const fullServers = createFullServers();
  const { onTransientError, onFailure, onBrokerStatus } = createTransientErrors(log, fullServers.note);
  const base: Base = { config, log, metrics, closing, fail, onTransientError };
  const { database, pipelineDatabase } = await openDatabases(base, databaseUrl);
  const askThread = openQueryThreads(base, databaseUrl);
  const broker = await connectBroker({
    url: natsUrl,
    replicas: config.natsReplicas,
    database: await readDatabaseLabel(database, databaseUrl),
    namespace: config.namespace,
    name: config.namespace === null ? `vigie ${VERSION}` : `vigie ${VERSION} ${config.namespace}`,
    onStatus: onBrokerStatus,
  });
  closing('broker', () => broker.close());
  const jetStream = watchJetStream(base, broker);
  await untilElected(broker, (error) => onTransientError('wait for JetStream', error));
  const supervisor = openSupervisor(base, onFailure);
  probeFullServers(base, fullServers, broker, database);
  const databaseIdentity = await readDatabaseIdentity(database);
  const databaseLocation = { databaseIdentity, address: addressOf(databaseUrl) };
  const topology = await watchTopology(base, broker, databaseLocation);
  const checks: Parts['checks'] = { streams: () => topology.reason, room: () => fullServers.reason };
  const clocks = await watchClocks(base, broker, database);
  const heartbeat = await openHeartbeat(base, { broker, database, topology, supervisor, checks });
  const feed = createActivityFeed(broker);
  return {
    ...base,
    dataDirectory: () => dataDirectoryPath(config.dataDir),
    ending,
    draining,
    announced: announcement(ending, config.drainAnnounceMs),
    database,
    pipelineDatabase,
    databaseLocation,
    documents: createDocumentCache(pipelineDatabase),
    resolveName: createNameLookups(config.allowPrivateEndpoints),
    askThread,
    broker,
    announcer: createDueAnnouncer(broker),
    jetStream,
    topology,
    clocks,
    fullServers,
    reference: await loadReference(),
    supervisor,
    checks,
    stalls: watchStalls(base),
    heartbeat,
    feed,
    observers: createObservers(metrics, log, feed),
  };
}

async function openDatabases({ config, log, closing, onTransientError }: Base, url: string) {
  const connecting = {
    url,
    connectionsMax: config.databaseConnectionsMax,
    onConnectionLost: (error: Error) => onTransientError('connection to PostgreSQL', error),
  };
  const database = openDatabase(connecting);
  closing('database', () => database.end());
  await checkSessions(database);
  const { migrated, unknown } = await migrate(url, {
    onWaiting: (reason) => log.warn({ reason }, 'The database upgrade waits for a session that locks a table.'),
  });
  if (migrated.length > 0) log.info({ migrated }, 'The database was upgraded.');
  if (unknown.length > 0)
    log.warn({ unknown }, 'A newer version has upgraded the database. This version continues to use it.');
  await assertNamespace(database, config.namespace);
  const renumbered = await renumberRestored(database);
  if (renumbered > 0) log.info({ searches: renumbered }, 'The database was restored. Its searches have new numbers.');
  const pipelineDatabase = openDatabase({ ...connecting, plans: 'pipeline' });
  closing('database of the pipeline', () => pipelineDatabase.end());
  return { database, pipelineDatabase };
}

function openQueryThreads({ config, closing, onTransientError }: Base, databaseUrl: string): Parts['askThread'] {
  const threads = createWorkerThreads({
    settings: { databaseUrl, connectionsMax: config.questionConnectionsMax, statementTimeoutMs: QUESTION_STATEMENT_MS },
    onLost: (error) => onTransientError('query worker', error),
  });
  closing('query worker', threads.stop);
  return threads.ask;
}

async function openHeartbeat(
  { config, closing, fail, onTransientError }: Base,
  opened: Pick<Parts, 'broker' | 'database' | 'topology' | 'supervisor' | 'checks'>,
): Promise<Parts['heartbeat']> {
  const { broker, database, topology, supervisor, checks } = opened;
  const heartbeat = await startInstanceHeartbeat({
    broker,
    database,
    roles: config.roles,
    version: VERSION,
    clock: () => new Date(),
    failing: () => failingParts(supervisor, checks),
    isHeld: () => (topology.found?.foreign ?? null) !== null,
    onTransientError,
    onOutdated: fail,
  });
  closing('heartbeat', () => heartbeat.stop());
  return heartbeat;
}

async function assertNamespace(database: Queryable, namespace: string | null): Promise<void> {
  const stored = await recordNamespace(database, namespace);
  if (stored === (namespace ?? NO_NAMESPACE)) return;
  const configured = namespace === null ? 'VIGIE_NAMESPACE is not set' : `VIGIE_NAMESPACE is ${namespace}`;
  throw ConfigError.of([`${configured}, but DATABASE_URL has the namespace ${stored}. Correct one of them`]);
}

function openSupervisor({ config, metrics, fail }: Base, onFailure: TransientErrors['onFailure']): Supervisor {
  return createSupervisor({
    retryPausesMs: config.retryPausesMs,
    reasonOf: brokerReason,
    isOperational: (error) => isDatabaseOutage(error) || isBrokerOutage(error),
    onFailure(failure) {
      metrics.failures.inc({ actor: failure.actor });
      onFailure(failure);
      if (failure.isFinal) fail(`actor ${failure.actor}: ${failure.error.message}`);
    },
    nowMs: () => performance.now(),
  });
}

/** Adds intake that rests after a bug, unsuitable streams and full servers, which no failing actor reports. */
function failingParts(supervisor: Supervisor, checks: Parts['checks']): readonly FailingActor[] {
  const resting = Object.entries(checks).flatMap(([actor, check]) => {
    const reason = check();
    return reason === null ? [] : [{ actor, reason, failingForMs: 0 }];
  });
  return [...supervisor.failing(FAILING_MS), ...resting];
}

function probeFullServers({ metrics, closing }: Base, full: FullServers, broker: Broker, database: Database): void {
  const probing = full.startProbing({
    PostgreSQL: () => probeDatabaseWrite(database),
    NATS: () => probeBrokerWrite(broker),
  });
  closing('probe writes', probing.stop);
  metrics.labelledGauge(
    'vigie_server_full',
    '1 from the first write that fails for lack of room until a probe write succeeds, else 0',
    'server',
    async () => (['PostgreSQL', 'NATS'] as const).map((server) => [server, Number(full.isFull(server))]),
  );
}

function watchJetStream({ log, closing }: Base, broker: Broker): JetStreamWatch {
  const watch = startJetStreamWatch({
    broker,
    onMove: (silentMs) =>
      log.warn(
        { silentMs: Math.round(silentMs) },
        'JetStream does not answer on this NATS server. Vigie connects to another server.',
      ),
  });
  closing('check JetStream', watch.stop);
  return watch;
}

async function watchClocks(
  { config, log, metrics, closing, onTransientError }: Base,
  broker: Broker,
  database: Parts['database'],
): Promise<ClockWatch> {
  const clocks = await startClockWatch({
    broker,
    database,
    nowMs: Date.now,
    onChange(difference) {
      if (difference === null) log.info('The clocks agree again.');
      else log.warn({ difference }, 'The clocks differ.');
    },
    async onBrokerBehind(ms) {
      if (config.roles.includes('intake')) await noteClockBehind(database, ms);
    },
    onTransientError,
  });
  closing('clocks', clocks.stop);
  metrics.labelledGauge(
    'vigie_clock_ahead_seconds',
    'Time by which a clock is ahead of this instance’s clock, accurate to half a round trip',
    'clock',
    async () => [...clocks.aheadSeconds],
  );
  return clocks;
}

async function watchTopology(
  { log, closing, onTransientError }: Base,
  broker: Broker,
  databaseLocation: Parts['databaseLocation'],
): Promise<TopologyWatch> {
  const topology = await startTopologyWatch({
    broker,
    findOther: () => findOtherLead(broker, databaseLocation),
    onFound(found) {
      const { faults, cautions, foreign } = found;
      const isInOrder = foreign === null && faults.length + cautions.length === 0;
      if (isInOrder) log.info('Streams and consumers are in order.');
      else log.warn(found, 'Some streams or consumers have unsuitable settings.');
    },
    onTransientError,
  });
  closing('check streams', topology.stop);
  return topology;
}

function watchStalls({ metrics, closing }: Base): Stalls {
  const stalls = createStalls();
  const checking = startTask({ what: 'stalls', everyMs: STALLS_CHECK_EVERY_MS, work: stalls.check });
  closing('stalls', checking.stop);
  metrics.labelledGauge(
    'vigie_stalled_seconds',
    'Time for which a role of this instance has had work but made no progress',
    'role',
    async () => [...stalls.seconds],
  );
  return stalls;
}

/** The returned function resolves `announceMs` after the beginning of the shutdown. */
function announcement(ending: AbortSignal, announceMs: number): () => Promise<void> {
  if (ending.aborted) return () => Promise.resolve();
  const announced = once(ending, 'abort').then(() => pause(announceMs));
  return () => announced;
}

/** Explains an outage. Returns any other error unchanged, because it is a bug or already has a suitable message. */
export function startFailure(error: Error, { databaseUrl, natsUrl }: ServerUrls): Error {
  if (isDatabaseOutage(error)) return databaseUnreachable(databaseUrl, error);
  return isBrokerOutage(error) ? brokerUnreachable(natsUrl, error) : error;
}
