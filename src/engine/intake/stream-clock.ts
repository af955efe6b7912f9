/**
 * A message is rejected if it states a later time than its timestamp from NATS allows (decisions, section 8). While the
 * clock of NATS is behind, no message may be rejected for this. Before such a rejection, the clocks are compared, and
 * the timestamp is compared with earlier timestamps. If the clock was behind, the difference is stored and the term
 * ends. No term begins while the clock is behind. The next term adds the difference to all earlier timestamps.
 */

import { BROKER_BEHIND_MAX_MS } from '../broker/connection.ts';
import type { PulledMessage } from '../broker/pull.ts';
import type { Queryable } from '../store/database.ts';
import { noteClockBehind } from '../store/intake-position.ts';
import type { IntakeStart } from './position.ts';

/** Compares the clocks of this daemon, PostgreSQL and NATS. */
export interface ClockComparison {
  /** Milliseconds by which the clock of NATS was behind both others at the last check. */
  readonly brokerBehindMs: number;
  check(): Promise<void>;
}

export type StreamClock = ReturnType<typeof createStreamClock>;

export function createStreamClock(
  { clockBehind, storedUpToMs }: Pick<IntakeStart, 'clockBehind' | 'storedUpToMs'>,
  { database, clocks }: { readonly database: Queryable; readonly clocks: ClockComparison },
) {
  let newestMs = storedUpToMs;
  const allowedMs = ({ sequence }: PulledMessage): number => (sequence <= clockBehind.upTo ? clockBehind.ms : 0);
  return {
    /** The latest possible storage time of the message, in milliseconds since the epoch. Call it in stream order. */
    latestOf(message: PulledMessage) {
      const { storedAtMs } = message;
      // Limited by the current time, because the clock may also have been ahead.
      newestMs = Math.min(Math.max(newestMs, storedAtMs), Date.now());
      return storedAtMs + allowedMs(message);
    },
    /** Whether the clock was further behind than was known when it timestamped a message. Stores the difference. */
    async wasBehind(messages: readonly PulledMessage[]) {
      await clocks.check();
      const unknownMs = messages.map((message) => {
        const behindMs = newestMs - message.storedAtMs;
        return behindMs > allowedMs(message) ? behindMs : 0;
      });
      const behindMs = Math.max(clocks.brokerBehindMs, ...unknownMs);
      if (behindMs <= BROKER_BEHIND_MAX_MS) return false;
      await noteClockBehind(database, behindMs);
      return true;
    },
  };
}
