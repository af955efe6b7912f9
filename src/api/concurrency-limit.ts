/**
 * How many requests of a kind may be under way at once, of a client and of all: for what holds something scarce for as
 * long as somebody else pleases. Who comes when there is no room is told to come again, and never waits here.
 */

import type { Uuid } from '../domain/ids.ts';
import { Problem } from './problem.ts';

export interface ConcurrencyBounds {
  readonly perClientMax: number;
  readonly allMax: number;
  /** Told to who is refused. */
  readonly retryAfterSeconds: number;
  /**
   * Those who find no room among all are told one of as many seconds, by chance: a crowd that is told the same second is
   * back in the same second. One unless said.
   */
  readonly spreadSeconds?: number;
}

export type ConcurrencyLimit = <T>(clientId: Uuid, work: () => Promise<T>) => Promise<T>;

/**
 * What it returns does `work`, or throws a 429 `Problem`. `what` is the subject of its sentence, in the plural; `random`
 * is below 1.
 */
export function createConcurrencyLimit(
  what: string,
  bounds: ConcurrencyBounds,
  random: () => number = Math.random,
): ConcurrencyLimit {
  const { perClientMax, allMax, retryAfterSeconds, spreadSeconds = 1 } = bounds;
  const byClient = new Map<Uuid, number>();
  let all = 0;
  return async (clientId, work) => {
    const own = byClient.get(clientId) ?? 0;
    const refuse = (bound: string, seconds: number): never => {
      const headers = { 'Retry-After': String(seconds) };
      throw new Problem(429, `too many ${what} at once: ${bound} may be under way`, { headers });
    };
    if (own >= perClientMax) refuse(`${perClientMax} of a client`, retryAfterSeconds);
    if (all >= allMax) refuse(`${allMax} in all`, retryAfterSeconds + Math.floor(random() * spreadSeconds));
    byClient.set(clientId, own + 1);
    all += 1;
    try {
      return await work();
    } finally {
      all -= 1;
      const left = (byClient.get(clientId) ?? 1) - 1;
      if (left === 0) byClient.delete(clientId);
      else byClient.set(clientId, left);
    }
  };
}
