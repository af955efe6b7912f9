/**
 * Checks whether the clocks of this daemon, PostgreSQL and NATS agree, to within half a round trip. No guarantee
 * depends on it, but displayed times do: `/readyz` and an alarm report a difference, and the service continues.
 */

import { startTask } from '../actor/task.ts';
import { type Broker, brokerClock } from '../broker/connection.ts';
import type { Database } from '../store/database.ts';

export interface ClockWatchOptions {
  readonly broker: Broker;
  readonly database: Database;
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** Called with a sentence when they begin to differ, and with null when they agree again. */
  readonly onChange: (difference: string | null) => void;
}

export interface ClockWatch {
  /** Seconds by which each readable clock is ahead of this daemon's. */
  readonly aheadSeconds: ReadonlyMap<string, number>;
  /** A sentence about the clocks that differ by more than allowed; null when they agree. */
  readonly difference: string | null;
  stop(): Promise<void>;
}

const CHECK_EVERY_MS = 10_000;
const DIFFERENCE_MAX_SECONDS = 5;
/** A slower answer is too imprecise. */
const ROUND_TRIP_MAX_MS = 2_000;
const DAEMON = 'this daemon';

/** Resolves after the first check. */
export async function startClockWatch({ broker, database, nowMs, onChange }: ClockWatchOptions): Promise<ClockWatch> {
  const aheadSeconds = new Map([[DAEMON, 0]]);
  let difference: string | null = null;
  const readNats = brokerClock(broker);

  async function check(name: string, read: () => Promise<number>): Promise<void> {
    const beganAtMs = nowMs();
    // Other parts report a server that does not answer.
    const atMs = await read().catch(() => null);
    const tookMs = nowMs() - beganAtMs;
    if (atMs === null || tookMs < 0 || tookMs > ROUND_TRIP_MAX_MS) aheadSeconds.delete(name);
    else aheadSeconds.set(name, (atMs - beganAtMs - tookMs / 2) / 1_000);
  }

  async function checkAll(): Promise<void> {
    await Promise.all([
      check('PostgreSQL', async () => {
        const { rows } = await database.query<{ atMs: number }>(
          'select extract(epoch from clock_timestamp())::float8 * 1000 as "atMs"',
        );
        return (rows[0] as { atMs: number }).atMs;
      }),
      check('NATS', readNats),
    ]);
    const before = difference;
    difference = describe([...aheadSeconds]);
    if ((before === null) !== (difference === null)) onChange(difference);
  }

  await checkAll();
  const task = startTask({ what: 'clocks', everyMs: CHECK_EVERY_MS, work: checkAll });
  return {
    aheadSeconds,
    get difference() {
      return difference;
    },
    stop: task.stop,
  };
}

function describe(clocks: readonly (readonly [name: string, aheadSeconds: number])[]): string | null {
  const sorted = clocks.toSorted(([, one], [, other]) => one - other);
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (first === undefined || last === undefined || last[1] - first[1] <= DIFFERENCE_MAX_SECONDS) return null;
  return `the clock of ${last[0]} is ${(last[1] - first[1]).toFixed(1)} s ahead of that of ${first[0]}: synchronise them (NTP)`;
}
