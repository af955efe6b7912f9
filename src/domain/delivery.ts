/**
 * The life of a delivery (decisions, section 6). The row in PostgreSQL is the truth; a dispatched message is only a
 * hint to look at it, so every step below is refused when the row does not allow it, however often and in whatever
 * order messages come. The statements of `store/` take the same steps (`STEPS_FROM`), and a test compares the two.
 *
 * - `queued`      waits for its first attempt              → sending, parked, cancelled
 * - `sending`     an attempt is counted and under way       → delivered, retry_wait, failed, cancelled
 * - `retry_wait`  failed, due again at `dueAt`              → sending, parked, cancelled
 * - `parked`      its endpoint is paused or has too many    → sending, cancelled
 * - `delivered`, `failed`, `cancelled`                      final (an operator's replay re-queues `failed`)
 *
 * An attempt whose process died is aborted when its lease ends. Should its outcome arrive after all, and be a success,
 * it wins over the abort and over every attempt that has followed: the endpoint has the data.
 */

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

export const FINAL_STATES = ['delivered', 'failed', 'cancelled'] as const satisfies readonly DeliveryState[];

/** From which states each step is taken: here, and in the statements that take it. */
export const STEPS_FROM = {
  claim: ['queued', 'retry_wait'],
  draw: ['parked'],
  park: ['queued', 'retry_wait'],
  /** The present attempt, however it ended. */
  end: ['sending'],
  /** Any attempt, by a success. */
  succeed: ['queued', 'sending', 'retry_wait', 'parked', 'failed'],
  replay: ['failed'],
  cancel: ['queued', 'sending', 'retry_wait', 'parked'],
} as const satisfies Readonly<Record<string, readonly DeliveryState[]>>;

/** The first attempt and at most five retries (specification, section 6.3). */
export const ATTEMPTS_MAX = 6;

/** Those of the webhooks, each to an endpoint of its own, and e-mail (domain/mail.ts). */
export const WEBHOOK_CHANNELS = ['match', 'event'] as const;
export const DELIVERY_CHANNELS = [...WEBHOOK_CHANNELS, 'email'] as const;
export type WebhookChannel = (typeof WEBHOOK_CHANNELS)[number];
export type DeliveryChannel = (typeof DELIVERY_CHANNELS)[number];

/** Why a delivery is not sent again though somebody asks (decisions, section 11), as it is told. */
export const RESEND_REFUSALS = {
  unwanted: 'its search does not want it any more',
  'no endpoint': 'its search has no endpoint for it',
  withheld: 'it was recorded with contacts, which its search hides by now',
  'e-mail': 'it went by e-mail, and webhooks alone are sent again',
  'worn out': 'it was attempted too many times',
} as const;
export type ResendRefusal = keyof typeof RESEND_REFUSALS;

/** A delivery as the recorder creates it. */
export interface NewDelivery {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly matchId: Uuid;
  /** Its place among the webhooks of its match, from 1; null for what has none. */
  readonly sequence: number | null;
  readonly channel: WebhookChannel;
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

/** What the steps of a delivery read and write. Times in milliseconds of PostgreSQL's clock. */
export interface DeliveryProgress {
  readonly state: DeliveryState;
  /** Attempts counted: the present one's number while `sending`. Counts on over replays. */
  readonly attemptCount: number;
  /** Attempts made before the last replay. */
  readonly attemptsSpent: number;
  readonly attemptStartedAt: number | null;
  /** When the next attempt may start; while `sending`, when the lease ends. */
  readonly dueAt: number;
}

export const NEW_DELIVERY = { state: 'queued', attemptCount: 0, attemptsSpent: 0, attemptStartedAt: null } as const;

/** Counts an attempt, before any byte is sent. `from`: by a message, or drawn from what is parked. Null when refused. */
export function claim(
  delivery: DeliveryProgress,
  from: 'message' | 'parked',
  now: number,
  leaseMs: number,
): DeliveryProgress | null {
  if (!may(from === 'parked' ? 'draw' : 'claim', delivery) || delivery.dueAt > now) return null;
  const attemptCount = delivery.attemptCount + 1;
  return { ...delivery, state: 'sending', attemptCount, attemptStartedAt: now, dueAt: now + leaseMs };
}

/**
 * How long a delivery waits at most, from its recording on, for an earlier one of its match at another endpoint: the
 * thirty seconds of the decisions (section 6, "Order"), less what a courier may need to notice that they are over.
 */
export const HELD_BACK_MAX_MS = 28_000;

/** What order asks of a delivery. */
export interface OrderedDelivery extends Pick<DeliveryProgress, 'state' | 'attemptCount'> {
  readonly endpointKey: string;
  readonly sequence: number;
}

/**
 * Whether `earlier` keeps `later`, of the same match and before its first attempt, from that attempt: as long as the own
 * first attempt of `earlier` has not ended. One that is parked has lost its place, unless both are parked at one endpoint
 * and drawn in turn, or its endpoint is only short of room: then it keeps its place for as long as one of another
 * endpoint would. `ageMs`: of `later`, since its recording. `at`: the endpoint of `earlier`.
 */
export function holdsBack(
  earlier: OrderedDelivery,
  later: OrderedDelivery,
  ageMs: number,
  at: { readonly isPaused: boolean; readonly isFailing: boolean },
): boolean {
  if (earlier.sequence >= later.sequence || later.attemptCount > 0) return false;
  const isUndecided =
    earlier.state === 'sending'
      ? earlier.attemptCount === 1
      : (earlier.state === 'queued' || earlier.state === 'parked') && earlier.attemptCount === 0;
  if (!isUndecided) return false;
  const isParked = earlier.state === 'parked';
  if (earlier.endpointKey === later.endpointKey && (!isParked || later.state === 'parked')) return true;
  return ageMs < HELD_BACK_MAX_MS && !at.isPaused && !(isParked && at.isFailing);
}

/** Records how attempt `number` ended. Null when the delivery has gone on without it; it never does without a success. */
export function end(
  delivery: DeliveryProgress,
  number: number,
  outcome: Pick<AttemptOutcome, 'startedAt' | 'durationMs' | 'error'>,
  retryDelayMs: number,
): DeliveryProgress | null {
  const { state, dueAt } = afterAttempt(number - delivery.attemptsSpent, outcome, retryDelayMs);
  const isPresent = may('end', delivery) && delivery.attemptCount === number;
  const isNewSuccess = state === 'delivered' && may('succeed', delivery);
  if (!isPresent && !isNewSuccess) return null;
  return { ...delivery, state, dueAt: dueAt?.getTime() ?? delivery.dueAt };
}

/** Once the lease has ended: the attempt counts as failed, due again one delay after it started. Null when refused. */
export function abort(delivery: DeliveryProgress, now: number, retryDelayMs: number): DeliveryProgress | null {
  if (!may('end', delivery) || delivery.dueAt > now || delivery.attemptStartedAt === null) return null;
  const outcome = { startedAt: new Date(delivery.attemptStartedAt), durationMs: 0, error: 'aborted' as const };
  return end(delivery, delivery.attemptCount, outcome, retryDelayMs);
}

/** Sets it aside without using an attempt. Null when refused. */
export function park(delivery: DeliveryProgress): DeliveryProgress | null {
  return may('park', delivery) ? { ...delivery, state: 'parked' } : null;
}

/** An operator's replay: a new series of attempts under the same id. Null when refused. */
export function replay(delivery: DeliveryProgress, now: number): DeliveryProgress | null {
  if (!may('replay', delivery)) return null;
  return { ...delivery, state: 'queued', attemptsSpent: delivery.attemptCount, dueAt: now };
}

/** Null when it is final already. */
export function cancel(delivery: DeliveryProgress): DeliveryProgress | null {
  return may('cancel', delivery) ? { ...delivery, state: 'cancelled' } : null;
}

export function isFinal(state: DeliveryState): boolean {
  return (FINAL_STATES as readonly DeliveryState[]).includes(state);
}

function may(step: keyof typeof STEPS_FROM, { state }: DeliveryProgress): boolean {
  return (STEPS_FROM[step] as readonly DeliveryState[]).includes(state);
}
