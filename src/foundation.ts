/** Opens what every role stands on: the servers, the connections to them, and this instance among the others. */

import { connectBroker } from './broker/connection.ts';
import type { Config } from './config.ts';
import { openServers } from './embedded/servers.ts';
import type { Log } from './log.ts';
import { createCommuneLocator } from './matching/commune-locator.ts';
import { createMetrics } from './metrics.ts';
import { createObservers } from './observers.ts';
import type { Parts } from './parts.ts';
import { createActivityFeed } from './pipeline/activity.ts';
import { createDocumentCache } from './pipeline/document-cache.ts';
import { startPresence } from './pipeline/presence.ts';
import { loadReference } from './reference/communes.ts';
import { readCommuneCoordinates } from './store/commune-coordinates.ts';
import { migrate, openDatabase } from './store/database.ts';
import { renumberRestored } from './store/search-feed.ts';
import { createTroubles } from './troubles.ts';
import { VERSION } from './version.ts';

export interface Foundation {
  readonly parts: Parts;
  readonly databaseUrl: string;
  readonly natsUrl: string;
  /** Resolves when the service cannot go on, with the reason. */
  readonly failed: Promise<string>;
}

export async function openFoundation(config: Config, log: Log, closing: Parts['closing']): Promise<Foundation> {
  const servers = await openServers(config, (line) => log.debug({ line }, 'embedded server'));
  closing('servers', servers.stop);
  let fail: (reason: string) => void = () => undefined;
  const actorFailed = new Promise<string>((resolve) => {
    fail = resolve;
  });
  const parts = await openParts(config, log, closing, servers, fail);
  const { databaseUrl, natsUrl } = servers;
  return { parts, databaseUrl, natsUrl, failed: Promise.race([servers.lost, actorFailed]) };
}

/** `fail`: told why the service cannot go on. */
async function openParts(
  config: Config,
  log: Log,
  closing: Parts['closing'],
  { databaseUrl, natsUrl }: { readonly databaseUrl: string; readonly natsUrl: string },
  fail: (reason: string) => void,
): Promise<Parts> {
  const metrics = createMetrics(VERSION);
  const troubles = createTroubles(log);
  const { onTrouble } = troubles;
  await migrate(databaseUrl);
  const connecting = {
    url: databaseUrl,
    connectionsMax: config.databaseConnectionsMax,
    onConnectionLost: (error: Error) => onTrouble('connection to PostgreSQL', error),
  };
  const database = openDatabase(connecting);
  closing('database', () => database.end());
  const renumbered = await renumberRestored(database);
  if (renumbered > 0) log.info({ searches: renumbered }, 'the database was restored: its searches are numbered anew');
  const pipelineDatabase = openDatabase({ ...connecting, plans: 'pipeline' });
  closing('database of the pipeline', () => pipelineDatabase.end());
  const broker = await connectBroker({
    url: natsUrl,
    name: `vigie ${VERSION}`,
    onStatus: (status, detail) => log.warn({ status, detail }, 'connection to NATS'),
  });
  closing('broker', () => broker.close());
  const clock = () => new Date();
  const presence = await startPresence({ broker, database, roles: config.roles, version: VERSION, clock, onTrouble });
  closing('presence', () => presence.stop());
  const coordinates = await readCommuneCoordinates(database);
  const feed = createActivityFeed({ broker, database, instanceId: presence.id });
  return {
    ...{ config, log, metrics, database, pipelineDatabase, broker, feed, presence, closing, onTrouble },
    documents: createDocumentCache(pipelineDatabase),
    reference: await loadReference({ nearest: createCommuneLocator, coordinates }),
    observers: createObservers(metrics, log, feed),
    onFailure(failure) {
      metrics.failures.inc({ actor: failure.actor });
      troubles.onFailure(failure);
      if (failure.isFinal) fail(`actor ${failure.actor}: ${failure.error.message}`);
    },
  };
}
