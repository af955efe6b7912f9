/**
 * The composition root, which opens every part in order; `shutdown.ts` closes the parts. `roles/foundation.ts` opens
 * what all roles share. Each role has its own file in `roles/`, except `feeds`, which is a feature.
 */

import type { Server } from 'node:http';
import Koa from 'koa';
import type { Config } from './config.ts';
import { assertServable } from './config-conflicts.ts';
import { orAborted, pause } from './engine/actor/waiting.ts';
import { DatabaseUnreachableError } from './engine/store/database-servers.ts';
import { isPassingRefusal } from './engine/store/outage.ts';
import { FEATURES } from './features.ts';
import { tryPort } from './local/child-server.ts';
import type { Log } from './log.ts';
import { createOperations } from './rest/operations.ts';
import { Problem, reportProblems } from './rest/problem.ts';
import { REFUSALS } from './rest/sentences.ts';
import { openAdmin } from './roles/admin.ts';
import { openApi } from './roles/api.ts';
import { openDelivery } from './roles/deliver.ts';
import { type Foundation, openFoundation, startFailure } from './roles/foundation.ts';
import { closeServer, createHttpServer, listen } from './roles/http-server.ts';
import { openIntake } from './roles/intake.ts';
import { openOperations, type Progress } from './roles/operations.ts';
import type { Parts } from './roles/parts.ts';
import { createShutdown, type Shutdown } from './shutdown.ts';

export interface Service extends Omit<Foundation, 'parts'> {
  /** Null without the role `api`. */
  readonly apiUrl: string | null;
  readonly operationsUrl: string;
  /** `host:port` of the admin interface (gRPC); null without the role `admin`. */
  readonly adminAddress: string | null;
  /** Announces its end, stops pulling, finishes its work, and closes. Rejects after a failure or the drain timeout. */
  stop(): Promise<void>;
}

/** State that outlives a failed attempt to start. */
interface Start {
  readonly placeholder: ReturnType<typeof createPlaceholderServers>;
  /** True once PostgreSQL has accepted a connection. A later refusal is then an outage, not a wrong setting. */
  isDatabaseKnown: boolean;
}

const START_AGAIN_MS = 1_000;

/**
 * Retries the start while a configured PostgreSQL is unavailable. Meanwhile the ports report the reason. Aborting
 * `ending` interrupts the start: every opened part is closed in order, and the promise rejects with
 * `StartBrokenOffError`.
 */
export async function startService(config: Config, log: Log, ending?: AbortSignal): Promise<Service> {
  assertServable(config);
  await assertPortsFree(config);
  const start: Start = { placeholder: createPlaceholderServers(config, log), isDatabaseKnown: false };
  try {
    for (let logged: string | null = null; ; await pause(START_AGAIN_MS, ending)) {
      const tried = await tryStart(config, log, start, ending);
      if (typeof tried !== 'string') return tried;
      if (tried !== logged) log.warn({ reason: tried }, 'Vigie is waiting for PostgreSQL.');
      logged = tried;
      await start.placeholder.open(tried);
    }
  } finally {
    await start.placeholder.close();
  }
}

/** Resolves with the service, or with the reason for a retry. */
async function tryStart(
  config: Config,
  log: Log,
  start: Start,
  ending = new AbortController().signal,
): Promise<Service | string> {
  const shutdown = createShutdown(log);
  const progress: Progress = { phase: 'starting', isIndexLoaded: !config.roles.includes('intake') };
  const stop = (): Promise<void> => {
    progress.phase = 'draining';
    return shutdown.run(config.drainTimeoutMs);
  };
  const opened = openAll(config, log, shutdown, progress, start);
  try {
    const brokenOff = () => new StartBrokenOffError('the service was stopped while it was starting');
    return { ...(await orAborted(opened, ending, brokenOff)), stop };
  } catch (error) {
    // An interrupted step fails later, because its dependencies are closed. That error is ignored.
    opened.catch(() => undefined);
    await stop();
    const isPassing = error instanceof DatabaseUnreachableError && isPassingRefusal(error.cause, start.isDatabaseKnown);
    if (isPassing && config.databaseUrl !== null) return (error as Error).message;
    throw error;
  }
}

/** Opens each part after its dependencies. The operations port opens early, to report the progress of the others. */
async function openAll(
  config: Config,
  log: Log,
  shutdown: Shutdown,
  progress: Progress,
  start: Start,
): Promise<Omit<Service, 'stop'>> {
  const { parts, ...foundation } = await openFoundation(config, log, shutdown, () => {
    start.isDatabaseKnown = true;
  });
  await start.placeholder.close();
  const roles = openRoles(parts, progress, foundation.databaseUrl);
  const urls = await roles.catch((error: Error) => {
    throw startFailure(error, foundation);
  });
  if (progress.phase === 'starting') progress.phase = 'ready';
  return { ...foundation, ...urls };
}

async function openRoles(parts: Parts, progress: Progress, databaseUrl: string) {
  const { roles }: { readonly roles: readonly string[] } = parts.config;
  const hasRole = (role: string): boolean => roles.includes(role);
  const operationsUrl = await openOperations(parts, progress);
  for (const { prepare } of FEATURES) await prepare?.(parts);
  if (hasRole('deliver')) await openDelivery(parts);
  const matcher = hasRole('intake') ? await openIntake(parts, databaseUrl) : null;
  progress.isIndexLoaded = true;
  const apiUrl = hasRole('api') ? await openApi(parts, databaseUrl, matcher) : null;
  for (const { name, open } of FEATURES) if (hasRole(name)) await open?.(parts);
  const adminAddress = hasRole('admin') ? await openAdmin(parts, matcher) : null;
  return { apiUrl, operationsUrl, adminAddress };
}

/** The process was asked to end before it was ready. */
export class StartBrokenOffError extends Error {
  readonly code = 'START_BROKEN_OFF';
}

const CONNECTIONS_MAX = 256;
const RETRY_AFTER_SECONDS = '5';

/** Answers while the service cannot start: the operations port with the reason, the API with status 503. */
function createPlaceholderServers({ roles, operations, api }: Config, log: Log) {
  const bounds = { connectionsMax: CONNECTIONS_MAX };
  let reason = '';
  let servers: readonly Server[] = [];
  const checks = {
    started() {
      throw new Error(reason);
    },
  };
  const metrics = { metrics: async () => '', metricsContentType: 'text/plain' };
  const refusing = new Koa().use(reportProblems({ error: () => undefined })).use(() => {
    throw new Problem(503, REFUSALS.starting, { headers: { 'Retry-After': RETRY_AFTER_SECONDS } });
  });
  return {
    /** Listens, unless it already does, and answers with `why`. */
    async open(why: string): Promise<void> {
      reason = why;
      if (servers.length > 0) return;
      const ending = new AbortController().signal;
      const ours = createHttpServer(createOperations({ checks, ...metrics, logger: log }).callback(), bounds);
      const clients = createHttpServer(refusing.callback(), bounds);
      servers = roles.includes('api') ? [ours, clients] : [ours];
      await Promise.all([listen(ours, operations, ending), servers.length > 1 && listen(clients, api, ending)]);
    },
    /** Resolves when the ports are free. */
    async close(): Promise<void> {
      await Promise.all(servers.map((server) => closeServer(server)));
      servers = [];
    },
  };
}

class PortTakenError extends Error {
  readonly code = 'PORT_TAKEN';
}

/**
 * Runs before anything opens, because an instance that failed later would already have taken over work. Throws
 * `PortTakenError`, which names every unavailable port and its setting.
 */
async function assertPortsFree({ roles, operations, api, admin }: Config): Promise<void> {
  const wanted = [
    { setting: 'VIGIE_OPERATIONS', ...operations },
    ...(roles.includes('api') ? [{ setting: 'VIGIE_API', ...api }] : []),
    ...(roles.includes('admin') ? [{ setting: 'VIGIE_ADMIN', ...admin }] : []),
  ];
  const problems = await Promise.all(wanted.map(problemOf));
  const found = problems.filter((problem) => problem !== null);
  if (found.length > 0) throw new PortTakenError(found.join('\n'));
}

/** Null if the address is available. */
function problemOf({ setting, host, port }: Readonly<{ setting: string; host: string; port: number }>) {
  return tryPort(host, port).then(
    () => null,
    ({ code, message }: NodeJS.ErrnoException) =>
      code === 'EADDRINUSE'
        ? `Another program listens on ${host}:${port}. Stop it, or set ${setting}_ADDRESS to a free port (0 selects one).`
        : `Cannot listen on ${host}:${port} (${message}). Correct ${setting}_ADDRESS.`,
  );
}
