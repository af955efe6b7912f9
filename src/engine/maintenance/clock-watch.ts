/**
 * Whether the clocks of this daemon, PostgreSQL and NATS agree, as exactly as half a round trip. Nothing that is promised
 * depends on it, but what people read does: `/readyz` and an alarm say so, and the service goes on.
 */

import { startTask } from '../actor/task.ts';
import { brokerClock } from '../broker/clock.ts';
import { type Broker } from '../broker/connection.ts';
import type { Database } from '../store/database.ts';

export interface ClockWatchOptions {
  readonly broker: Broker;
  readonly database: Database;
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** Told when they begin to differ, in words, and with null when they agree again. */
  readonly onChange: (difference: string | null) => void;
}

export interface ClockWatch {
  /** Seconds by which a clock is ahead of this daemon's, of those that could be read. */
  readonly aheadSeconds: ReadonlyMap<string, number>;
  /** In words, which clocks differ by more than they may; null when they agree. */
  readonly difference: string | null;
  stop(): Promise<void>;
}

const LOOK_EVERY_MS = 10_000;
const DIFFERENCE_MAX_SECONDS = 5;
/** What takes longer says too little. */
const ROUND_TRIP_MAX_MS = 2_000;
const DAEMON = 'this daemon';

/** Resolves when it has looked once. */
export async function startClockWatch({ broker, database, nowMs, onChange }: ClockWatchOptions): Promise<ClockWatch> {
  const aheadSeconds = new Map([[DAEMON, 0]]);
  let difference: string | null = null;
  const readNats = brokerClock(broker);

  async function look(name: string, read: () => Promise<number>): Promise<void> {
    const beganAtMs = nowMs();
    // A server that cannot be asked is reported by those who need it.
    const atMs = await read().catch(() => null);
    const tookMs = nowMs() - beganAtMs;
    if (atMs === null || tookMs < 0 || tookMs > ROUND_TRIP_MAX_MS) aheadSeconds.delete(name);
    else aheadSeconds.set(name, (atMs - beganAtMs - tookMs / 2) / 1_000);
  }

  async function lookAtAll(): Promise<void> {
    await Promise.all([
      look('PostgreSQL', async () => {
        const { rows } = await database.query<{ atMs: number }>(
          'select extract(epoch from clock_timestamp())::float8 * 1000 as "atMs"',
        );
        return (rows[0] as { atMs: number }).atMs;
      }),
      look('NATS', readNats),
    ]);
    const before = difference;
    difference = describe([...aheadSeconds]);
    if ((before === null) !== (difference === null)) onChange(difference);
  }

  await lookAtAll();
  const task = startTask({ what: 'clocks', everyMs: LOOK_EVERY_MS, work: lookAtAll });
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
