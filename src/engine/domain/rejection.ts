/** What a crawler learns of a message of its own that was rejected (decisions, section 8). */

import { parseUuid, type Uuid } from './ids.ts';
import type { IntakeViolation } from './intake-schema.ts';

export interface Rejection {
  readonly reason: string;
  /** What is wrong with the message, one by one; empty when it is no message, or nothing is wrong with it. */
  readonly violations: readonly IntakeViolation[];
  /** The message was published on. */
  readonly subject: string;
  /** Its number in the stream. */
  readonly sequence: number;
  /** `Nats-Msg-Id`, if it had one. */
  readonly messageId: string | null;
  /** When the stream took it. */
  readonly receivedAt: string;
}

/** Crawlers choose both: a rejection must not be larger than a message. */
export const REASON_LENGTH_MAX = 2_000;
export const MESSAGE_ID_LENGTH_MAX = 1_024;

/** Instead of the words of a bug, which are the operators'. */
const FAILED = 'could not be recorded: a bug of the service, whose operators are notified';

export interface RejectedMessage {
  readonly subject: string;
  readonly sequence: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly storedAtMs: number;
  readonly reason: string;
  readonly violations: readonly IntakeViolation[];
  /** Not null when a bug keeps it from being recorded. */
  readonly failedKey: string | null;
}

export function rejectionOf(message: RejectedMessage): Rejection {
  const { subject, sequence, headers, storedAtMs, reason, violations, failedKey } = message;
  return {
    reason: failedKey === null ? reason.slice(0, REASON_LENGTH_MAX) : FAILED,
    violations,
    subject,
    sequence,
    messageId: headers['Nats-Msg-Id']?.slice(0, MESSAGE_ID_LENGTH_MAX) ?? null,
    receivedAt: new Date(storedAtMs).toISOString(),
  };
}

/** The property that the message names, or its subject; null when neither does. */
export function propertyOf(stated: Uuid | null, subject: string): Uuid | null {
  return stated ?? parseUuid(subject.slice(subject.indexOf('.') + 1));
}
