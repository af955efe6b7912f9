/**
 * The life of a delivery (decisions, section 6). The row in PostgreSQL is the truth; a dispatched message is only a
 * hint to look at it.
 *
 * - `queued`      waits for its first attempt            → sending, parked, cancelled
 * - `sending`     an attempt is counted and under way     → delivered, retry_wait, failed, cancelled
 * - `retry_wait`  failed, due again at `dueAt`            → sending, parked, cancelled
 * - `parked`      its endpoint is paused or overflowing   → queued, retry_wait, cancelled
 * - `delivered`, `failed`, `cancelled`                    final (an operator's replay re-queues `failed`)
 */

import { createHash } from 'node:crypto';
import type { EventKind } from './codes.ts';
import type { SearchNumber, Uuid } from './ids.ts';

export const DELIVERY_STATES = [
  'queued',
  'sending',
  'retry_wait',
  'parked',
  'delivered',
  'failed',
  'cancelled',
] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** The first attempt and at most five retries (specification, section 6.3). */
export const ATTEMPTS_MAX = 6;

export type DeliveryChannel = 'match' | 'event';

/** A delivery as the recorder creates it. */
export interface NewDelivery {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly matchId: Uuid;
  readonly channel: DeliveryChannel;
  readonly kind: EventKind;
  readonly endpoint: string;
  /** The body up to the property document; `snapshotId` names the rest. */
  readonly head: string;
  readonly snapshotId: Uuid;
  /** The trace that the advert's message belongs to (W3C Trace Context); null when it came without one. */
  readonly traceparent: string | null;
}

/** Why an attempt did not end with HTTP 200. `aborted`: the daemon died in the middle of it. */
export const ATTEMPT_ERRORS = [
  'dns',
  'connect',
  'tls',
  'timeout',
  'reset',
  'blocked',
  'status',
  'protocol',
  'aborted',
] as const;
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

export interface AttemptOutcome {
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly statusCode: number | null;
  /** Null only for HTTP 200. */
  readonly error: AttemptError | null;
  /** What went wrong, for the log; null when delivered. */
  readonly reason: string | null;
  /** The first 2 KiB of the answer. */
  readonly responseHead: string | null;
}

/** What follows an attempt. `dueAt` is set in `retry_wait` alone. */
export interface AfterAttempt {
  readonly state: 'delivered' | 'retry_wait' | 'failed';
  readonly dueAt: Date | null;
}

/** HTTP 200 delivers; anything else is retried `retryDelayMs` after the attempt's end, five times. */
export function afterAttempt(attemptCount: number, outcome: AttemptOutcome, retryDelayMs: number): AfterAttempt {
  if (outcome.error === null) return { state: 'delivered', dueAt: null };
  if (attemptCount >= ATTEMPTS_MAX) return { state: 'failed', dueAt: null };
  const endedAt = outcome.startedAt.getTime() + outcome.durationMs;
  return { state: 'retry_wait', dueAt: new Date(endedAt + retryDelayMs) };
}

/**
 * What fairness and pausing treat as one endpoint: the whole URL, because one host may serve the hooks of many owners.
 * Sixteen hexadecimal digits, so that it can stand in a NATS subject.
 */
export function endpointKeyOf(endpoint: string): string {
  return createHash('sha256').update(endpoint).digest('hex').slice(0, 16);
}
