/**
 * Looks at the streams and consumers at the start and every minute. One that an operator made, or
 * changed, so that it cannot work is told in `/readyz`, by a metric and once in the log; while one is another
 * database's nothing is taken from any.
 */

import { startTask } from '../actor/task.ts';
import type { Broker } from '../broker/connection.ts';
import { type Inspection, inspectTopology } from '../broker/topology-inspection.ts';

export interface TopologyWatchOptions {
  readonly broker: Broker;
  readonly everyMs?: number;
  /** Told of each finding that differs from the one before, and of the first one if there is anything to tell. */
  readonly onFound: (found: Inspection) => void;
  readonly onTrouble: (what: string, error: Error) => void;
}

export interface TopologyWatch {
  /** Null until NATS has answered once. */
  readonly found: Inspection | null;
  /** What cannot work, in words; null when everything can. */
  readonly reason: string | null;
  /** Looks now; resolves when it has. Rejects when NATS is away. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

const LOOK_EVERY_MS = 60_000;
/** Until NATS has answered once. */
const FIRST_LOOK_AGAIN_MS = 1_000;
const IN_ORDER: Inspection = { faults: [], cautions: [], foreign: null };

/** Resolves when it has looked once, or could not. */
export async function startTopologyWatch(options: TopologyWatchOptions): Promise<TopologyWatch> {
  const { broker, everyMs = LOOK_EVERY_MS, onFound, onTrouble } = options;
  let found: Inspection | null = null;

  async function look(): Promise<void> {
    const now = await inspectTopology(broker);
    const isNews = JSON.stringify(now) !== JSON.stringify(found ?? IN_ORDER);
    found = now;
    if (isNews) onFound(now);
  }

  async function lookOnce(): Promise<number | void> {
    try {
      await look();
    } catch (error) {
      onTrouble('look at the streams', error as Error);
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
    look,
    stop: task.stop,
  };
}
