/**
 * Heals what JetStream or a crash can lose: outbox entries whose publisher died, deliveries that should have been
 * attempted long ago, attempts whose process died. In a healthy service it finds nothing; its counts are alarms.
 */

import type { Broker } from '../broker/connection.ts';
import { publishAll } from '../broker/publish.ts';
import { afterAttempt } from '../domain/delivery.ts';
import { timeOrderedUuid } from '../domain/ids.ts';
import { type Database, transaction } from '../store/database.ts';
import { readAbandonedAttempts, readOverdue, recordAttempts, type SettledAttempt } from '../store/deliveries.ts';
import { dispatchAbandoned, publicationOf } from './dispatcher.ts';

export interface SweeperDependencies {
  readonly broker: Broker;
  readonly database: Database;
  readonly retryDelayMs: number;
  /** Paused, it sweeps nothing: what waits behind a paused courier is not lost. */
  readonly isPaused?: () => boolean;
  readonly clock: () => Date;
  readonly onRepair: (repair: Repair) => void;
  readonly onTrouble: (what: string, error: Error) => void;
}

export interface Repair {
  readonly republished: number;
  readonly overdue: number;
  readonly aborted: number;
}

export interface Sweeper {
  stop(): Promise<void>;
}

const SWEEP_EVERY_MS = 5_000;
/** A publisher that lives deletes its entry within the publish timeout. */
const OUTBOX_ABANDONED_MS = 10_000;
/** Longer than `ack_wait`, after which JetStream hands a message out again by itself. */
const OVERDUE_MS = 150_000;
const OVERDUE_MAX = 1_000;
const ABORTED_MAX = 1_000;

export function startSweeper(dependencies: SweeperDependencies): Sweeper {
  let running: Promise<void> | null = sweepOnce(dependencies, 0);
  const timer = setInterval(() => {
    if (running !== null || dependencies.isPaused?.() === true) return;
    running = sweepOnce(dependencies, OUTBOX_ABANDONED_MS).finally(() => {
      running = null;
    });
  }, SWEEP_EVERY_MS);
  void running.finally(() => {
    running = null;
  });
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}

async function sweepOnce(dependencies: SweeperDependencies, outboxAgeMs: number): Promise<void> {
  const { broker, database, onRepair, onTrouble } = dependencies;
  try {
    const aborted = await settleAborted(dependencies);
    const republished = await dispatchAbandoned(broker, database, outboxAgeMs);
    const overdue = await readOverdue(database, OVERDUE_MS, OVERDUE_MAX);
    await publishAll(
      broker,
      overdue.map((address) => publicationOf(address, `sweep-${timeOrderedUuid(dependencies.clock())}`)),
    );
    if (aborted + republished + overdue.length > 0) onRepair({ aborted, republished, overdue: overdue.length });
  } catch (error) {
    onTrouble('sweep', error as Error);
  }
}

/** An attempt whose process died counts as one that failed, due again one delay after it started. */
async function settleAborted({ database, retryDelayMs }: SweeperDependencies): Promise<number> {
  return transaction(database, async (client) => {
    const abandoned = await readAbandonedAttempts(client, ABORTED_MAX);
    const settled = abandoned.map(({ attemptsSpent, startedAt, ...attempt }): SettledAttempt => {
      const outcome = {
        startedAt,
        durationMs: 0,
        statusCode: null,
        error: 'aborted' as const,
        reason: 'the daemon stopped during the attempt; whether the endpoint received it is unknown',
        responseHead: null,
      };
      const after = afterAttempt(attempt.attemptCount - attemptsSpent, outcome, retryDelayMs);
      return { ...attempt, outcome, after };
    });
    if (settled.length > 0) await recordAttempts(client, settled);
    return settled.length;
  });
}
