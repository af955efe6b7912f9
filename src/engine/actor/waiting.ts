/**
 * Functions that wait for a time, a signal, other work of the event loop, work with a time limit, or a turn among
 * concurrent work.
 */

/** Resolves after `durationMs`, or as soon as `stopping` is aborted. Never rejects. */
export function pause(durationMs: number, stopping?: AbortSignal): Promise<void> {
  if (stopping?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      stopping?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, durationMs);
    stopping?.addEventListener('abort', end);
  });
}

/** Runs `work`, then pauses for `factor` times its duration, so that it uses a limited share of a server's time. */
export async function rested<T>(work: () => Promise<T>, factor: number, stopping?: AbortSignal): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  await pause((performance.now() - startedAt) * factor, stopping);
  return result;
}

/** Lets the event loop serve timers and sockets that are ready. */
export function yieldToOthers(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Returns a function that runs `work` once after the current tick, however often it was called during the tick. */
export function oncePerTick(work: () => void): () => void {
  let isScheduled = false;
  return () => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      work();
    });
  };
}

/** Resolves with true if `work` is fulfilled, false if it is rejected. */
export function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

/** Resolves with whether `work` settles within `timeoutMs`. */
export async function endsWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const isLate = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  const isOver = (): boolean => true;
  return Promise.race([work.then(isOver, isOver), isLate]).finally(() => clearTimeout(timer));
}

/** Settles as `work` does, but rejects with the error of `late` if this takes longer than `timeoutMs`. */
export function inTime<T>(work: Promise<T>, timeoutMs: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Settles as `work` does, but rejects with `reason` if `signal` is aborted first; `work` then continues. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal, reason = () => signal.reason as Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(reason());
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/**
 * Runs `work` with a controller that is aborted with `stopping`, or with the error of `late` after `timeoutMs`. `work`
 * may abort the controller too. This function uses a timer because Node.js 20 garbage-collects an `AbortSignal.timeout`
 * passed to `AbortSignal.any`, so the timeout never fires (nodejs/node #57736).
 */
export async function withDeadline<T>(
  timeoutMs: number,
  stopping: AbortSignal,
  late: () => Error,
  work: (ending: AbortController) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  const stop = (): void => ending.abort(stopping.reason);
  const timer = setTimeout(() => ending.abort(late()), timeoutMs);
  stopping.addEventListener('abort', stop);
  if (stopping.aborted) stop();
  try {
    return await work(ending);
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', stop);
  }
}

/** Node.js treats a longer timeout as 1 ms. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** A notification between tasks. It is lost if no task is waiting. */
export class Signal {
  readonly #waiting = new Set<() => void>();

  /** Ends all current waits. */
  notify(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Resolves at the next notification or after `timeoutMs`. Its timer keeps the process alive if `keepsProcess`. */
  wait(timeoutMs = Number.POSITIVE_INFINITY, keepsProcess = true): Promise<void> {
    if (timeoutMs <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = timeoutMs > TIMER_MAX_MS ? undefined : setTimeout(wake, timeoutMs);
      if (!keepsProcess) timer?.unref();
      this.#waiting.add(wake);
    });
  }
}

/**
 * Returns a function that shares one reading among all callers for `keptMs`. A failed reading is not kept. `nowMs` may
 * be any clock: if the clock was set back by more than `keptMs`, the function reads again.
 */
export function keptFor<T>(keptMs: number, read: () => Promise<T>, nowMs = () => performance.now()): () => Promise<T> {
  let kept: { readonly reading: Promise<T>; readonly atMs: number } | null = null;
  return () => {
    const atMs = nowMs();
    if (kept !== null && Math.abs(atMs - kept.atMs) < keptMs) return kept.reading;
    const current = { reading: read(), atMs };
    kept = current;
    current.reading.catch(() => {
      if (kept === current) kept = null;
    });
    return current.reading;
  };
}

/** Counts work in progress, and waits for its end. */
export class InFlight {
  readonly #wakeUp = new Signal();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** `work` must not reject: a rejection is a bug and ends the process. */
  add(work: Promise<unknown>): void {
    this.#count += 1;
    void work.finally(() => {
      this.#count -= 1;
      this.#wakeUp.notify();
    });
  }

  /** Resolves when any work in progress has ended or the time is over, or at once if there is none. */
  async oneEnded(timeoutMs?: number): Promise<void> {
    if (this.#count > 0) await this.#wakeUp.wait(timeoutMs);
  }

  /** Resolves when no work is in progress, including work added during the wait. */
  async ended(): Promise<void> {
    while (this.#count > 0) await this.#wakeUp.wait();
  }
}

export interface TurnBounds {
  /** Maximum concurrent work, in total and for each key. */
  readonly allMax: number;
  readonly perKeyMax: number;
  /** A key that uses this many times the free capacity, or more, gets no further turn; default 1. */
  readonly shareOfFree?: number;
}

/** Limits concurrent work, in total and for each key. */
export class Turns {
  readonly #bounds: TurnBounds;
  readonly #underWay = new Map<string, number>();
  readonly #ended = new Signal();

  constructor(bounds: TurnBounds) {
    this.#bounds = bounds;
  }

  /** Waits for free capacity, then runs `work`; resolves with null if there is no capacity within `waitMs`. */
  async run<T>(key: string, work: () => Promise<T>, waitMs = Number.POSITIVE_INFINITY): Promise<T | null> {
    for (const giveUpAt = performance.now() + waitMs; !this.#hasRoom(key); ) {
      const leftMs = giveUpAt - performance.now();
      if (leftMs <= 0) return null;
      await this.#ended.wait(leftMs);
    }
    this.#add(key, 1);
    try {
      return await work();
    } finally {
      this.#add(key, -1);
      this.#ended.notify();
    }
  }

  #hasRoom(key: string): boolean {
    const { allMax, perKeyMax, shareOfFree = 1 } = this.#bounds;
    let free = allMax;
    for (const count of this.#underWay.values()) free -= count;
    return (this.#underWay.get(key) ?? 0) < Math.min(perKeyMax, shareOfFree * free);
  }

  #add(key: string, change: 1 | -1): void {
    const count = (this.#underWay.get(key) ?? 0) + change;
    if (count === 0) this.#underWay.delete(key);
    else this.#underWay.set(key, count);
  }
}
