/**
 * Which roles of this process have work and get nowhere: what `/readyz` and an alert look at, beside the servers. A
 * backlog is no stall while it is worked on, and neither is an endpoint that hangs. Time is counted in looks, so that a
 * process which was frozen does not wake up in disgrace.
 */

export interface Stalls {
  /** `isDue`: whether the role has work that it should be at. Returns what notes each step forward. */
  follow(role: string, isDue: () => boolean): () => void;
  /** Seconds by role. */
  readonly seconds: ReadonlyMap<string, number>;
  /** Throws the names of the roles that have stood still for too long. */
  assertProgress(): void;
  /** Once a second. */
  look(): void;
}

/** Longer than anything takes that has a limit: an attempt, a statement's dead connection, a takeover. */
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
    look() {
      for (const [role, isDue] of due) seconds.set(role, isDue() ? (seconds.get(role) ?? 0) + 1 : 0);
    },
  };
}
