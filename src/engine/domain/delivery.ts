/**
 * The life cycle of a delivery (decisions, section 6). The rows in PostgreSQL are the queue. Each transition is a step
 * in `STEPS` and a statement in `store/`; a test compares the two. No function of this file reads a clock.
 *
 * If a process counts as dead, other processes record its attempts as aborted. If the process then reports a success
 * after all, the delivery is delivered unless it was cancelled, because the endpoint has the data.
 */

import type { EventKind } from './codes.ts';
import type { SearchNumber, Uuid } from './ids.ts';

/** The open states are `queued` (due), `sending` (claimed) and `retry_wait` (waiting for a retry). */
export const DELIVERY_STATES = ['queued', 'sending', 'retry_wait', 'delivered', 'failed', 'cancelled'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export const FINAL_STATES = ['delivered', 'failed', 'cancelled'] as const satisfies readonly DeliveryState[];

interface Step {
  readonly from: readonly DeliveryState[];
  readonly to: DeliveryState;
}

export const STEPS = {
  /** Counts an attempt before any byte is sent. */
  claim: { from: ['queued'], to: 'sending' },
  /** The delivery was claimed but not sent, so the attempt does not count. */
  giveBack: { from: ['sending'], to: 'queued' },
  /** An attempt succeeded, even if its outcome arrived late. */
  deliver: { from: ['queued', 'sending', 'retry_wait', 'failed'], to: 'delivered' },
  /** The current attempt failed, or its process died. */
  retry: { from: ['sending'], to: 'retry_wait' },
  exhaust: { from: ['sending'], to: 'failed' },
  /** The retry delay is over. */
  release: { from: ['retry_wait'], to: 'queued' },
  /** A client or an operator requests that the delivery be sent again. */
  resend: { from: ['retry_wait', 'delivered', 'failed', 'cancelled'], to: 'queued' },
  cancel: { from: ['queued', 'sending', 'retry_wait'], to: 'cancelled' },
} as const satisfies Readonly<Record<string, Step>>;

/**
 * `first`: the first attempt is due. `retry`: a retry or resend is due. `recovery`: a recovery resends the delivery.
 * Earlier lanes have priority (delivery/endpoint-queue.ts).
 */
export const LANES = ['first', 'retry', 'recovery'] as const;
export type Lane = (typeof LANES)[number];

/** The announcement of a delivery that has become due. */
export interface DueDelivery {
  readonly id: Uuid;
  readonly endpointKey: string;
  readonly lane: Lane;
}

/** A failed attempt of a delivery that waits for a retry. */
export interface FailedAttempt extends Omit<DueDelivery, 'lane'> {
  readonly attemptCount: number;
  /** When the attempt began. Needed because attempt numbers may be reused after the database is restored. */
  readonly startedAt: Date;
}

/** The first attempt and at most five retries (specification, section 6.3). */
export const ATTEMPTS_MAX = 6;

/** The two webhook channels have separate endpoints. The third channel is e-mail (domain/mail.ts). */
export const WEBHOOK_CHANNELS = ['match', 'event'] as const;
export const DELIVERY_CHANNELS = [...WEBHOOK_CHANNELS, 'email'] as const;
export type WebhookChannel = (typeof WEBHOOK_CHANNELS)[number];
export type DeliveryChannel = (typeof DELIVERY_CHANNELS)[number];

/** The reasons why a resend is refused, in words for people (decisions, section 11). */
export const RESEND_REFUSALS = {
  unwanted: { en: 'its search no longer subscribes to it', fr: 'la recherche n’en veut plus' },
  'no endpoint': { en: 'its search has no endpoint for it', fr: 'la recherche n’a plus d’adresse pour cela' },
  withheld: {
    en: 'it was recorded with contacts, which its search now hides',
    fr: 'il y a des contacts, que la recherche ne transmet plus',
  },
  'e-mail': { en: 'it was sent by e-mail, and only webhooks are sent again', fr: 'seuls les webhooks le sont' },
  attempts_exhausted: { en: 'it was attempted too many times', fr: 'il y a eu trop de tentatives' },
} as const;
export type ResendRefusal = keyof typeof RESEND_REFUSALS;

/** A delivery as the recorder creates it. */
export interface NewDelivery {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly matchId: Uuid;
  /** Position among the notifications of its match, from 1; a restore raises it. E-mails do not count. */
  readonly sequence: number;
  /** `generation` of the search (routing.ts) when the delivery was created. */
  readonly generation: number;
  readonly channel: WebhookChannel;
  readonly kind: EventKind;
  readonly endpoint: string;
  /** The body up to the property document, which is in the snapshot `snapshotId`. */
  readonly head: string;
  readonly snapshotId: Uuid;
  /** Trace of the advert's message (W3C Trace Context); null if it had none. */
  readonly traceparent: string | null;
}

/** Why an attempt did not end with HTTP 200. `aborted`: the outcome is unknown, usually because the process died. */
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
  /** For the attempt's log: the error, and whether the body was posted twice. Null if there is nothing to report. */
  readonly reason: string | null;
  /** The first 2 KiB of the response body; null if there was no response. */
  readonly responseHead: string | null;
}

/** The outcome of an attempt of which no response is known. */
export function abortedOutcome(startedAt: Date, reason: string): AttemptOutcome {
  return { startedAt, durationMs: 0, statusCode: null, error: 'aborted', reason, responseHead: null };
}

/** State after an attempt. `dueAt` is set only in `retry_wait`. */
export interface AfterAttempt {
  readonly state: 'delivered' | 'retry_wait' | 'failed';
  readonly dueAt: Date | null;
}

/**
 * The state after an attempt. HTTP 200 is a success; after any other outcome the delivery is retried, up to five times,
 * `retryDelayMs` after the attempt's end. `attemptCount`: number of attempts in this series, at least 1.
 */
export function afterAttempt(
  attemptCount: number,
  outcome: Pick<AttemptOutcome, 'startedAt' | 'durationMs' | 'error'>,
  retryDelayMs: number,
): AfterAttempt {
  if (outcome.error === null) return { state: 'delivered', dueAt: null };
  if (attemptCount >= ATTEMPTS_MAX) return { state: 'failed', dueAt: null };
  const endedAt = outcome.startedAt.getTime() + outcome.durationMs;
  return { state: 'retry_wait', dueAt: new Date(endedAt + retryDelayMs) };
}

/**
 * Maximum time, after its recording, that a delivery waits for an earlier delivery of its match to another endpoint. It
 * is thirty seconds (decisions, section 6, "Order") minus the time until a courier notices the end of the wait.
 */
export const HELD_BACK_MAX_MS = 28_000;

export function isFinal(state: DeliveryState): boolean {
  return (FINAL_STATES as readonly DeliveryState[]).includes(state);
}
