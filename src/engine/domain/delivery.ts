/**
 * The life of a delivery (decisions, section 6). The row in PostgreSQL is the queue: each transition is a step of the
 * table below and has its statement in `store/`; a test compares the two. No step reads a clock.
 *
 * An attempt whose process died is aborted. If its outcome arrives after all and is a success, it wins over the abort
 * and over every later attempt: the endpoint has the data.
 */

import type { EventKind } from './codes.ts';
import type { SearchNumber, Uuid } from './ids.ts';

/** Open: `queued` is due, `sending` is claimed, `retry_wait` waits for its retry. */
export const DELIVERY_STATES = ['queued', 'sending', 'retry_wait', 'delivered', 'failed', 'cancelled'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export const FINAL_STATES = ['delivered', 'failed', 'cancelled'] as const satisfies readonly DeliveryState[];

interface Step {
  readonly from: readonly DeliveryState[];
  readonly to: DeliveryState;
}

export const STEPS = {
  /** Counts an attempt, before any byte is sent. */
  claim: { from: ['queued'], to: 'sending' },
  /** Claimed and not sent: the attempt is uncounted. */
  giveBack: { from: ['sending'], to: 'queued' },
  /** By any attempt, however late. */
  deliver: { from: ['queued', 'sending', 'retry_wait', 'failed'], to: 'delivered' },
  /** The present attempt failed, or its process died. */
  retry: { from: ['sending'], to: 'retry_wait' },
  exhaust: { from: ['sending'], to: 'failed' },
  /** The retry delay is over. */
  release: { from: ['retry_wait'], to: 'queued' },
  /** A client or operator asks for another sending. */
  resend: { from: ['retry_wait', 'delivered', 'failed', 'cancelled'], to: 'queued' },
  cancel: { from: ['queued', 'sending', 'retry_wait'], to: 'cancelled' },
} as const satisfies Readonly<Record<string, Step>>;

/** `first`: its first attempt is due; `retry`: a retry or resend is due. No first one queues behind those. */
export type Lane = 'first' | 'retry';

/** The announcement of a delivery that has become due. */
export interface DueDelivery {
  readonly id: Uuid;
  readonly endpointKey: string;
  readonly lane: Lane;
}

/** The first attempt and at most five retries (specification, section 6.3). */
export const ATTEMPTS_MAX = 6;

/** Those of the webhooks, each to an endpoint of its own, and e-mail (domain/mail.ts). */
export const WEBHOOK_CHANNELS = ['match', 'event'] as const;
export const DELIVERY_CHANNELS = [...WEBHOOK_CHANNELS, 'email'] as const;
export type WebhookChannel = (typeof WEBHOOK_CHANNELS)[number];
export type DeliveryChannel = (typeof DELIVERY_CHANNELS)[number];

/** The reported reasons for which a resend is refused (decisions, section 11). */
export const RESEND_REFUSALS = {
  unwanted: { en: 'its search does not want it any more', fr: 'la recherche n’en veut plus' },
  'no endpoint': { en: 'its search has no endpoint for it', fr: 'la recherche n’a plus d’adresse pour cela' },
  withheld: {
    en: 'it was recorded with contacts, which its search hides by now',
    fr: 'il y a des contacts, que la recherche ne transmet plus',
  },
  'e-mail': { en: 'it went by e-mail, and webhooks alone are sent again', fr: 'seuls les webhooks le sont' },
  attempts_exhausted: { en: 'it was attempted too many times', fr: 'il y a eu trop de tentatives' },
} as const;
export type ResendRefusal = keyof typeof RESEND_REFUSALS;

/** A delivery as the recorder creates it. */
export interface NewDelivery {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly matchId: Uuid;
  /** Its position among the webhooks of its match, from 1. */
  readonly sequence: number;
  /** The search's generation, incremented when it is silenced. */
  readonly generation: number;
  readonly channel: WebhookChannel;
  readonly kind: EventKind;
  readonly endpoint: string;
  /** The body up to the property document; `snapshotId` names the rest. */
  readonly head: string;
  readonly snapshotId: Uuid;
  /** The trace that the advert's message belongs to (W3C Trace Context); null when it came without one. */
  readonly traceparent: string | null;
}

/** Why an attempt did not end with HTTP 200. `aborted`: the daemon died during it. */
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
  /** For the log: the error, and that it was posted twice; null otherwise. */
  readonly reason: string | null;
  /** The first 2 KiB of the answer. */
  readonly responseHead: string | null;
}

/** Of an attempt that ended without a word from its endpoint. */
export function abortedOutcome(startedAt: Date, reason: string): AttemptOutcome {
  return { startedAt, durationMs: 0, statusCode: null, error: 'aborted', reason, responseHead: null };
}

/** What follows an attempt. `dueAt` is set in `retry_wait` alone. */
export interface AfterAttempt {
  readonly state: 'delivered' | 'retry_wait' | 'failed';
  readonly dueAt: Date | null;
}

/** `attemptCount`: of this series, from 1. HTTP 200 delivers; anything else is retried `retryDelayMs` after the attempt's end, five times. */
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
 * The maximum time from its recording for which a delivery waits for an earlier one of its match at another endpoint:
 * the thirty seconds of the decisions (section 6, "Order"), less the time in which a courier notices that they are
 * over.
 */
export const HELD_BACK_MAX_MS = 28_000;

export function isFinal(state: DeliveryState): boolean {
  return (FINAL_STATES as readonly DeliveryState[]).includes(state);
}
