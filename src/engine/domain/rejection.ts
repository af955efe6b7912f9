/** The notification of a crawler about its rejected message (decisions, section 8). */

import { parseUuid, type Uuid } from './ids.ts';
import type { IntakeViolation } from './intake-schema.ts';

export interface Rejection {
  readonly reason: string;
  /** The errors of the message; empty when it is no message, or when the message itself is valid. */
  readonly violations: readonly IntakeViolation[];
  /** The subject of the message. */
  readonly subject: string;
  /** Its sequence in the stream. */
  readonly sequence: number;
  /** `Nats-Msg-Id`, if it had one. */
  readonly messageId: string | null;
  /** When the stream stored it. */
  readonly receivedAt: string;
}

/** Limits on values that crawlers choose: a rejection must not be larger than a message. */
export const REASON_LENGTH_MAX = 2_000;
export const MESSAGE_ID_LENGTH_MAX = 1_024;

/** Replaces the text of a bug, which is for operators. */
const FAILED = 'could not be recorded: a bug of the service, whose operators are notified';

export interface RejectedMessage {
  readonly subject: string;
  readonly sequence: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly storedAtMs: number;
  readonly reason: string;
  readonly violations: readonly IntakeViolation[];
  /** Set when a bug keeps it from being recorded. */
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

/** The property that the message names, or that of its subject; null when neither names one. */
export function propertyOf(stated: Uuid | null, subject: string): Uuid | null {
  return stated ?? parseUuid(subject.slice(subject.indexOf('.') + 1));
}
