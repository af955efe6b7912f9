/**
 * Checks whether JetStream answers at the connected server. A server that is cut off from its cluster still accepts
 * clients but neither stores nor delivers messages, so the connection moves to another server. The silence counted
 * between two checks is limited, so that the time while a process was suspended hardly counts.
 */

import { type ClusterInfo, millis } from 'nats';
import { startTask } from '../actor/task.ts';
import { inTime } from '../actor/waiting.ts';
import type { Broker } from './connection.ts';
import { BrokerSilentError } from './outage.ts';
import { ADVERTS_STREAM, isMissing } from './topology.ts';

export type JetStreamWatch = ReturnType<typeof startJetStreamWatch>;

export interface JetStreamWatchOptions {
  readonly broker: Broker;
  /** Called when the connection first leaves a silent server, with the milliseconds without an answer. */
  readonly onMove: (silentMs: number) => void;
}

/** After this silence the connection moves. A cluster that has lost a server elects leaders in about six seconds. */
const SILENT_MS = 10_000;
const CHECK_EVERY_MS = 1_000;
const ANSWER_MAX_MS = 2_000;
/** Two checks are at most this far apart, unless the process was suspended or disconnected between them. */
const CHECKS_APART_MAX_MS = CHECK_EVERY_MS + ANSWER_MAX_MS;
/** A leader that a majority has not answered for this long may be cut off: followers answer it every second. */
const UNHEARD_MS = 3_000;
/** A leader that was just elected has not heard from any follower yet, so at most this much silence is counted. */
const UNHEARD_COUNTED_MS = 5_000;
const RECONNECT_CHECK_MS = 100;
/** Pause between two rounds through all servers: if the cluster has no majority, JetStream answers at no server. */
const ROUND_PAUSE_MS = 60_000;

export function startJetStreamWatch({ broker, onMove }: JetStreamWatchOptions) {
  const rounds = createRounds(broker);
  let silentMs = 0;
  /** Milliseconds without an answer from the current server. */
  let silentHereMs = 0;
  let checkedAt = performance.now();

  async function check(): Promise<number | void> {
    const server = broker.connection.info?.server_id;
    if (!broker.isConnected() || server === undefined) return RECONNECT_CHECK_MS;
    // The client may have reconnected to the server that it has just left.
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
    /** Milliseconds since JetStream last answered with a majority of its servers; 0 while it does. */
    get silentMs() {
      return silentMs;
    },
    /** True if JetStream has been silent too long to pull here. Another instance may still be able to pull. */
    get isSilent() {
      return silentMs >= SILENT_MS;
    },
    stop,
  };
}

/** Moves the connection through the servers, each once per round. */
function createRounds({ connection, addresses }: Broker) {
  /** Ids of the servers that were left in this round. */
  const left = new Set<string>();
  let moves = 0;
  let nextAt = 0;

  function end(next: number): void {
    left.clear();
    moves = 0;
    nextAt = next;
  }

  return {
    /** The earliest time at which the next round may begin, in monotonic milliseconds. */
    get nextAt() {
      return nextAt;
    },
    hasLeft: (server: string) => left.has(server),
    end,
    /** Resolves with the milliseconds until the next check. Calls `onMove` if there is another server. */
    async leave(server: string, onMove: () => void): Promise<number> {
      left.add(server);
      moves += 1;
      const servers = Math.max(addresses, connection.info?.connect_urls?.length ?? 0);
      // The number of moves is limited too, because the client may be unable to reach some servers.
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
 * Milliseconds since the leader of `ADVERTS` heard from a majority. A leader that is cut off still leads in its own
 * view for up to twenty seconds. 0 for a single server or a missing stream; null if no leader answers.
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
