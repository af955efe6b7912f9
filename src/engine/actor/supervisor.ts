/**
 * Supervises work that fails. After a transient error of a server, the work is retried with growing pauses until the
 * retry budget is over. After any other error, it is retried three times within half a minute; then the error counts as
 * a bug. The supervisor reports failures, and which actors are failing and for how long.
 */

import { pause } from './waiting.ts';

export interface ActorFailure {
  readonly actor: string;
  readonly error: Error;
  /** True if the error counts as a bug. */
  readonly isBug: boolean;
  /** True if the actor stops because of this failure. */
  readonly isFinal: boolean;
  /** Null if the work is not retried. */
  readonly retryInMs: number | null;
}

export interface FailingActor {
  readonly actor: string;
  readonly reason: string;
  /** Milliseconds since the first failure after the last success. */
  readonly failingForMs: number;
}

/** An actor that has been failing for this long is reported to operators. */
export const FAILING_MS = 10_000;

export type Supervisor = ReturnType<typeof createSupervisor>;

export interface Watch extends Pick<SupervisorOptions, 'isOperational' | 'retryPausesMs'> {
  failed(failure: Omit<ActorFailure, 'actor'>): void;
  /** Call this when the actor works again or has ended. */
  recovered(): void;
  /** Call this when the actor is abandoned: later failures are then reported but have no other effect. */
  dismissed(): void;
}

export interface SupervisorOptions {
  /** Whether a failure is a transient error of a server. */
  readonly isOperational: (error: Error) => boolean;
  /** The pause before each retry after an error of unknown class. */
  readonly retryPausesMs: readonly number[];
  readonly onFailure: (failure: ActorFailure) => void;
  /** Returns the reason shown to operators. Default: the error's message. */
  readonly reasonOf?: (error: Error) => string;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

export function createSupervisor(options: SupervisorOptions) {
  const { isOperational, retryPausesMs, onFailure, reasonOf = ({ message }) => message, nowMs } = options;
  const failing = new Map<object, { readonly actor: string; readonly sinceMs: number; reason: string }>();
  return {
    isOperational,
    retryPausesMs,
    /** Watches an actor, or work like an actor's; several watches may share a name. */
    watch(actor: string): Watch {
      const identity = {};
      let isDismissed = false;
      return {
        isOperational,
        retryPausesMs,
        failed(failure) {
          if (isDismissed) return onFailure({ actor, ...failure, isFinal: false });
          const known = failing.get(identity);
          failing.set(identity, { actor, reason: reasonOf(failure.error), sinceMs: known?.sinceMs ?? nowMs() });
          onFailure({ actor, ...failure });
        },
        recovered: () => void failing.delete(identity),
        dismissed() {
          isDismissed = true;
          failing.delete(identity);
        },
      };
    },
    /** Actors that have been failing for at least `durationMs`, one entry per name, longest first. */
    failing(durationMs: number): readonly FailingActor[] {
      const longest = new Map<string, FailingActor>();
      for (const { actor, reason, sinceMs } of failing.values()) {
        const failingForMs = nowMs() - sinceMs;
        const isLongest = failingForMs > (longest.get(actor)?.failingForMs ?? Number.NEGATIVE_INFINITY);
        if (failingForMs >= durationMs && isLongest) longest.set(actor, { actor, reason, failingForMs });
      }
      return [...longest.values()].sort((a, b) => b.failingForMs - a.failingForMs);
    },
  };
}

/** For work outside actors. Every failure counts as transient and is reported, and the work is retried. */
export function transientErrorWatch(what: string, onTransientError: (what: string, error: Error) => void): Watch {
  return {
    isOperational: () => true,
    retryPausesMs: [],
    failed: ({ error }) => onTransientError(what, error),
    recovered: () => undefined,
    dismissed: () => undefined,
  };
}

/** How long work is retried. */
export interface RetryBudget {
  readonly isOver: boolean;
  /** Resolves after `durationMs`, or earlier if the work should be retried at once. */
  pause(durationMs: number): Promise<void>;
}

/** Unlimited until `stopping` is aborted. A pause then ends, and the work is attempted once more. */
export function retryUntilAborted(stopping: AbortSignal): RetryBudget {
  return {
    get isOver() {
      return stopping.aborted;
    },
    pause: (durationMs) => pause(durationMs, stopping),
  };
}

/** The work was abandoned before it succeeded. */
export class RetryAbandonedError extends Error {
  readonly code = 'GAVE_UP';
}

/** Returns null for abandoned work; rethrows any other error. */
export function nullIfAbandoned(error: Error): null {
  if (error instanceof RetryAbandonedError) return null;
  throw error;
}

const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 5_000;

/**
 * Runs `work` until it succeeds. Rejects with `RetryAbandonedError`, or with an error that is not transient once no
 * `retryPausesMs` are left. Pass none if the caller first isolates the cause of an unknown error.
 */
export async function retryUntilDone<T>(
  work: () => Promise<T>,
  watch: Watch,
  budget: RetryBudget,
  retryPausesMs: readonly number[] = watch.retryPausesMs,
): Promise<T> {
  const unexplained = [...retryPausesMs];
  for (let growingMs = RETRY_FIRST_MS; ; growingMs = Math.min(2 * growingMs, RETRY_MAX_MS)) {
    try {
      const result = await work();
      watch.recovered();
      return result;
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause));
      const retryInMs = watch.isOperational(error) ? growingMs : unexplained.shift();
      if (retryInMs === undefined) throw error;
      const { isOver } = budget;
      watch.failed({ error, isBug: false, isFinal: false, retryInMs: isOver ? null : retryInMs });
      if (isOver) throw new RetryAbandonedError('no time is left for a retry', { cause: error });
      await budget.pause(retryInMs);
    }
  }
}

export interface Bisected<T, R> {
  readonly results: readonly R[];
  /** Items for which `work` fails with a bug even if they are alone. */
  readonly broken: readonly T[];
}

/**
 * Like `retryUntilDone`, for many items. If `work` fails because of a bug, each half of the items is processed
 * separately. Then only transient errors are still retried.
 */
export async function retryBisecting<T, R>(
  items: readonly T[],
  work: (items: readonly T[]) => Promise<readonly R[]>,
  watch: Watch,
  budget: RetryBudget,
  retryPausesMs: readonly number[] = watch.retryPausesMs,
): Promise<Bisected<T, R>> {
  if (items.length === 0) return { results: [], broken: [] };
  try {
    return { results: await retryUntilDone(() => work(items), watch, budget, retryPausesMs), broken: [] };
  } catch (error) {
    if (error instanceof RetryAbandonedError) throw error;
    if (items.length === 1) {
      watch.failed({ error: error as Error, isBug: true, isFinal: false, retryInMs: null });
      return { results: [], broken: items };
    }
    const middle = items.length >> 1;
    const first = await retryBisecting(items.slice(0, middle), work, watch, budget, []);
    const second = await retryBisecting(items.slice(middle), work, watch, budget, []);
    return { results: [...first.results, ...second.results], broken: [...first.broken, ...second.broken] };
  }
}
