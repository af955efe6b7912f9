/**
 * Tracks which servers have no room, from the first error about this until a probe write succeeds. Other writes may
 * succeed in between and prove nothing.
 */

import { startTask } from '../actor/task.ts';
import { brokerReason, isBrokerFull } from '../broker/outage.ts';
import { isDatabaseFull } from '../store/outage.ts';

export type StoreServer = 'PostgreSQL' | 'NATS';

export type FullServers = ReturnType<typeof createFullServers>;

const PROBE_EVERY_MS = 5_000;

const REMEDIES: Readonly<Record<StoreServer, string>> = {
  PostgreSQL: 'free some space on its disk',
  NATS: 'free some space in its store or on its disk, and restart nats-server if the disk was full',
};

export function createFullServers() {
  const full = new Map<StoreServer, string>();
  return {
    /** Notes an error if it, or one of its causes, reports that a server is full. */
    note(error: Error) {
      for (let each: unknown = error; each instanceof Error; each = each.cause) {
        if (isDatabaseFull(each)) full.set('PostgreSQL', each.message);
        else if (isBrokerFull(each)) full.set('NATS', brokerReason(each));
      }
    },
    isFull: (server: StoreServer) => full.has(server),
    /** A sentence for operators; null while no server is known to be full. */
    get reason() {
      const reasons = [...full].map(([server, message]) => `${server} has no room (${message}): ${REMEDIES[server]}`);
      return reasons.length === 0 ? null : reasons.join('; ');
    },
    /** Each of `probes` resolves when its server has written. */
    startProbing: (probes: Readonly<Record<StoreServer, () => Promise<void>>>) =>
      startTask({
        what: 'probe writes',
        everyMs: PROBE_EVERY_MS,
        async work() {
          const probing = [...full.keys()].map((server) =>
            probes[server]().then(
              () => full.delete(server),
              // The server is still full or is unavailable, which other checks report.
              () => false,
            ),
          );
          await Promise.all(probing);
        },
      }),
  };
}
