/**
 * The clock that timestamps the stream's messages decides which of them come from the future (decisions, section 8), so
 * none is rejected while this clock is behind. Before a message is rejected, the clocks are compared, and its timestamp
 * is compared with earlier ones. If the clock was behind, the difference is stored and the term ends. No term begins
 * while it is behind; the next one allows for the difference in every message in the stream by then.
 */

import { BROKER_BEHIND_MAX_MS } from '../broker/connection.ts';
import type { PulledMessage } from '../broker/pull.ts';
import type { Queryable } from '../store/database.ts';
import { noteClockBehind } from '../store/intake-position.ts';
import type { IntakeStart } from './position.ts';

/** Compares the clocks of this daemon, PostgreSQL and NATS. */
export interface ClockComparison {
  /** Milliseconds by which NATS's clock is behind both others, at the last check. */
  readonly brokerBehindMs: number;
  check(): Promise<void>;
}

export interface StreamClock {
  /** The latest time of storage of a message, in milliseconds since the epoch; call it in stream order. */
  latestOf(message: PulledMessage): number;
  /** Whether the clock was behind when it stored one of the messages, by more than was known. */
  wasBehind(messages: readonly PulledMessage[]): Promise<boolean>;
}

export function createStreamClock(
  { clockBehind, storedUpToMs }: Pick<IntakeStart, 'clockBehind' | 'storedUpToMs'>,
  { database, clocks }: { readonly database: Queryable; readonly clocks: ClockComparison },
): StreamClock {
  let newestMs = storedUpToMs;
  // Each message of a stream has a timestamp.
  const storedAtMsOf = ({ storedAtMs = Date.now() }: PulledMessage): number => storedAtMs;
  const allowedMs = ({ sequence }: PulledMessage): number => (sequence <= clockBehind.upTo ? clockBehind.ms : 0);
  return {
    latestOf(message) {
      const storedAtMs = storedAtMsOf(message);
      // Bounded by the current time, because the clock may also have been ahead.
      newestMs = Math.min(Math.max(newestMs, storedAtMs), Date.now());
      return storedAtMs + allowedMs(message);
    },
    async wasBehind(messages) {
      await clocks.check();
      const unknownMs = messages.map((message) => {
        const behindMs = newestMs - storedAtMsOf(message);
        return behindMs > allowedMs(message) ? behindMs : 0;
      });
      const behindMs = Math.max(clocks.brokerBehindMs, ...unknownMs);
      if (behindMs <= BROKER_BEHIND_MAX_MS) return false;
      await noteClockBehind(database, behindMs);
      return true;
    },
  };
}
