/**
 * From the dispatched message to the client's endpoint. Every pulled message waits in the lane of its endpoint or, when
 * that has no room, is parked; so pulling never stops, and no endpoint stands before another. Slots are given out in a
 * fair round (webhooks/fair-round.ts); with a slot a delivery is claimed, sent, recorded, and its message settled.
 */

import { startGrace } from '../actor/actor.ts';
import type { Supervisor } from '../actor/supervisor.ts';
import type { Broker } from '../broker/connection.ts';
import { hintOf } from '../broker/delivery-messages.ts';
import type { PulledMessage } from '../broker/pull.ts';
import type { Valve } from '../broker/valve.ts';
import type { Uuid } from '../domain/ids.ts';
import type { SettledAttempt } from '../store/attempts.ts';
import type { Database } from '../store/database.ts';
import type { WebhookSecrets } from '../store/webhook-secrets.ts';
import { FairRound } from '../webhooks/fair-round.ts';
import type { Sender } from '../webhooks/sender.ts';
import { DeliveryAttempts, type WaitingDelivery } from './attempts.ts';
import type { DocumentCache } from './document-cache.ts';
import { startEndpointUpkeep } from './endpoint-upkeep.ts';
import { startDeliveryOutcomes } from './outcomes.ts';
import { startOvertaking } from './overtaking.ts';
import { startParking } from './parking.ts';
import { startDeliveryPulls } from './pulls.ts';
import { createStreamRestoration } from './stream-restoration.ts';
import { republishInterrupted } from './sweeper.ts';

export interface CourierDependencies {
  readonly broker: Broker;
  readonly database: Database;
  readonly documents: Pick<DocumentCache, 'read'>;
  readonly secrets: Pick<WebhookSecrets, 'read'>;
  readonly sender: Pick<Sender, 'send'>;
  readonly retryDelayMs: number;
  readonly attemptTimeoutMs: number;
  /** Slots: attempts under way or being recorded. */
  readonly attemptsInFlightMax: number;
  /** Closed, it pauses the stage: nothing is pulled and no attempt starts. */
  readonly valve?: Valve;
  /** Told of each claim that PostgreSQL has answered. */
  readonly onClaimed?: () => void;
  readonly onAttempt: (settled: SettledAttempt) => void;
  readonly supervisor: Supervisor;
  readonly onTrouble: (what: string, error: Error) => void;
}

export interface Courier {
  /** Deliveries pulled and not yet settled: waiting in memory for a slot, being sent, being recorded. */
  readonly inFlight: number;
  /** Whether the delivery is one of them. */
  holds(id: Uuid): boolean;
  /** Stops pulling, hands back what waits; resolves when the attempts under way are recorded and settled. */
  drain(): Promise<void>;
}

const WAITING_MAX = 16_384;
/** No endpoint holds more than this share of the slots. */
const LANE_SHARE = 1 / 8;
/** With an attempt at an endpoint that hangs, less than a process is given to end. */
const RECORD_GRACE_MS = 10_000;

export async function startCourier(dependencies: CourierDependencies): Promise<Courier> {
  const { broker, database, supervisor, onTrouble } = dependencies;
  const restoration = createStreamRestoration(dependencies);
  await restoration.ensure();
  await republishInterrupted(broker, database);
  const round = openRound(dependencies);
  const outcomes = startDeliveryOutcomes(dependencies);
  const park = async ({ id, endpointKey, message }: WaitingDelivery): Promise<void> => {
    attempts.forget(id);
    await parking.tell({ id, endpointKey, message });
  };
  const attempts = new DeliveryAttempts(round, outcomes, park, dependencies);
  const parking = startParking(database, attempts.noteParked, supervisor);
  const { followers, pump } = attempts;
  const upkeep = await startEndpointUpkeep({ database, round, followers, park, pump, onTrouble });
  const overtaking = startOvertaking({ database, round, attempts, onTrouble });

  /** What waits in memory, taken out of it. */
  function takeWaiting(): PulledMessage[] {
    const waiting = [...[...round.lanes()].flatMap((lane) => round.empty(lane)), ...followers.takeAll()];
    for (const { id } of waiting) attempts.forget(id);
    return waiting.map(({ message }) => message);
  }

  const take = taking(round, attempts, park);
  const pulls = startDeliveryPulls({
    ...dependencies,
    ensure: restoration.ensure,
    onMessage(message) {
      overtaking.note(message, parking.depth);
      return take(message);
    },
    takeBack: () => [...takeWaiting(), ...attempts.takeBack(), ...parking.takeBack()],
  });
  return {
    get inFlight() {
      return round.waiting + followers.count + round.inFlight;
    },
    holds: (id) => attempts.holds(id),
    async drain() {
      attempts.stopStarting();
      await Promise.all([upkeep.stop(), overtaking.stop(), restoration.stop(), pulls.stop()]);
      // Handed back, not let go: another instance, or the next start, has them at once.
      for (const message of takeWaiting()) await message.settle({ type: 'nak', delayMs: 0 });
      await attempts.ended();
      const grace = startGrace(RECORD_GRACE_MS);
      await parking.drain(grace);
      await outcomes.drain(grace);
      grace.end();
      await upkeep.writeLast();
      await broker.connection.flush().catch((error: Error) => onTrouble('flush', error));
    },
  };
}

function openRound({ attemptsInFlightMax, attemptTimeoutMs }: CourierDependencies): FairRound<WaitingDelivery> {
  return new FairRound({
    slots: attemptsInFlightMax,
    concurrencyMax: Math.max(2, Math.floor(attemptsInFlightMax * LANE_SHARE)),
    tooLongMs: attemptTimeoutMs / 2,
    waitingMax: WAITING_MAX,
  });
}

/** What becomes of a pulled message. */
function taking(
  round: FairRound<WaitingDelivery>,
  attempts: DeliveryAttempts,
  park: (waiting: WaitingDelivery) => Promise<void>,
): (message: PulledMessage) => Promise<void> {
  return async (message) => {
    const hint = hintOf(message);
    if (hint === null) return message.settle({ type: 'term' });
    const dueInMs = hint.dueAt - Date.now();
    if (dueInMs > 0) return message.settle({ type: 'nak', delayMs: dueInMs });
    const waiting = { ...hint, message, admittedAt: performance.now() };
    if (attempts.isHeld(waiting)) return;
    if (!round.add(hint.endpointKey, waiting, hint.isRetry)) return park(waiting);
    attempts.hold(waiting);
    attempts.pump();
  };
}
