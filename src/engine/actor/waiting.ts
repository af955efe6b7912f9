/**
 * Waiting, in all its forms: for time to pass, for a signal that others give, for others to go first, and for work
 * that may take only so long. Nobody else of the house sleeps.
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

/** Does `work`, then rests `factor` times as long as it took: that leaves the rest of a server's time to others. */
export async function rested<T>(work: () => Promise<T>, factor: number, stopping?: AbortSignal): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  await pause((performance.now() - startedAt) * factor, stopping);
  return result;
}

/** Resolves when timers and sockets that are ready have been served. */
export function yieldToOthers(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** What it returns does `work` once, behind the present tick, however often it is called before. */
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

/** Whether `work` has ended, however it did, before `timeoutMs` were over. */
export async function endsWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const isLate = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  const isOver = (): boolean => true;
  return Promise.race([work.then(isOver, isOver), isLate]).finally(() => clearTimeout(timer));
}

/** Settles as `work` does; rejects with what `late` makes once `timeoutMs` are over. */
export function inTime<T>(work: Promise<T>, timeoutMs: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Node takes a longer time for none at all. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Waits for what another task reports. A signal that is given while nobody waits is lost. */
export class Signal {
  readonly #waiting = new Set<() => void>();

  /** Lets all go who wait. */
  notify(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Resolves at the next signal, or after `timeoutMs`; with `keepsProcess` false a process that only waits may end. */
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
