/**
 * Commits the outcomes of attempts in batches, and announces deliveries that waited for these attempts. Outcomes are
 * reported only after the commit. Publishing the message of a retry on `RETRIES` uses no slot. If the message could not
 * be published, the check in retries.ts releases the row.
 */

import { type Grace, spawn } from '../actor/actor.ts';
import type { Supervisor } from '../actor/supervisor.ts';
import { InFlight } from '../actor/waiting.ts';
import type { DueAnnouncer } from '../broker/announcements.ts';
import type { Broker } from '../broker/connection.ts';
import type { PauseGate } from '../broker/pause-gate.ts';
import { publishRetries } from '../broker/retry-messages.ts';
import { type AttemptOutcome, abortedOutcome, afterAttempt, type DueDelivery } from '../domain/delivery.ts';
import { type AbandonedAttempt, recordAttempts, type SettledAttempt } from '../store/attempts.ts';
import type { Database } from '../store/database.ts';
import type { ClaimedDelivery } from '../store/delivery-claims.ts';
import type { DocumentCache } from '../store/document-cache.ts';
import type { DeadEndpoint, FailureSeries } from '../store/endpoints.ts';
import type { WebhookSecrets } from '../store/webhook-secrets.ts';
import type { Sender } from './sender.ts';

export interface CourierDependencies {
  readonly broker: Broker;
  readonly database: Database;
  readonly announcer: DueAnnouncer;
  readonly documents: Pick<DocumentCache, 'read'>;
  readonly secrets: Pick<WebhookSecrets, 'read'>;
  readonly sender: Pick<Sender, 'send'>;
  readonly retryDelayMs: number;
  readonly attemptTimeoutMs: number;
  /** A courier without a heartbeat for `attemptTimeoutMs` plus this time counts as dead; default 15 s. */
  readonly silentMarginMs?: number;
  /** The number of slots, which is the maximum number of concurrent attempts. */
  readonly attemptsInFlightMax: number;
  readonly clock: () => Date;
  /** While the gate is closed, nothing is pulled or claimed. */
  readonly gate?: PauseGate;
  /** Called for each claim that PostgreSQL has answered. */
  readonly onClaimed?: () => void;
  readonly onAttempt: (settled: SettledAttempt) => void;
  /** Called with the number of retries that were released without a JetStream message. Normally there are none. */
  readonly onMissing: (count: number) => void;
  /** Called with the number of attempts that were aborted because their courier had died. */
  readonly onAborted: (count: number) => void;
  /** An endpoint is paused when 20 or more failures in a row span this many days. With 0, only 410s pause it. */
  readonly endpointPauseDays: number;
  readonly onEndpointDead: (dead: DeadEndpoint) => void;
  /** Called when an endpoint's series of failures begins or ends. */
  readonly onFailureSeries: (series: FailureSeries) => void;
  readonly supervisor: Supervisor;
  readonly onTransientError: (what: string, error: Error) => void;
}

export interface EndedAttempt {
  readonly delivery: ClaimedDelivery;
  readonly holder: number;
  readonly outcome: AttemptOutcome;
  /** Monotonic milliseconds. */
  readonly endedAt: number;
  readonly onRecorded: () => void;
}

export type Settlement = ReturnType<typeof startSettlement>;

const OUTCOMES_MAX = 256;
/** How long outcomes of ended requests are gathered into a batch, because frequent commits would delay claims. */
const GATHER_MS = 20;
/** Maximum number of batches being published. The check in retries.ts releases the rows of further batches. */
const PUBLISHING_MAX = 64;

export function startSettlement(
  { broker, database, retryDelayMs, clock, onAttempt, supervisor, onTransientError }: CourierDependencies,
  onDue: (due: readonly DueDelivery[]) => void,
) {
  const publishing = new InFlight();
  const publish = (settled: readonly SettledAttempt[]): Promise<void> =>
    publishFailed(broker, settled, clock()).catch((error: Error) => onTransientError('publish retries', error));
  let unrecorded = 0;
  const noteRecorded = ({ onRecorded }: EndedAttempt): void => {
    unrecorded -= 1;
    onRecorded();
  };

  async function record(settled: readonly SettledAttempt[]): Promise<void> {
    const due = await recordAttempts(database, settled);
    for (const each of settled) onAttempt(each);
    onDue(due);
    if (publishing.count < PUBLISHING_MAX) publishing.add(publish(settled));
  }

  const actor = spawn<EndedAttempt>({
    name: 'outcomes',
    mailboxMax: OUTCOMES_MAX,
    batchMax: OUTCOMES_MAX,
    gatherMs: GATHER_MS,
    supervisor,
    // If a bug prevents this outcome from being recorded, the attempt counts as aborted, which frees its row.
    async deadLetter(ended) {
      const aborted = abortedAttempt({ ...ended.delivery, holder: ended.holder }, retryDelayMs);
      await record([aborted]).catch(unlessTransient(supervisor, (bug) => onTransientError('outcomes', bug)));
      noteRecorded(ended);
    },
    async receive(batch) {
      await record(batch.map((ended) => settledOf(ended, retryDelayMs)));
      for (const ended of batch) noteRecorded(ended);
    },
  });
  return {
    /** Number of reported outcomes that are not recorded yet. */
    get unrecorded() {
      return unrecorded;
    },
    /** Resolves when the attempt is admitted. */
    tell(ended: EndedAttempt) {
      unrecorded += 1;
      return actor.tell(ended);
    },
    /** Records the attempts of dead couriers as aborted. */
    async abort(abandoned: readonly AbandonedAttempt[]) {
      if (abandoned.length > 0) await record(abandoned.map((attempt) => abortedAttempt(attempt, retryDelayMs)));
    },
    /** Resolves when every reported outcome is recorded and its retries are published, or `grace` is over. */
    async drain(grace: Grace) {
      await actor.drain(grace);
      await Promise.race([publishing.ended(), grace.isOver]);
    },
  };
}

/** Rethrows a transient error: the actor then retries, because nothing else frees the claim of a courier that lives. */
function unlessTransient({ isOperational }: Pick<Supervisor, 'isOperational'>, report: (bug: Error) => void) {
  return (error: Error): void => {
    if (isOperational(error)) throw error;
    report(error);
  };
}

/** Publishes the retries. `now` is by the courier's clock, which determines their due times. */
function publishFailed(broker: Broker, settled: readonly SettledAttempt[], now: Date): Promise<void> {
  const retries = settled.flatMap(({ after, outcome: { startedAt }, retryInMs, ...attempt }) =>
    after.state === 'retry_wait' ? [{ ...attempt, startedAt, dueAtMs: now.getTime() + Math.max(0, retryInMs) }] : [],
  );
  return publishRetries(broker, retries);
}

/** The delay begins at the end of the attempt, however long the outcome waited here. */
function settledOf({ delivery, holder, outcome, endedAt }: EndedAttempt, retryDelayMs: number): SettledAttempt {
  const after = afterAttempt(delivery.attemptCount - delivery.attemptsSpent, outcome, retryDelayMs);
  const retryInMs = retryDelayMs - (performance.now() - endedAt);
  return { ...delivery, holder, outcome, after, retryInMs };
}

/** The attempt counts as failed. Its retry is due `retryDelayMs` after the abort is recorded. */
function abortedAttempt(
  { attemptsSpent, startedAt, ...attempt }: AbandonedAttempt,
  retryDelayMs: number,
): SettledAttempt {
  const reason = 'the daemon did not record the attempt; whether the endpoint received it is unknown';
  const outcome = abortedOutcome(startedAt, reason);
  const after = afterAttempt(attempt.attemptCount - attemptsSpent, outcome, retryDelayMs);
  return { ...attempt, outcome, after, retryInMs: retryDelayMs };
}
