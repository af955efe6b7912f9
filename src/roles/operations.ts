/** The part of the composition root that opens the operations port, for Prometheus and orchestrators. */

import { FAILING_MS, type Supervisor } from '../engine/actor/supervisor.ts';
import { FEATURES } from '../features.ts';
import { bytesText, readDiskSpace } from '../local/disk-space.ts';
import { embeddedDirectories } from '../local/servers.ts';
import { createOperations } from '../rest/operations.ts';
import { closeServer, createHttpServer, listen } from './http-server.ts';
import { measureDisks, measurePools, measureStore, measureStreams, measureTopology } from './measures.ts';
import type { Parts } from './parts.ts';

/** The state of this process during start-up and shutdown, for `/readyz`. */
export interface Progress {
  phase: 'starting' | 'ready' | 'draining';
  /** Also true if there is no index to load. */
  isIndexLoaded: boolean;
}

/** More than enough for scrapers and orchestrators. */
const CONNECTIONS_MAX = 256;

/** Resolves with the URL of the operations port. */
export async function openOperations(parts: Parts, progress: Readonly<Progress>): Promise<string> {
  const { config, log, metrics, database, pipelineDatabase, broker, clocks, supervisor, stalls, ending, closing } =
    parts;
  measurePools(metrics, [database, pipelineDatabase]);
  measureStore(metrics, database);
  for (const { measure } of FEATURES) measure?.(metrics, database);
  measureStreams(metrics, broker);
  measureTopology(metrics, parts.topology);
  const embedded = embeddedDirectories(config);
  measureDisks(metrics, embedded);
  const operations = createHttpServer(
    createOperations({
      checks: {
        started: () => assertThat(progress.phase === 'ready', progress.phase),
        index: () => assertThat(progress.isIndexLoaded, 'not loaded yet'),
        async postgresql() {
          // A load balancer must learn of the shutdown at once, even if PostgreSQL does not answer.
          assertThat(progress.phase !== 'draining', 'not checked while draining');
          await database.query('select 1');
        },
        progress: () => stalls.assertProgress(),
        nats: () => natsFailure(parts),
        actors: () => assertNothing(failingActors(supervisor)),
        intake: () => assertNothing(parts.checks.intake?.() ?? null),
        streams: () => unlessNeeded(parts, parts.checks.streams?.() ?? null) ?? streamCautions(parts),
        clocks: () => clocks.difference,
        room: () => roomFailure(parts, embedded),
      },
      metrics: () => metrics.registry.metrics(),
      metricsContentType: metrics.registry.contentType,
      logger: log,
    }).callback(),
    { connectionsMax: CONNECTIONS_MAX },
  );
  const url = await listen(operations, config.operations, ending);
  closing('operations', () => closeServer(operations));
  return url;
}

/** The other roles are ready without NATS. */
const NEED_NATS: readonly string[] = ['intake', 'deliver', 'feeds'];
const SILENT_MAX_MS = 30_000;

function natsFailure(parts: Parts): string | null {
  const { silentMs } = parts.jetStream;
  const silence = silentMs < SILENT_MAX_MS ? null : `JetStream has not answered for ${Math.round(silentMs / 1_000)} s`;
  return unlessNeeded(parts, parts.broker.isConnected() ? silence : 'not connected');
}

function streamCautions({ topology }: Parts): string | null {
  const cautions = topology.found?.cautions ?? [];
  return cautions.length === 0 ? null : cautions.join(' ');
}

/** For a process that does not need NATS, a failure is only a caution. */
function unlessNeeded({ config }: Parts, reason: string | null): string | null {
  if (config.roles.some((role) => NEED_NATS.includes(role))) assertNothing(reason);
  return reason;
}

/** Without free space, adverts cannot be recorded. Reading still works, so other roles report only a caution. */
async function roomFailure(
  { config, fullServers }: Parts,
  embedded: ReadonlyMap<string, string>,
): Promise<string | null> {
  const { reason } = fullServers;
  if (config.roles.includes('intake')) assertNothing(reason);
  if (reason !== null) return reason;
  const disks = await Promise.all(
    [...embedded].map(async ([server, path]) => ({ server, ...(await readDiskSpace(path)) })),
  );
  const low = disks.flatMap(({ server, isLow, freeBytes }) =>
    isLow ? [`the disk of ${server} has ${bytesText(freeBytes)} free, less than 5 %: free some space`] : [],
  );
  return low.length === 0 ? null : low.join('; ');
}

/** For example `recorder for 12 s: connect ECONNREFUSED …`; null if every actor works. */
function failingActors(supervisor: Supervisor): string | null {
  const failing = supervisor
    .failing(FAILING_MS)
    .map(({ actor, failingForMs, reason }) => `${actor} for ${Math.round(failingForMs / 1_000)} s: ${reason}`);
  return failing.length === 0 ? null : failing.join('; ');
}

function assertNothing(reason: string | null): void {
  if (reason !== null) throw new Error(reason);
}

function assertThat(holds: boolean, reason: string): void {
  if (!holds) throw new Error(reason);
}
