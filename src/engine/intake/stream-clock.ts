/**
 * The clock by which the stream stamps messages decides what comes from the future (decisions, section 8), so nothing is
 * rejected while it is behind. Before a message is rejected, the clocks are compared, and its stamp with those of earlier
 * messages. What is found is stored, and ends the term: none begins while the clock is behind, and the next one allows
 * for it in every message that the stream holds by then.
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
  /** The latest moment at which a message may have been stored, in milliseconds since the epoch; called in their order. */
  latestOf(message: PulledMessage): number;
  /** Whether the clock was behind when it stored one of the messages, by more than was known. */
  wasBehind(messages: readonly PulledMessage[]): Promise<boolean>;
}

export function createStreamClock(
  { clockBehind, storedUpToMs }: Pick<IntakeStart, 'clockBehind' | 'storedUpToMs'>,
  { database, clocks }: { readonly database: Queryable; readonly clocks: ClockComparison },
): StreamClock {
  let newestMs = storedUpToMs;
  // Each message of a stream has its time.
  const storedAtMsOf = ({ storedAtMs = Date.now() }: PulledMessage): number => storedAtMs;
  const allowedMs = ({ sequence }: PulledMessage): number => (sequence <= clockBehind.upTo ? clockBehind.ms : 0);
  return {
    latestOf(message) {
      const storedAtMs = storedAtMsOf(message);
      // The clock may also have been ahead.
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
