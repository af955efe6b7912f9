/**
 * Checks the streams and consumers at the start and every minute. If an operator has created or changed one so that it
 * cannot work, `/readyz`, a metric and one log message report this. While one of them belongs to another database, or
 * an instance with another database takes in the same adverts, every stage pauses.
 */

import { startTask } from '../actor/task.ts';
import type { Broker } from '../broker/connection.ts';
import { type Inspection, inspectTopology } from '../broker/topology-inspection.ts';

export interface TopologyWatchOptions {
  readonly broker: Broker;
  readonly everyMs?: number;
  /** Resolves with a sentence if an instance with another database takes in the same adverts, otherwise with null. */
  readonly findOther: () => Promise<string | null>;
  /** Called when a check finds anything different from the previous check, or when the first check finds a problem. */
  readonly onFound: (found: Inspection) => void;
  readonly onTransientError: (what: string, error: Error) => void;
}

export type TopologyWatch = Awaited<ReturnType<typeof startTopologyWatch>>;

const CHECK_EVERY_MS = 60_000;
/** Pause until the next check while NATS has not answered yet. */
const FIRST_RETRY_AFTER_MS = 1_000;
const LOOKS_UNTIL_GONE = 2;
const IN_ORDER: Inspection = { faults: [], cautions: [], foreign: null };

/** Resolves after the first check, successful or not. */
export async function startTopologyWatch(options: TopologyWatchOptions) {
  const { broker, everyMs = CHECK_EVERY_MS, findOther, onFound, onTransientError } = options;
  let found: Inspection | null = null;
  let other: string | null = null;
  let checksWithoutOther = 0;

  /** `isSure`: an operator has confirmed that another database, which is no longer seen, is gone. */
  async function check(isSure: boolean): Promise<void> {
    const inspected = await inspectTopology(broker);
    await lookForOther(isSure);
    const now = { ...inspected, foreign: inspected.foreign ?? other };
    const isNews = JSON.stringify(now) !== JSON.stringify(found ?? IN_ORDER);
    found = now;
    if (isNews) onFound(now);
  }

  /** The other database counts as gone only after two checks: while its instance restarts, no instance leads. */
  async function lookForOther(isSure: boolean): Promise<void> {
    const seen = await findOther();
    checksWithoutOther = seen === null ? checksWithoutOther + 1 : 0;
    if (seen !== null || isSure || checksWithoutOther >= LOOKS_UNTIL_GONE) other = seen;
  }

  async function checkOnce(): Promise<number | void> {
    try {
      await check(false);
    } catch (error) {
      onTransientError('check streams', error as Error);
      if (found === null) return FIRST_RETRY_AFTER_MS;
    }
  }

  await checkOnce();
  const task = startTask({ what: 'check streams', everyMs, isDueAtOnce: found === null, work: checkOnce });
  return {
    /** The last result; null until NATS has answered for the first time. */
    get found() {
      return found;
    },
    /** The other database or the faults, in sentences, or `not checked yet`; null if there is neither. */
    get reason() {
      if (found === null) return 'not checked yet';
      const reasons = found.foreign === null ? found.faults : [found.foreign];
      return reasons.length === 0 ? null : reasons.join(' ');
    },
    /** Checks now, for an operator who has adopted another database's streams. Rejects if NATS is unavailable. */
    check: () => check(true),
    stop: task.stop,
  };
}
