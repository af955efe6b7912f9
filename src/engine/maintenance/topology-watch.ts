/**
 * Looks at the streams and consumers at the start and every minute. One that an operator made, or
 * changed, so that it cannot work is reported on `/readyz`, by a metric and once in the log; while one is another
 * database's nothing is taken from any.
 */

import { startTask } from '../actor/task.ts';
import type { Broker } from '../broker/connection.ts';
import { type Inspection, inspectTopology } from '../broker/topology-inspection.ts';

export interface TopologyWatchOptions {
  readonly broker: Broker;
  readonly everyMs?: number;
  /** In words, the other database that takes adverts in as this one does; null when there is none. */
  readonly findOther: () => Promise<string | null>;
  /** Called for each finding that differs from the one before, and for the first one if there is anything to report. */
  readonly onFound: (found: Inspection) => void;
  readonly onTransientError: (what: string, error: Error) => void;
}

export interface TopologyWatch {
  /** Null until NATS has answered once. */
  readonly found: Inspection | null;
  /** What cannot work, in words; null when everything can. */
  readonly reason: string | null;
  /** Looks now, for an operator who has taken over what another database has left. Rejects when NATS is away. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

const LOOK_EVERY_MS = 60_000;
/** Until NATS has answered once. */
const FIRST_LOOK_AGAIN_MS = 1_000;
const LOOKS_UNTIL_GONE = 2;
const IN_ORDER: Inspection = { faults: [], cautions: [], foreign: null };

/** Resolves when it has looked once, or could not. */
export async function startTopologyWatch(options: TopologyWatchOptions): Promise<TopologyWatch> {
  const { broker, everyMs = LOOK_EVERY_MS, findOther, onFound, onTransientError } = options;
  let found: Inspection | null = null;
  let other: string | null = null;
  let looksWithoutOther = 0;

  /** `isSure`: an operator says that one which is not seen has gone. */
  async function look(isSure: boolean): Promise<void> {
    const inspected = await inspectTopology(broker);
    await lookForOther(isSure);
    const now = { ...inspected, foreign: inspected.foreign ?? other };
    const isNews = JSON.stringify(now) !== JSON.stringify(found ?? IN_ORDER);
    found = now;
    if (isNews) onFound(now);
  }

  /** One that restarts leads nothing for a while, and is not gone. */
  async function lookForOther(isSure: boolean): Promise<void> {
    const seen = await findOther();
    looksWithoutOther = seen === null ? looksWithoutOther + 1 : 0;
    if (seen !== null || isSure || looksWithoutOther >= LOOKS_UNTIL_GONE) other = seen;
  }

  async function lookOnce(): Promise<number | void> {
    try {
      await look(false);
    } catch (error) {
      onTransientError('look at the streams', error as Error);
      if (found === null) return FIRST_LOOK_AGAIN_MS;
    }
  }

  await lookOnce();
  const task = startTask({ what: 'look at the streams', everyMs, work: lookOnce });
  return {
    get found() {
      return found;
    },
    get reason() {
      if (found === null) return 'not looked at yet';
      const reasons = found.foreign === null ? found.faults : [found.foreign];
      return reasons.length === 0 ? null : reasons.join('; ');
    },
    look: () => look(true),
    stop: task.stop,
  };
}
