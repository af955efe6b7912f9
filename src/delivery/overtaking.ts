/**
 * Past a flood in the stream. A stream hands out its messages in their order, so while very many come in for some
 * endpoints, those of the others stand behind them, for as long as it takes to read and park the flood. A message is only
 * a hint, and PostgreSQL has the row: while the stream is behind, the newest first attempts are looked up there, and those
 * whose endpoint has nothing else to do go ahead of their messages. These are pulled later, and find the row served.
 */

import { startTask } from '../actor/task.ts';
import { pause } from '../actor/waiting.ts';
import type { PulledMessage } from '../broker/pull.ts';
import type { Database } from '../store/database.ts';
import { type DeliveryAddress, readNewestQueued } from '../store/deliveries.ts';
import type { FairRound } from '../webhooks/fair-round.ts';
import type { DeliveryAttempts, WaitingDelivery } from './attempts.ts';

export interface OvertakingDependencies {
  readonly database: Database;
  readonly round: FairRound<WaitingDelivery>;
  readonly attempts: DeliveryAttempts;
  readonly onTrouble: (what: string, error: Error) => void;
}

export interface Overtaking {
  /** Call it with every message pulled, and how many of those before it are not put away yet. */
  note(message: PulledMessage, aheadCount: number): void;
  /** Resolves when nothing is being looked up any more. */
  stop(): Promise<void>;
}

/** So many messages before the newest one are a flood: a courier takes as many in a twentieth of a second. */
const BEHIND_FROM = 128;
/** Newest first attempts that a look reads: what a fast recorder writes between two of them, several times over. */
const LOOK_MAX = 512;
/** Between two looks; at least as long as the last one took, so that PostgreSQL is not asked to death. */
const REST_MIN_MS = 10;
const REST_MAX_MS = 1_000;

export function startOvertaking({ database, round, attempts, onTrouble }: OvertakingDependencies): Overtaking {
  /** Rests as a part of its run: it is asked for again as long as messages go on telling of a flood. */
  async function look(stopping: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    try {
      // The oldest of them first: an endpoint is told things in the order in which they happened.
      for (const address of (await readNewestQueued(database, LOOK_MAX)).toReversed()) {
        if (!stopping.aborted) admit(address);
      }
    } finally {
      const tookMs = performance.now() - startedAt;
      await pause(Math.min(REST_MAX_MS, Math.max(REST_MIN_MS, tookMs)), stopping);
    }
  }

  /** Its endpoint must have nothing in hand: what has is served by the stream, and fairly. */
  function admit(address: DeliveryAddress): void {
    const lane = round.lane(address.endpointKey);
    if (lane.waiting > 0 || lane.mayHaveParked || lane.isBlocked(performance.now())) return;
    const waiting = { ...address, isRetry: false, dueAt: 0, message: NO_MESSAGE, admittedAt: performance.now() };
    if (attempts.holds(address.id) || !round.add(address.endpointKey, waiting, false)) return;
    attempts.hold(waiting);
    attempts.pump();
  }

  const looking = startTask({ what: 'overtaking', everyMs: Number.POSITIVE_INFINITY, work: look, onTrouble });
  return {
    note({ pendingCount = 0 }, aheadCount) {
      // At first a flood is handed out as fast as it comes, and waits here alone.
      if (Math.max(pendingCount, aheadCount) >= BEHIND_FROM) looking.ask();
    },
    stop: looking.stop,
  };
}

/** Until the true one is pulled, and takes its place. */
const NO_MESSAGE: PulledMessage = {
  stream: 'none',
  consumer: 'none',
  sequence: 0,
  subject: '',
  headers: {},
  bytes: new Uint8Array(),
  settle: () => Promise.resolve(),
};
