/**
 * Attempts, from the slot to the outcome: take turns from the fair round, claim their deliveries in one batch, send
 * each, and tell the outcome. A turn whose delivery may not be sent now gives its slot back.
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { PulledMessage } from '../broker/pull.ts';
import type { AttemptOutcome } from '../domain/delivery.ts';
import type { Uuid } from '../domain/ids.ts';
import { bodyOf } from '../domain/routing.ts';
import { type ClaimedDelivery, claimDeliveries, claimParked, type Draw, readRefusals } from '../store/deliveries.ts';
import type { FairRound, Turn } from '../webhooks/fair-round.ts';
import type { CourierDependencies } from './courier.ts';
import type { DeliveryHint } from './delivery-messages.ts';
import type { DeliveryOutcomes } from './delivery-outcomes.ts';
import { createDocumentCache } from './document-cache.ts';
import { traceAttempt } from './tracing.ts';

/** A delivery whose message has been pulled. JetStream may hand it out again meanwhile: the newest message counts. */
export interface WaitingDelivery extends DeliveryHint {
  message: PulledMessage;
  /** Monotonic milliseconds. */
  readonly admittedAt: number;
}

export interface Attempts {
  /** Starts what there are slots for. Call it whenever something has come or ended. */
  readonly pump: () => void;
  hold(waiting: WaitingDelivery): void;
  /** True when the delivery is here already; its message is the newer one then. */
  isHeld(waiting: WaitingDelivery): boolean;
  forget(id: Uuid): void;
  stopStarting(): void;
  /** Resolves when every attempt under way has told its outcome. */
  ended(): Promise<void>;
}

type DeliveryTurn = Turn<WaitingDelivery>;

const CLAIMS_MAX = 128;
const CLAIMS_AT_ONCE = 2;
/** How much longer than an attempt its claim lasts: time to record the outcome. */
const LEASE_MARGIN_MS = 15_000;
const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 5_000;

export function createAttempts(
  round: FairRound<WaitingDelivery>,
  outcomes: DeliveryOutcomes,
  dependencies: CourierDependencies,
): Attempts {
  const { database, sender, onFailure } = dependencies;
  const leaseMs = dependencies.attemptTimeoutMs + LEASE_MARGIN_MS;
  const readDocuments = createDocumentCache(database);
  const held = new Map<Uuid, WaitingDelivery>();
  const underWay = new Set<Promise<void>>();
  let claimsUnderWay = 0;
  let isStopping = false;

  function pump(): void {
    while (!isStopping && dependencies.valve?.isOpen !== false && claimsUnderWay < CLAIMS_AT_ONCE) {
      const turns = round.take(CLAIMS_MAX, performance.now());
      if (turns.length === 0) return;
      claimsUnderWay += 1;
      track(
        claimTurns(turns).finally(() => {
          claimsUnderWay -= 1;
          pump();
        }),
      );
    }
  }

  function track(work: Promise<void>): void {
    underWay.add(work);
    void work.finally(() => underWay.delete(work));
  }

  async function claimTurns(turns: readonly DeliveryTurn[]): Promise<void> {
    const { byId, drawn, draws } = sortTurns(turns);
    let expiresAt = 0;
    const claimed = await untilItWorks(async () => {
      expiresAt = performance.now() + LEASE_MARGIN_MS / 2;
      const [hinted, parked] = await Promise.all([
        byId.size === 0 ? [] : claimDeliveries(database, [...byId.keys()], leaseMs),
        draws.length === 0 ? [] : claimParked(database, draws, leaseMs),
      ]);
      return { hinted, parked };
    });
    if (claimed === null) return;
    const snapshotIds = [...claimed.hinted, ...claimed.parked].map(({ snapshotId }) => snapshotId);
    const documents = await untilItWorks(() => readDocuments(snapshotIds));
    if (documents === null) return;
    for (const delivery of claimed.hinted) {
      const turn = byId.get(delivery.id) as DeliveryTurn;
      byId.delete(delivery.id);
      track(attempt(turn, delivery, documents.get(delivery.snapshotId), expiresAt));
    }
    for (const delivery of claimed.parked) {
      const turn = drawn.get(delivery.endpointKey)?.pop() as DeliveryTurn;
      track(attempt(turn, delivery, documents.get(delivery.snapshotId), expiresAt));
    }
    for (const unused of drawn.values()) {
      for (const turn of unused) {
        turn.lane.mayHaveParked = false;
        round.withdraw(turn);
      }
    }
    await settleRefused(byId);
  }

  /**
   * `expiresAt`: when a claim is too old to be used, in monotonic milliseconds. Its lease could end under the request,
   * and another process send a second one; the sweeper counts it as aborted.
   */
  async function attempt(
    turn: DeliveryTurn,
    delivery: ClaimedDelivery,
    document: string | undefined,
    expiresAt: number,
  ): Promise<void> {
    if (performance.now() > expiresAt) {
      held.delete(delivery.id);
      return round.withdraw(turn);
    }
    const { id, endpoint, token, startedAt } = delivery;
    const trace = traceAttempt(delivery);
    const outcome =
      document === undefined
        ? lostSnapshot(delivery)
        : await sender.send({
            id,
            endpoint,
            body: bodyOf(delivery.head, document),
            token,
            startedAt,
            ...trace.headers,
          });
    const endedAt = performance.now();
    trace.end(outcome);
    round.answered(turn, endpoint, outcome);
    pump();
    await outcomes.tell({
      delivery,
      outcome,
      endedAt,
      message: turn.entry?.message ?? null,
      isRetryMessage: turn.entry?.isRetry ?? false,
      onRecorded() {
        held.delete(id);
        round.finish(turn);
        pump();
      },
    });
  }

  /** Final, parked or gone: nothing to do any more. Not due, or another process is at it: look again when it is. */
  async function settleRefused(refused: ReadonlyMap<Uuid, DeliveryTurn>): Promise<void> {
    if (refused.size === 0) return;
    const refusals = await untilItWorks(() => readRefusals(database, [...refused.keys()]));
    if (refusals === null) return;
    const dueInMs = new Map(refusals.map((refusal) => [refusal.id, refusal.dueInMs]));
    for (const [id, turn] of refused) {
      held.delete(id);
      round.withdraw(turn);
      const delayMs = dueInMs.get(id) ?? null;
      track(
        (turn.entry as WaitingDelivery).message.settle(
          delayMs === null ? { type: 'ack' } : { type: 'nak', delayMs: Math.max(1, delayMs) },
        ),
      );
    }
  }

  /**
   * PostgreSQL may be away: the slots stay taken meanwhile, so nothing piles up. Null when the daemon stops first: the
   * messages come back, and a claim whose answer was lost is aborted with its lease.
   */
  async function untilItWorks<T>(work: () => Promise<T>): Promise<T | null> {
    for (let retryInMs = RETRY_FIRST_MS; ; retryInMs = Math.min(2 * retryInMs, RETRY_MAX_MS)) {
      try {
        return await work();
      } catch (error) {
        onFailure({ actor: 'claims', error: error as Error, isFinal: false, retryInMs });
        if (isStopping) return null;
        await wait(retryInMs);
      }
    }
  }

  return {
    pump,
    hold: (waiting) => void held.set(waiting.id, waiting),
    isHeld({ id, message }) {
      const earlier = held.get(id);
      if (earlier !== undefined) earlier.message = message;
      return earlier !== undefined;
    },
    forget: (id) => void held.delete(id),
    stopStarting() {
      isStopping = true;
    },
    async ended() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

interface SortedTurns {
  readonly byId: Map<Uuid, DeliveryTurn>;
  /** Turns for what is parked, by endpoint. */
  readonly drawn: Map<string, DeliveryTurn[]>;
  readonly draws: readonly Draw[];
}

function sortTurns(turns: readonly DeliveryTurn[]): SortedTurns {
  const byId = new Map<Uuid, DeliveryTurn>();
  const drawn = new Map<string, DeliveryTurn[]>();
  for (const turn of turns) {
    if (turn.entry !== null) byId.set(turn.entry.id, turn);
    else drawn.set(turn.lane.key, [...(drawn.get(turn.lane.key) ?? []), turn]);
  }
  return { byId, drawn, draws: [...drawn].map(([endpointKey, { length }]) => ({ endpointKey, count: length })) };
}

/** Somebody has removed the document by hand: nothing can be sent, now or later. */
function lostSnapshot({ startedAt }: ClaimedDelivery): AttemptOutcome {
  const reason = 'the recorded property document is gone';
  return { startedAt, durationMs: 0, statusCode: null, error: 'aborted', reason, responseHead: null };
}
