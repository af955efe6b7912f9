/**
 * Heals what JetStream or a crash can lose: outbox entries whose publisher died, deliveries that should have been
 * attempted long ago, attempts whose process died. In a healthy service it finds nothing; its counts are alarms. However
 * much is overdue, it goes through all of it, a share at a time.
 */

import { startTask, type Task } from '../actor/task.ts';
import type { Broker } from '../broker/connection.ts';
import { publicationOf, retryOf } from '../broker/delivery-messages.ts';
import { type Publication, publishAll } from '../broker/publish.ts';
import { isFirstAttemptOut } from '../broker/stream-figures.ts';
import { afterAttempt } from '../domain/delivery.ts';
import { timeOrderedUuid, type Uuid } from '../domain/ids.ts';
import { dispatchAbandoned } from '../intake/dispatcher.ts';
import {
  type AbandonedAttempt,
  lockAbandonedAttempts,
  recordAttempts,
  type SettledAttempt,
} from '../store/attempts.ts';
import { type Database, transaction } from '../store/database.ts';
import {
  type DueDelivery,
  type OverduePlace,
  parkDeliveries,
  readOverdue,
  readOverduePage,
} from '../store/deliveries.ts';

export interface SweeperDependencies {
  readonly broker: Broker;
  readonly database: Database;
  readonly retryDelayMs: number;
  /** Paused, it sweeps nothing: what waits behind a paused courier is not lost. */
  readonly isPaused?: () => boolean;
  /** Whether the courier of this process has the delivery in memory. */
  readonly isHeld: (id: Uuid) => boolean;
  readonly clock: () => Date;
  readonly onRepair: (repair: Repair) => void;
  readonly onTrouble: (what: string, error: Error) => void;
}

export interface Repair {
  readonly republished: number;
  readonly overdue: number;
  readonly aborted: number;
}

const SWEEP_EVERY_MS = 5_000;
/** A publisher that lives deletes its entry within the publish timeout. */
const OUTBOX_ABANDONED_MS = 10_000;
/** Longer than `ack_wait`, after which JetStream hands a message out again by itself. */
const OVERDUE_MS = 150_000;
const OVERDUE_PAGE = 1_000;
/** More than a courier holds in memory, so that a sweep sees beyond it. */
const OVERDUE_PAGES_MAX = 20;
/** In one sweep: some hundred milliseconds of PostgreSQL's time. */
const PARKED_MAX = 4_000;
const INTERRUPTED_FROM_MS = 2_000;
/** What a courier holds in memory, at most. */
const INTERRUPTED_MAX = 16_384;
const ABORTED_MAX = 1_000;

export function startSweeper(dependencies: SweeperDependencies): Task {
  /** At the start nobody of this process publishes yet. */
  let outboxAgeMs = 0;
  async function sweep(): Promise<void> {
    const ageMs = outboxAgeMs;
    outboxAgeMs = OUTBOX_ABANDONED_MS;
    if (dependencies.isPaused?.() !== true) await sweepOnce(dependencies, ageMs);
  }
  const { onTrouble } = dependencies;
  return startTask({ what: 'sweep', everyMs: SWEEP_EVERY_MS, isDueAtOnce: true, work: sweep, onTrouble });
}

/**
 * For a start, before anything is pulled: a second message for what a crash left in the memory of a courier, so that it
 * need not wait for `ack_wait`. First attempts of which no message is out still have theirs in the stream. Of retries
 * nobody can tell: theirs are out while they wait.
 */
export async function republishInterrupted(broker: Broker, database: Database): Promise<void> {
  const withFirst = await isFirstAttemptOut(broker);
  const overdue = await readOverdue(database, INTERRUPTED_FROM_MS, INTERRUPTED_MAX, withFirst);
  await publishAll(
    broker,
    overdue.map((delivery) => messageAgain(broker, delivery, new Date())),
  );
}

async function sweepOnce(dependencies: SweeperDependencies, outboxAgeMs: number): Promise<void> {
  const { broker, database, onRepair } = dependencies;
  const failures: unknown[] = [];
  const unlessFailed = (work: Promise<number>): Promise<number> =>
    work.catch((error: unknown) => {
      failures.push(error);
      return 0;
    });
  // What is drawn from the table needs no NATS, and goes out while it takes no message.
  const overdue = await unlessFailed(parkOverdue(dependencies));
  const aborted = await unlessFailed(settleAborted(dependencies));
  const republished = await unlessFailed(dispatchAbandoned(broker, database, outboxAgeMs));
  if (aborted + republished + overdue > 0) onRepair({ aborted, republished, overdue });
  if (failures.length > 0) throw failures[0];
}

/**
 * What is overdue is parked: drawn from the table, it needs no message, and it is found here once, whatever its endpoint
 * does. If there is a message after all, it finds the row parked and is forgotten. What this process's courier holds is
 * not lost: it waits for its endpoint.
 */
async function parkOverdue({ database, isHeld }: SweeperDependencies): Promise<number> {
  let parked = 0;
  let after: OverduePlace | null = null;
  for (let page = 0; page < OVERDUE_PAGES_MAX && parked < PARKED_MAX; page++) {
    const overdue = await readOverduePage(database, OVERDUE_MS, after, OVERDUE_PAGE);
    const lost = overdue.map(({ id }) => id).filter((id) => !isHeld(id));
    if (lost.length > 0) await parkDeliveries(database, lost);
    parked += lost.length;
    after = overdue.at(-1) ?? null;
    if (overdue.length < OVERDUE_PAGE) break;
  }
  return parked;
}

/** The identifier is new: the duplicate window would swallow that of the lost message. */
function messageAgain(broker: Broker, delivery: DueDelivery, now: Date): Publication {
  const messageId = `again-${timeOrderedUuid(now)}`;
  if (delivery.attemptCount === 0) return publicationOf(broker, delivery, messageId);
  return retryOf(broker, delivery, now.getTime() + delivery.dueInMs, messageId);
}

/**
 * An attempt whose process died counts as one that failed, due again one delay after it started. Its old message may
 * be gone with the process, so it gets a new one; two messages do no harm.
 */
async function settleAborted({ broker, database, retryDelayMs, clock }: SweeperDependencies): Promise<number> {
  const settled = await transaction(database, async (client) => {
    const abandoned = await lockAbandonedAttempts(client, ABORTED_MAX);
    const attempts = abandoned.map((attempt) => abortedAttempt(attempt, retryDelayMs));
    if (attempts.length > 0) await recordAttempts(client, attempts);
    return attempts;
  });
  const retries = settled.filter(({ after }) => after.state === 'retry_wait');
  await publishAll(
    broker,
    retries.map((attempt) => {
      const dueAt = clock().getTime() + Math.max(0, attempt.retryInMs);
      return retryOf(broker, attempt, dueAt, `${attempt.id}-${attempt.attemptCount}`);
    }),
  );
  return settled.length;
}

function abortedAttempt(abandoned: AbandonedAttempt, retryDelayMs: number): SettledAttempt {
  const { attemptsSpent, startedAt, startedAgoMs, ...attempt } = abandoned;
  const outcome = {
    startedAt,
    durationMs: 0,
    statusCode: null,
    error: 'aborted' as const,
    reason: 'the daemon stopped during the attempt; whether the endpoint received it is unknown',
    responseHead: null,
  };
  const after = afterAttempt(attempt.attemptCount - attemptsSpent, outcome, retryDelayMs);
  return { ...attempt, outcome, after, retryInMs: retryDelayMs - startedAgoMs };
}
