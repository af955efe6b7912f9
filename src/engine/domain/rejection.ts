/** The notice to a crawler that its message was rejected (decisions, section 8). */

import { parseUuid, type Uuid } from './ids.ts';
import type { IntakeViolation } from './intake-schema.ts';

export interface Rejection {
  readonly reason: string;
  /** Errors in the message. Empty if the bytes are not JSON, or if the message is valid but could not be recorded. */
  readonly violations: readonly IntakeViolation[];
  readonly subject: string;
  /** Sequence of the message in the stream. */
  readonly sequence: number;
  /** The `Nats-Msg-Id` of the message, if any. */
  readonly messageId: string | null;
  /** When the stream stored the message. */
  readonly receivedAt: string;
}

/** Limits (UTF-16 units) on texts that a crawler controls, because a rejection must not be larger than a message. */
export const REASON_LENGTH_MAX = 2_000;
export const MESSAGE_ID_LENGTH_MAX = 1_024;

/** Sent instead of the error that a bug causes, because only operators need that error. */
const FAILED = 'could not be recorded because of a bug in the service; its operators are notified';

export interface RejectedMessage extends Omit<Rejection, 'messageId' | 'receivedAt'> {
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly storedAtMs: number;
  /** The property or subject of a message that a bug prevents from being recorded; null for any other rejection. */
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

/** The property that the message or its subject names; null if neither names one. */
export function propertyOf(stated: Uuid | null, subject: string): Uuid | null {
  return stated ?? parseUuid(subject.slice(subject.indexOf('.') + 1));
}
