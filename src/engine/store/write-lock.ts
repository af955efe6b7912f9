/**
 * Locks of a client's rows are tried and never waited for on a connection: a writer that finds one taken returns its
 * connection and retries. Within this process the writers of a client that need such a lock run one after the other.
 */

import { pause } from '../actor/waiting.ts';
import type { Uuid } from '../domain/ids.ts';

/** PostgreSQL's code for an unavailable lock (`nowait`). */
const LOCK_NOT_AVAILABLE = '55P03';

/** Another process holds the same lock. */
export class LockTakenError extends Error {
  readonly code = LOCK_NOT_AVAILABLE;
}

const FIRST_PAUSE_MS = 5;
const PAUSE_MAX_MS = 100;
/** Longer than any writer holds a lock. */
const TRIES_MAX = 60;

const lastOf = new Map<Uuid, Promise<unknown>>();

/**
 * Runs `work` once no other writer of the client runs in this process, and retries it while a lock is taken elsewhere
 * (`work` throws that, and must not have written anything then). Throws the last error.
 */
export async function withWriteLock<T>(clientId: Uuid, work: () => Promise<T>): Promise<T> {
  const before = lastOf.get(clientId);
  const own = (before ?? Promise.resolve()).then(() => untilUnlocked(work));
  const ended = own.catch(() => undefined);
  lastOf.set(clientId, ended);
  try {
    return await own;
  } finally {
    if (lastOf.get(clientId) === ended) lastOf.delete(clientId);
  }
}

async function untilUnlocked<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const isTaken = error instanceof Error && (error as Error & { code?: unknown }).code === LOCK_NOT_AVAILABLE;
      if (!isTaken || tries === TRIES_MAX) throw error;
    }
    await pause(Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** tries) * (0.5 + Math.random()));
  }
}
