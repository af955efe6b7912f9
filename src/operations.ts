/** Opens the operations port, where Prometheus and orchestrators ask. A part of the composition root. */

import { createServer } from 'node:http';
import { FAILING_MS, type Supervisor } from './actor/supervisor.ts';
import { createOperations } from './api/operations.ts';
import { closeServer, listen } from './http-listening.ts';
import { measurePools, measureStore, measureStreams } from './measures.ts';
import type { Parts } from './parts.ts';

/** How far this process has come, for `/readyz`. */
export interface Progress {
  phase: 'starting' | 'ready' | 'draining';
  /** True also where there is no index to load. */
  isIndexLoaded: boolean;
}

/** Resolves with its URL. */
export async function openOperations(parts: Parts, progress: Readonly<Progress>): Promise<string> {
  const { config, log, metrics, database, pipelineDatabase, broker, supervisor, closing } = parts;
  measurePools(metrics, [database, pipelineDatabase]);
  measureStore(metrics, database);
  measureStreams(metrics, broker);
  const operations = createServer(
    createOperations({
      checks: {
        started: () => assertThat(progress.phase === 'ready', progress.phase),
        index: () => assertThat(progress.isIndexLoaded, 'not loaded yet'),
        postgresql: async () => void (await database.query('select 1')),
        nats: () => assertThat(broker.isConnected(), 'not connected'),
        actors: () => assertNothing(failingActors(supervisor)),
        intake: () => assertNothing(parts.checks.intake?.() ?? null),
      },
      metrics: () => metrics.registry.metrics(),
      metricsContentType: metrics.registry.contentType,
      logger: log,
    }).callback(),
  );
  const url = await listen(operations, config.operations);
  closing('operations', () => closeServer(operations));
  return url;
}

/** `recorder for 12 s: connect ECONNREFUSED …`; null when every actor works. */
function failingActors(supervisor: Supervisor): string | null {
  const told = supervisor
    .failing(FAILING_MS)
    .map(({ actor, failingForMs, reason }) => `${actor} for ${Math.round(failingForMs / 1_000)} s: ${reason}`);
  return told.length === 0 ? null : told.join('; ');
}

function assertNothing(reason: string | null): void {
  if (reason !== null) throw new Error(reason);
}

function assertThat(holds: boolean, reason: string): void {
  if (!holds) throw new Error(reason);
}
