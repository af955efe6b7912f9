/** One waits for what another one tells, for as long as there is time. What is rung while nobody waits is not heard. */

/** Node takes a longer time for none at all. */
const TIMER_MAX_MS = 2 ** 31 - 1;

export class Bell {
  readonly #waiting = new Set<() => void>();

  /** Lets all go who wait. */
  ring(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Resolves when it rings, or after `timeoutMs`; with `keepsProcess` false a process that only waits may end. */
  rung(timeoutMs = Number.POSITIVE_INFINITY, keepsProcess = true): Promise<void> {
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
