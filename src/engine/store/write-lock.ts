/**
 * Locks of a client's rows are tried and never waited for on a connection: who finds one taken gives its connection back
 * and comes again. Within this process the writers of a client that need such a lock go one after the other.
 */

import { pause } from '../actor/waiting.ts';
import type { Uuid } from '../domain/ids.ts';

/** PostgreSQL's code for a lock that is not to be had (`nowait`). */
const LOCK_NOT_AVAILABLE = '55P03';

/** Another process writes what depends on the same lock. */
export class LockTakenError extends Error {
  readonly code = LOCK_NOT_AVAILABLE;
}

const FIRST_PAUSE_MS = 5;
const PAUSE_MAX_MS = 100;
/** Longer than any writer holds a lock. */
const TRIES_MAX = 60;

const lastOf = new Map<Uuid, Promise<unknown>>();

/**
 * Runs `work` once no other writer of the client does here, and again while it finds a lock taken elsewhere, which it
 * throws; nothing may have been written then. Throws what it threw last.
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
