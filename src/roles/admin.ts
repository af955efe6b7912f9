/** Opens the admin interface (gRPC). No other role imports `grpc/`. */

import { announceChange } from '../engine/broker/announcements.ts';
import { findOtherLead } from '../engine/broker/lead-claims.ts';
import { publish } from '../engine/broker/publish.ts';
import { requeuedHeader } from '../engine/broker/retry-messages.ts';
import { adoptTopology, readStreamFigures } from '../engine/broker/topology-inspection.ts';
import type { Matcher } from '../engine/intake/matcher.ts';
import { FEATURES } from '../features.ts';
import type { Adoption } from '../grpc/dependencies.ts';
import { startAdminServer } from '../grpc/server.ts';
import { dataDirectoryPath, readOrMakeToken } from '../local/data-directory.ts';
import { VERSION } from '../version.ts';
import type { Parts } from './parts.ts';

/** Resolves with the address as `host:port`. */
export async function openAdmin(parts: Parts, matcher: Matcher | null): Promise<string> {
  const { config, log, metrics, database, broker, announcer, reference, feed, heartbeat } = parts;
  const { ending, announced, draining } = parts;
  const { token, clientAuthorities } = config.admin;
  const isTokenNeeded = token === null && clientAuthorities === null;
  const server = await startAdminServer(
    { ...config.admin, token: isTokenNeeded ? await readOrMakeToken(dataDirectoryPath(config.dataDir)) : token },
    {
      database,
      askThread: parts.askThread,
      dataDirectory: parts.dataDirectory,
      version: VERSION,
      retentionDays: config.retentionDays,
      reference,
      logger: log,
      now: () => new Date(),
      readStreams: async () => (broker.isConnected() ? readStreamFigures(broker) : []),
      adoptStreams: (isTrial) => adoptStreams(parts, isTrial),
      async controlsChanged() {
        announceChange(broker, 'controls');
        await heartbeat.refresh();
      },
      keysChanged: () => announceChange(broker, 'keys'),
      isIndexed: (number) => matcher?.has(number) ?? null,
      announceDue: announcer.announce,
      isMailAvailable: config.mail !== null,
      requeueMail: async (id) => (await FEATURES.find(({ requeue }) => requeue)?.requeue?.(database, id)) ?? null,
      async republish({ id, subject, headers, body, streamNumber, sequence }) {
        // Drops NATS's headers: the old message id would count as a duplicate, and the others apply to one publication.
        const kept = Object.entries(headers).filter(([name]) => !/^nats-/i.test(name));
        await publish(broker, {
          subject,
          // A promoted standby may give the id to another letter.
          messageId: `dead-letter-${id}-${streamNumber}-${sequence}`,
          bytes: body,
          headers: { ...requeuedHeader(streamNumber, sequence), ...Object.fromEntries(kept) },
        });
      },
      watch: (onActivities) => feed.watch(onActivities),
      onCall: (code) => metrics.adminCalls.inc({ code }),
    },
  );
  ending.addEventListener('abort', () => server.setServing(false), { once: true });
  draining('admin', async () => {
    await announced();
    await server.stop();
  });
  return server.address;
}

/** Refuses while an instance with another database takes in adverts: both would send the same notifications. */
async function adoptStreams(
  { broker, databaseLocation, topology, heartbeat }: Parts,
  isTrial: boolean,
): Promise<Adoption> {
  const refusal = await findOtherLead(broker, databaseLocation);
  if (refusal !== null) return { refusal, adopted: [] };
  const adopted = await adoptTopology(broker, isTrial);
  if (!isTrial) await topology.check();
  await heartbeat.refresh();
  return { refusal, adopted };
}
