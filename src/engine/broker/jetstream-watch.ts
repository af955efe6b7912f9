/**
 * Checks whether JetStream answers at the connected server. A server that is cut off from its cluster still serves its
 * clients, but stores and delivers nothing: the connection then moves to another server. Time is counted in checks, so
 * that a process that was suspended does not count that time as silence of the server.
 */

import { type ClusterInfo, millis } from 'nats';
import { startTask } from '../actor/task.ts';
import { inTime } from '../actor/waiting.ts';
import type { Broker } from './connection.ts';
import { BrokerSilentError } from './outage.ts';
import { ADVERTS_STREAM, isMissing } from './topology.ts';

export interface JetStreamWatch {
  /** Milliseconds without an answer of JetStream from any server; 0 while it answers. */
  readonly silentMs: number;
  /** True if nothing can be pulled here; another instance may still be able to. */
  readonly isSilent: boolean;
  stop(): Promise<void>;
}

export interface JetStreamWatchOptions {
  readonly broker: Broker;
  /** Called with the time without an answer before the connection moves to another server. */
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
/** A leader that was just elected has not heard from any member yet, so at most this time is counted. */
const UNHEARD_COUNTED_MS = 5_000;
const RECONNECT_CHECK_MS = 100;
/** The pause between two rounds over all servers: without a majority, JetStream answers at none of them. */
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
    // The client may reconnect to the server that it has just left.
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
    /** Resolves with the milliseconds until the next check. `onMove` is called if there is another server. */
    async leave(server: string, onMove: () => void): Promise<number> {
      left.add(server);
      moves += 1;
      const servers = Math.max(addresses, connection.info?.connect_urls?.length ?? 0);
      // Also bounds the moves, because some servers may be unreachable for the client.
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
 * Milliseconds since the leader of `ADVERTS` heard from a majority: a leader that is cut off still considers itself the
 * leader for up to twenty seconds. 0 if the stream is missing; null if JetStream does not answer or has no leader.
 */
async function readUnheardMs({ manager }: Broker): Promise<number | null> {
  try {
    const late = (): Error => new BrokerSilentError('JetStream does not answer');
    const { cluster } = await inTime(manager.streams.info(ADVERTS_STREAM), ANSWER_MAX_MS, late);
    if (cluster === undefined) return 0;
    return cluster.leader ? unheardMsOf(cluster) : null;
  } catch (error) {
    return isMissing(error) ? 0 : null;
  }
}

function unheardMsOf({ replicas = [] }: ClusterInfo): number {
  const unheard = replicas.map(({ active }) => millis(active)).sort((one, other) => one - other);
  const others = Math.floor((unheard.length + 1) / 2);
  return unheard[others - 1] ?? 0;
}

/** Whether the answering leader is in contact with a majority; always true for a single server. */
export function hasMajority(cluster: ClusterInfo | undefined): boolean {
  return cluster === undefined || unheardMsOf(cluster) < UNHEARD_MS;
}
