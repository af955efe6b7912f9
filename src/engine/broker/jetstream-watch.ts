/**
 * Checks whether JetStream answers at the connected server. A server that is cut off from its cluster still serves its
 * clients, but stores and hands out nothing: the connection then moves to another server. Time is counted in checks, so
 * that a suspended process does not attribute its own silence to the server.
 */

import { millis } from 'nats';
import { startTask } from '../actor/task.ts';
import { inTime } from '../actor/waiting.ts';
import type { Broker } from './connection.ts';
import { BrokerSilentError } from './outage.ts';
import { ADVERTS_STREAM, isMissing } from './topology.ts';

export interface JetStreamWatch {
  /** Milliseconds without an answer of JetStream from any server; 0 while it answers. */
  readonly silentMs: number;
  /** Nothing can be pulled here; another instance may still pull. */
  readonly isSilent: boolean;
  stop(): Promise<void>;
}

export interface JetStreamWatchOptions {
  readonly broker: Broker;
  /** Called before the connection leaves a server, if there is another, with the time without an answer. */
  readonly onMove: (silentMs: number) => void;
}

/** A cluster that has lost a server elects new leaders within about six seconds. */
const SILENT_MS = 10_000;
const CHECK_EVERY_MS = 1_000;
const ANSWER_MAX_MS = 2_000;
/** Two checks are at most this far apart, unless the process was frozen in between. */
const CHECKS_APART_MAX_MS = CHECK_EVERY_MS + ANSWER_MAX_MS;
/** The members of a group answer their leader every second. */
const UNHEARD_MS = 3_000;
/** A leader that was just elected has heard from no member yet: such a time counts no more than this. */
const UNHEARD_COUNTED_MS = 5_000;
const RECONNECT_CHECK_MS = 100;
/** The pause between two rounds over all servers: in a cluster without a majority JetStream answers at none. */
const ROUND_PAUSE_MS = 60_000;

export function startJetStreamWatch({ broker, onMove }: JetStreamWatchOptions): JetStreamWatch {
  const rounds = createRounds(broker);
  let silentMs = 0;
  /** Milliseconds without an answer at the current server. */
  let silentHereMs = 0;
  let checkedAt = performance.now();

  async function check(): Promise<number | void> {
    const server = broker.connection.info?.server_id;
    if (!broker.isConnected() || server === undefined) return RECONNECT_CHECK_MS;
    // The client first reconnects to the server that it has just left.
    if (rounds.hasLeft(server)) return rounds.leave(server, () => undefined);
    const beganAt = performance.now();
    const unheardMs = await readUnheardMs(broker);
    const now = performance.now();
    const passedMs = Math.min(now - checkedAt, CHECKS_APART_MAX_MS);
    checkedAt = now;
    if (unheardMs !== null && unheardMs < UNHEARD_MS) {
      silentMs = 0;
      silentHereMs = 0;
      rounds.end(now);
      return;
    }
    const provenMs = Math.min(unheardMs ?? 0, UNHEARD_COUNTED_MS);
    silentMs = Math.max(silentMs + passedMs, provenMs);
    silentHereMs = Math.max(silentHereMs + passedMs, provenMs);
    if (silentHereMs < SILENT_MS || now < rounds.nextAt) return Math.max(0, beganAt + CHECK_EVERY_MS - now);
    silentHereMs = 0;
    return rounds.leave(server, () => onMove(silentMs));
  }

  const { stop } = startTask({ what: 'check JetStream', everyMs: CHECK_EVERY_MS, work: check });
  return {
    get silentMs() {
      return silentMs;
    },
    get isSilent() {
      return silentMs >= SILENT_MS;
    },
    stop,
  };
}

/** Moves the connection through the servers, each once per round. */
function createRounds({ connection, addresses }: Broker) {
  /** Ids of the servers left in this round. */
  const left = new Set<string>();
  let moves = 0;
  let nextAt = 0;

  function end(next: number): void {
    left.clear();
    moves = 0;
    nextAt = next;
  }

  return {
    /** When the next round may begin. */
    get nextAt() {
      return nextAt;
    },
    hasLeft: (server: string) => left.has(server),
    end,
    /** Resolves with the milliseconds to the next check. `onMove`: called when there is another server. */
    async leave(server: string, onMove: () => void): Promise<number> {
      left.add(server);
      moves += 1;
      const servers = Math.max(addresses, connection.info?.connect_urls?.length ?? 0);
      // The client may reach fewer servers than there are.
      if (left.size >= servers || moves > 2 * servers) {
        end(performance.now() + ROUND_PAUSE_MS);
        return CHECK_EVERY_MS;
      }
      onMove();
      await connection.reconnect();
      return RECONNECT_CHECK_MS;
    },
  };
}

/**
 * Milliseconds since the leader of `ADVERTS` has heard from a majority: a leader that is cut off still considers itself
 * the leader for up to twenty seconds. 0 for a missing stream; null when JetStream does not answer or has no leader.
 */
async function readUnheardMs({ manager }: Broker): Promise<number | null> {
  try {
    const late = (): Error => new BrokerSilentError('JetStream does not answer');
    const { cluster } = await inTime(manager.streams.info(ADVERTS_STREAM), ANSWER_MAX_MS, late);
    if (cluster === undefined) return 0;
    if (!cluster.leader) return null;
    const unheard = (cluster.replicas ?? []).map(({ active }) => millis(active)).sort((one, other) => one - other);
    const others = Math.floor((unheard.length + 1) / 2);
    return unheard[others - 1] ?? 0;
  } catch (error) {
    return isMissing(error) ? 0 : null;
  }
}
