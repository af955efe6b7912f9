/**
 * Checks whether the clocks of this daemon, PostgreSQL and NATS differ by more than five seconds, with an accuracy of
 * half a round trip. `/readyz` and an alert report a difference, but the service continues. Only intake pauses, while
 * the clock of NATS is over a minute behind both others: that clock decides which messages are from the future.
 */

import { startTask } from '../actor/task.ts';
import { BROKER_BEHIND_MAX_MS, type Broker, brokerClock } from '../broker/connection.ts';
import type { Database } from '../store/database.ts';
import { readClock } from '../store/retention.ts';

export interface ClockWatchOptions {
  readonly broker: Broker;
  readonly database: Database;
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** Called with a sentence when the clocks begin to differ, or intake pauses or resumes; with null when they agree. */
  readonly onChange: (difference: string | null) => void;
  /** Called at each check that finds the clock of NATS more than a minute behind both others. */
  readonly onBrokerBehind?: (ms: number) => Promise<void>;
  /** Called with errors of `onBrokerBehind`, which the next check calls again. */
  readonly onTransientError: (what: string, error: Error) => void;
}

export type ClockWatch = Awaited<ReturnType<typeof startClockWatch>>;

const CHECK_EVERY_MS = 10_000;
const CHECKED_FOR_MS = 1_000;
const DIFFERENCE_MAX_SECONDS = 5;
/** An answer that takes longer is too imprecise for a comparison of clocks. */
const ROUND_TRIP_MAX_MS = 2_000;
const DAEMON = 'this daemon';
const TASK = 'clocks';

/** Resolves after the first check. */
export async function startClockWatch(options: ClockWatchOptions) {
  const { broker, database, nowMs, onChange, onBrokerBehind, onTransientError } = options;
  const aheadSeconds = new Map([[DAEMON, 0]]);
  let difference: string | null = null;
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  const readNats = brokerClock(broker);

  async function check(name: string, read: () => Promise<number>): Promise<void> {
    const beganAtMs = nowMs();
    // Ignores a server that does not answer, because other checks report it.
    const atMs = await read().catch(() => null);
    const tookMs = nowMs() - beganAtMs;
    if (atMs === null || tookMs < 0 || tookMs > ROUND_TRIP_MAX_MS) aheadSeconds.delete(name);
    else aheadSeconds.set(name, (atMs - beganAtMs - tookMs / 2) / 1_000);
  }

  async function checkAll(): Promise<void> {
    await Promise.all([
      check('PostgreSQL', async () => (await readClock(database)).getTime()),
      check('NATS', readNats),
    ]);
    checkedAtMs = performance.now();
    const [before, behindMs] = [difference, brokerBehindMs(aheadSeconds)];
    difference = describe([...aheadSeconds]);
    const isBehind = behindMs > BROKER_BEHIND_MAX_MS;
    if (difference !== null && isBehind) difference += PAUSED;
    if (before?.endsWith(PAUSED) !== difference?.endsWith(PAUSED)) onChange(difference);
    if (isBehind) await onBrokerBehind?.(behindMs);
  }

  await checkAll().catch((error: Error) => onTransientError(TASK, error));
  const task = startTask({ what: TASK, everyMs: CHECK_EVERY_MS, work: checkAll, onTransientError });
  return {
    /** Seconds by which each readable clock is ahead of this daemon's clock. */
    aheadSeconds: aheadSeconds as ReadonlyMap<string, number>,
    /** A sentence about the clocks that differ by more than allowed; null if they agree. */
    get difference() {
      return difference;
    },
    /** Milliseconds by which the clock of NATS is behind both others; 0 if it is not, or if one cannot be read. */
    get brokerBehindMs() {
      return brokerBehindMs(aheadSeconds);
    },
    /** Checks the clocks unless they were checked within the last second. Rejects with an error of `onBrokerBehind`. */
    check: () => (performance.now() - checkedAtMs < CHECKED_FOR_MS ? Promise.resolve() : task.run()),
    stop: task.stop,
  };
}

const PAUSED = '; intake is paused until they agree';

function brokerBehindMs(aheadSeconds: ReadonlyMap<string, number>): number {
  const [postgresql, nats] = [aheadSeconds.get('PostgreSQL'), aheadSeconds.get('NATS')];
  if (postgresql === undefined || nats === undefined) return 0;
  return 1_000 * Math.max(0, Math.min(0, postgresql) - nats);
}

function describe(clocks: readonly (readonly [name: string, aheadSeconds: number])[]): string | null {
  const sorted = clocks.toSorted(([, one], [, other]) => one - other);
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (first === undefined || last === undefined || last[1] - first[1] <= DIFFERENCE_MAX_SECONDS) return null;
  return `the clock of ${last[0]} is ${(last[1] - first[1]).toFixed(1)} s ahead of that of ${first[0]}: synchronise both with NTP`;
}
