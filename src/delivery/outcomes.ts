/**
 * After an attempt: its outcome is committed first, in batches; only then is the message settled, so that what JetStream
 * forgets or repeats is decided by the row. A first failure moves the delivery to the retries' partitions; there its
 * message is handed back with the delay, again and again.
 */

import { type Grace, spawn } from '../actor/actor.ts';
import { InFlight } from '../actor/in-flight.ts';
import { nullWhenGivenUp, patienceUntil, persist, type Supervisor, troubleWatch } from '../actor/supervisor.ts';
import { acknowledgeAll } from '../broker/acknowledge.ts';
import type { Broker } from '../broker/connection.ts';
import { retryOf } from '../broker/delivery-messages.ts';
import { type Publication, publishAll } from '../broker/publish.ts';
import type { PulledMessage } from '../broker/pull.ts';
import { type AttemptOutcome, afterAttempt } from '../domain/delivery.ts';
import { recordAttempts, type SettledAttempt } from '../store/attempts.ts';
import type { Database } from '../store/database.ts';
import type { ClaimedDelivery } from '../store/delivery-claims.ts';

export interface OutcomeDependencies {
  readonly broker: Broker;
  readonly database: Database;
  readonly retryDelayMs: number;
  readonly onAttempt: (settled: SettledAttempt) => void;
  readonly supervisor: Supervisor;
  readonly onTrouble: (what: string, error: Error) => void;
}

export interface EndedAttempt {
  readonly delivery: ClaimedDelivery;
  readonly outcome: AttemptOutcome;
  /** Monotonic milliseconds. */
  readonly endedAt: number;
  /**
   * Null when the delivery was drawn from the parked ones. Its message is looked at when the outcome is recorded: until
   * then JetStream may hand out another one, and the newest is the one to settle.
   */
  readonly hint: { readonly message: PulledMessage; readonly isRetry: boolean } | null;
  readonly onRecorded: () => void;
}

export interface DeliveryOutcomes {
  /** Resolves on admission. */
  tell(ended: EndedAttempt): Promise<void>;
  /** Resolves when everything told is recorded and its messages are settled. */
  drain(grace?: Grace): Promise<void>;
}

const OUTCOMES_MAX = 256;
/** Their clients have their alerts already: a commit for each few outcomes would only hold up the claims of others. */
const GATHER_MS = 20;

export function startDeliveryOutcomes(dependencies: OutcomeDependencies): DeliveryOutcomes {
  const { database, onAttempt, supervisor } = dependencies;
  const settling = new InFlight();
  const draining = new AbortController();

  const actor = spawn<EndedAttempt>({
    name: 'outcomes',
    mailboxMax: OUTCOMES_MAX,
    batchMax: OUTCOMES_MAX,
    gatherMs: GATHER_MS,
    supervisor,
    // Its slot must not stay taken; the sweeper counts the attempt as aborted when its lease ends.
    setAside: async ({ onRecorded }) => onRecorded(),
    async receive(batch) {
      const settled = batch.map((ended) => settledOf(ended, dependencies.retryDelayMs));
      await recordAttempts(database, settled);
      for (const each of settled) onAttempt(each);
      for (const { onRecorded } of batch) onRecorded();
      // Not awaited: a NATS server that is away would hold up the recording. What is not settled comes back.
      settling.add(settleMessages(batch, settled, dependencies, draining.signal));
    },
  });
  return {
    tell: (ended) => actor.tell(ended),
    async drain(grace) {
      await actor.drain(grace);
      draining.abort();
      await settling.ended();
    },
  };
}

/** The delay runs from the end of the attempt, however long the outcome waited here. */
function settledOf({ delivery, outcome, endedAt }: EndedAttempt, retryDelayMs: number): SettledAttempt {
  const { id, searchNumber, endpointKey, attemptCount, attemptsSpent, traceparent } = delivery;
  const after = afterAttempt(attemptCount - attemptsSpent, outcome, retryDelayMs);
  const retryInMs = retryDelayMs - (performance.now() - endedAt);
  return { id, searchNumber, endpointKey, attemptCount, outcome, after, retryInMs, traceparent };
}

async function settleMessages(
  batch: readonly EndedAttempt[],
  settled: readonly SettledAttempt[],
  dependencies: OutcomeDependencies,
  draining: AbortSignal,
): Promise<void> {
  const retries: Publication[] = [];
  const moved: PulledMessage[] = [];
  const done: PulledMessage[] = [];
  for (const [position, { delivery, hint }] of batch.entries()) {
    const { after, retryInMs, attemptCount } = settled[position] as SettledAttempt;
    if (after.state !== 'retry_wait') {
      if (hint !== null) done.push(hint.message);
    } else if (hint?.isRetry) {
      void hint.message.settle({ type: 'nak', delayMs: Math.max(1, retryInMs) });
    } else {
      retries.push(retryOf(dependencies.broker, delivery, Date.now() + retryInMs, `${delivery.id}-${attemptCount}`));
      if (hint !== null) moved.push(hint.message);
    }
  }
  const acknowledged = acknowledgeAll(done);
  if (await publishUntilHeld(retries, dependencies, draining)) await acknowledgeAll(moved);
  await acknowledged;
}

/**
 * Without its message a retry would come only when the sweeper misses it, so a NATS server that is away is waited for;
 * false when the daemon cannot wait any longer.
 */
async function publishUntilHeld(
  publications: readonly Publication[],
  { broker, onTrouble }: OutcomeDependencies,
  draining: AbortSignal,
): Promise<boolean> {
  const publish = () => publishAll(broker, publications).then(() => true);
  const held = persist(publish, troubleWatch('publish retries', onTrouble), patienceUntil(draining));
  return (await held.catch(nullWhenGivenUp)) ?? false;
}
