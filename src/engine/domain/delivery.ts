/**
 * The life cycle of a delivery (decisions, section 6). Its row in PostgreSQL is the queue: each transition is a step of
 * the table below, with a statement in `store/`; a test compares the two. No step reads a clock.
 *
 * An attempt whose process died is aborted. If its outcome arrives later and is a success, it overrides the abort and
 * every later attempt, because the endpoint has the data.
 */

import type { EventKind } from './codes.ts';
import type { SearchNumber, Uuid } from './ids.ts';

/** Open states: `queued` is due, `sending` is claimed, `retry_wait` waits for its retry. */
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
  /** The delivery was claimed but not sent, so that the attempt is not counted. */
  giveBack: { from: ['sending'], to: 'queued' },
  /** By a success of any attempt, however late. */
  deliver: { from: ['queued', 'sending', 'retry_wait', 'failed'], to: 'delivered' },
  /** The current attempt failed, or its process died. */
  retry: { from: ['sending'], to: 'retry_wait' },
  exhaust: { from: ['sending'], to: 'failed' },
  /** The retry delay is over. */
  release: { from: ['retry_wait'], to: 'queued' },
  /** A client or operator requests another delivery. */
  resend: { from: ['retry_wait', 'delivered', 'failed', 'cancelled'], to: 'queued' },
  cancel: { from: ['queued', 'sending', 'retry_wait'], to: 'cancelled' },
} as const satisfies Readonly<Record<string, Step>>;

/** `first`: its first attempt is due; `retry`: a retry or resend is due. First attempts never wait behind retries. */
export type Lane = 'first' | 'retry';

/** Announces a delivery that has become due. */
export interface DueDelivery {
  readonly id: Uuid;
  readonly endpointKey: string;
  readonly lane: Lane;
}

/** The first attempt and at most five retries (specification, section 6.3). */
export const ATTEMPTS_MAX = 6;

/** The webhook channels, each with an endpoint of its own, and e-mail (domain/mail.ts). */
export const WEBHOOK_CHANNELS = ['match', 'event'] as const;
export const DELIVERY_CHANNELS = [...WEBHOOK_CHANNELS, 'email'] as const;
export type WebhookChannel = (typeof WEBHOOK_CHANNELS)[number];
export type DeliveryChannel = (typeof DELIVERY_CHANNELS)[number];

/** Reported reasons why a resend is refused (decisions, section 11). */
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
  /** Position among the webhooks of its match, from 1. */
  readonly sequence: number;
  /** The search's generation, incremented when the search is silenced. */
  readonly generation: number;
  readonly channel: WebhookChannel;
  readonly kind: EventKind;
  readonly endpoint: string;
  /** The body up to the property document, which the snapshot `snapshotId` contains. */
  readonly head: string;
  readonly snapshotId: Uuid;
  /** Trace of the advert's message (W3C Trace Context); null if it had none. */
  readonly traceparent: string | null;
}

/** Why an attempt did not end with HTTP 200. `aborted`: the process died during the attempt. */
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
  /** For the log: the error, and that the body was posted twice; otherwise null. */
  readonly reason: string | null;
  /** The first 2 KiB of the response. */
  readonly responseHead: string | null;
}

/** For an attempt that ended without a response from its endpoint. */
export function abortedOutcome(startedAt: Date, reason: string): AttemptOutcome {
  return { startedAt, durationMs: 0, statusCode: null, error: 'aborted', reason, responseHead: null };
}

/** State after an attempt. `dueAt` is set only in `retry_wait`. */
export interface AfterAttempt {
  readonly state: 'delivered' | 'retry_wait' | 'failed';
  readonly dueAt: Date | null;
}

/**
 * `attemptCount`: attempts of this series, from 1. HTTP 200 delivers; any other outcome is retried up to five times,
 * `retryDelayMs` after the attempt's end.
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
 * Maximum time, from its recording, that a delivery waits for an earlier one of its match at another endpoint: thirty
 * seconds (decisions, section 6, "Order") minus the time until a courier notices that they have passed.
 */
export const HELD_BACK_MAX_MS = 28_000;

export function isFinal(state: DeliveryState): boolean {
  return (FINAL_STATES as readonly DeliveryState[]).includes(state);
}
