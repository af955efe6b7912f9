/**
 * A circuit breaker that prevents a bug from dead-lettering the whole stream. A message that cannot be recorded because
 * of a bug becomes a dead letter. If this affects more properties within the window than allowed, the messages are not
 * the cause. Intake then rests, so that another instance, perhaps of another version, may lead. If this happens again
 * less than a window after the end of the rest, the process must end.
 */

export interface BreakerOptions {
  /** Maximum number of properties whose messages may be dead-lettered within the window. */
  readonly propertiesMax: number;
  readonly windowMs: number;
  readonly restMs: number;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** Called with the reason why the process must end. */
  readonly onRepeated: (reason: string) => void;
}

export type IntakeBreaker = ReturnType<typeof createIntakeBreaker>;

export function createIntakeBreaker(options: BreakerOptions) {
  const { propertiesMax, windowMs, restMs, nowMs, onRepeated } = options;
  const failedAtMs = new Map<string, number>();
  let rest: { readonly reason: string; readonly sinceMs: number } | null = null;

  function forgetOld(): void {
    for (const [property, atMs] of failedAtMs) {
      if (atMs < nowMs() - windowMs) failedAtMs.delete(property);
    }
  }

  function trip(error: Error): void {
    const reason = `a bug affects messages of more than ${propertiesMax} properties: ${describe(error)}`;
    const isAgain = rest !== null && nowMs() - rest.sinceMs < restMs + windowMs;
    rest = { reason, sinceMs: nowMs() };
    if (isAgain) onRepeated(reason);
  }

  return {
    /** Why intake rests; null while it may lead. */
    get restReason() {
      return rest !== null && nowMs() - rest.sinceMs < restMs ? rest.reason : null;
    },
    /** Adds the messages that any instance dead-lettered before this term, as ages in milliseconds by property. */
    recall(agesMs: ReadonlyMap<string, number>) {
      for (const [property, ageMs] of agesMs) failedAtMs.set(property, nowMs() - ageMs);
    },
    /** True if a message of the property may be dead-lettered because of `error`; otherwise intake rests. */
    admits(property: string, error: Error) {
      forgetOld();
      if (!failedAtMs.has(property) && failedAtMs.size >= propertiesMax) {
        trip(error);
        return false;
      }
      failedAtMs.set(property, nowMs());
      return true;
    },
  };
}

/** Describes an error for operators. */
export function describe({ name, message }: Error): string {
  return `${name}: ${message}`;
}
