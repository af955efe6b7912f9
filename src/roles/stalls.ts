/**
 * Detects roles of this process that have work and make no progress, for `/readyz` and an alert. A backlog is no stall
 * while it shrinks, and neither is an endpoint that hangs. Time is counted in checks, so that a process which was
 * frozen is not considered stalled when it resumes.
 */

export interface Stalls {
  /** `isDue`: whether the role has work to do. Returns a function that records each step of progress. */
  follow(role: string, isDue: () => boolean): () => void;
  /** Seconds by role. */
  readonly seconds: ReadonlyMap<string, number>;
  /** Throws the names of the roles without progress for too long. */
  assertProgress(): void;
  /** Once a second. */
  check(): void;
}

/** Longer than anything with a time limit: an attempt, a statement's dead connection, a takeover. */
const STALLED_SECONDS = 30;

export function createStalls(): Stalls {
  const due = new Map<string, () => boolean>();
  const seconds = new Map<string, number>();
  return {
    seconds,
    follow(role, isDue) {
      due.set(role, isDue);
      seconds.set(role, 0);
      return () => void seconds.set(role, 0);
    },
    assertProgress() {
      const stalled = [...seconds].filter(([, stoodStill]) => stoodStill >= STALLED_SECONDS);
      if (stalled.length === 0) return;
      const roles = stalled.map(([role, stoodStill]) => `${role} for ${stoodStill} s`);
      throw new Error(`work is due, and no progress: ${roles.join(', ')}`);
    },
    check() {
      for (const [role, isDue] of due) seconds.set(role, isDue() ? (seconds.get(role) ?? 0) + 1 : 0);
    },
  };
}
