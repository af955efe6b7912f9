/**
 * From the dispatched message to the client's endpoint. A delivery is claimed (its attempt counted) before any byte is
 * sent; its outcome is committed before the message is settled: acknowledged when the delivery is final, handed back
 * with a delay when it is due again. Claims and outcomes go to PostgreSQL in batches.
 */

import { type ActorFailure, spawn } from '../actor/actor.ts';
import type { Broker } from '../broker/connection.ts';
import { type Disposition, type PulledMessage, startPull } from '../broker/pull.ts';
import { DELIVERIES_STREAM, DELIVERY_PARTITIONS, deliveryConsumer, ensureDeliveries } from '../broker/topology.ts';
import type { Valve } from '../broker/valve.ts';
import { type AttemptOutcome, afterAttempt } from '../domain/delivery.ts';
import { bodyOf } from '../domain/routing.ts';
import { type Database, transaction } from '../store/database.ts';
import {
  type ClaimedDelivery,
  claimDeliveries,
  readRefusals,
  recordAttempts,
  type SettledAttempt,
} from '../store/deliveries.ts';
import type { Sender } from '../webhooks/sender.ts';
import { deliveryIdOf } from './dispatcher.ts';
import { createSemaphore } from './semaphore.ts';
import { traceAttempt } from './tracing.ts';

export interface CourierDependencies {
  readonly broker: Broker;
  readonly database: Database;
  readonly sender: Pick<Sender, 'send'>;
  readonly retryDelayMs: number;
  readonly attemptTimeoutMs: number;
  readonly attemptsInFlightMax: number;
  /** Closed, it pauses the stage. */
  readonly valve?: Valve;
  readonly onAttempt: (settled: SettledAttempt) => void;
  readonly onFailure: (failure: ActorFailure) => void;
  readonly onTrouble: (what: string, error: Error) => void;
}

export interface Courier {
  /** Deliveries pulled and not yet settled. */
  readonly inFlight: number;
  /** Stops pulling; resolves when the attempts under way are recorded and settled. */
  drain(): Promise<void>;
}

interface Ended {
  readonly settled: SettledAttempt;
  readonly message: PulledMessage;
}

const CLAIMS_MAX = 64;
const OUTCOMES_MAX = 128;
/** How much longer than an attempt its claim lasts: time to record the outcome. */
const LEASE_MARGIN_MS = 15_000;

export async function startCourier(dependencies: CourierDependencies): Promise<Courier> {
  const { broker, database, valve, onFailure, onTrouble } = dependencies;
  await ensureDeliveries(broker);
  const slots = createSemaphore(dependencies.attemptsInFlightMax);
  const underWay = new Set<Promise<void>>();

  const outcomes = spawn<Ended>({
    name: 'outcomes',
    mailboxMax: OUTCOMES_MAX,
    batchMax: OUTCOMES_MAX,
    supervision: 'retry',
    onFailure,
    async receive(ended) {
      await transaction(database, (client) =>
        recordAttempts(
          client,
          ended.map(({ settled }) => settled),
        ),
      );
      for (const { settled } of ended) dependencies.onAttempt(settled);
      await Promise.all(ended.map(({ settled, message }) => message.settle(dispositionOf(settled, dependencies))));
    },
  });

  const claims = spawn<PulledMessage>({
    name: 'claims',
    mailboxMax: CLAIMS_MAX,
    batchMax: Math.min(CLAIMS_MAX, dependencies.attemptsInFlightMax),
    supervision: 'retry',
    onFailure,
    async receive(messages) {
      const byId = new Map(messages.map((message) => [deliveryIdOf(message), message]));
      await slots.acquire(messages.length);
      const claimed = await claimOrRelease([...byId.keys()], messages.length);
      for (const delivery of claimed) {
        const attempt = makeAttempt(delivery, byId.get(delivery.id) as PulledMessage);
        underWay.add(attempt);
        void attempt.finally(() => underWay.delete(attempt));
        byId.delete(delivery.id);
      }
      await settleRefused(byId);
    },
  });

  async function claimOrRelease(ids: readonly string[], slotCount: number): Promise<readonly ClaimedDelivery[]> {
    try {
      const claimed = await claimDeliveries(database, ids, dependencies.attemptTimeoutMs + LEASE_MARGIN_MS);
      slots.release(slotCount - claimed.length);
      return claimed;
    } catch (error) {
      slots.release(slotCount);
      throw error;
    }
  }

  async function makeAttempt(delivery: ClaimedDelivery, message: PulledMessage): Promise<void> {
    const trace = traceAttempt(delivery);
    const outcome = await dependencies.sender.send({
      id: delivery.id,
      endpoint: delivery.endpoint,
      body: bodyOf(delivery.head, delivery.document),
      token: delivery.token,
      startedAt: delivery.startedAt,
      ...trace.headers,
    });
    trace.end(outcome);
    slots.release(1);
    await outcomes.tell({ settled: settledOf(delivery, outcome, dependencies.retryDelayMs), message });
  }

  /** Final or gone: nothing to do any more. Not due, or another process is at it: look again when it is. */
  async function settleRefused(refused: ReadonlyMap<string, PulledMessage>): Promise<void> {
    if (refused.size === 0) return;
    const refusals = await readRefusals(database, [...refused.keys()]);
    const dueInMs = new Map(refusals.map((refusal) => [refusal.id, refusal.dueInMs]));
    await Promise.all(
      [...refused].map(([id, message]) => {
        const delayMs = dueInMs.get(id) ?? null;
        return message.settle(delayMs === null ? { type: 'ack' } : { type: 'nak', delayMs: Math.max(1, delayMs) });
      }),
    );
  }

  const pulls = Array.from({ length: DELIVERY_PARTITIONS }, (_, partition) =>
    startPull(broker, {
      stream: DELIVERIES_STREAM,
      consumer: deliveryConsumer(partition),
      batchMax: CLAIMS_MAX,
      onMessage: (message) => claims.tell(message),
      onTrouble,
      ensure: () => ensureDeliveries(broker),
      ...(valve === undefined ? {} : { valve }),
    }),
  );
  return {
    get inFlight() {
      return claims.depth + underWay.size + outcomes.depth;
    },
    async drain() {
      await Promise.all(pulls.map((pull) => pull.stop()));
      await claims.drain();
      await Promise.all(underWay);
      await outcomes.drain();
    },
  };
}

function settledOf(delivery: ClaimedDelivery, outcome: AttemptOutcome, retryDelayMs: number): SettledAttempt {
  return {
    id: delivery.id,
    searchNumber: delivery.searchNumber,
    endpointKey: delivery.endpointKey,
    attemptCount: delivery.attemptCount,
    outcome,
    after: afterAttempt(delivery.attemptCount - delivery.attemptsSpent, outcome, retryDelayMs),
  };
}

function dispositionOf({ after }: SettledAttempt, { retryDelayMs }: CourierDependencies): Disposition {
  return after.state === 'retry_wait' ? { type: 'nak', delayMs: retryDelayMs } : { type: 'ack' };
}
