/**
 * How many requests of a kind may be under way at once, of a client and of all: for what holds something scarce for as
 * long as somebody else pleases. Who comes when there is no room is asked to come again, and never waits here.
 */

import type { Uuid } from '../engine/domain/ids.ts';
import { Problem } from './problem.ts';
import { REFUSALS, type Sentence } from './sentences.ts';

export interface ConcurrencyBounds {
  readonly perClientMax: number;
  readonly allMax: number;
  /** Told to who is refused. */
  readonly retryAfterSeconds: number;
  /**
   * Those who find no room among all get one of as many seconds, by chance: a crowd that gets the same second is
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
  what: Sentence,
  bounds: ConcurrencyBounds,
  random: () => number = Math.random,
): ConcurrencyLimit {
  const { perClientMax, allMax, retryAfterSeconds, spreadSeconds = 1 } = bounds;
  const byClient = new Map<Uuid, number>();
  let all = 0;
  return async (clientId, work) => {
    const own = byClient.get(clientId) ?? 0;
    if (own >= perClientMax) {
      refuse(REFUSALS.tooManyAtOnce(what, perClientMax), retryAfterSeconds);
    }
    if (all >= allMax) {
      const seconds = retryAfterSeconds + Math.floor(random() * spreadSeconds);
      refuse(REFUSALS.busyWith(what, allMax, seconds), seconds);
    }
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

function refuse(detail: Sentence, seconds: number): never {
  throw new Problem(429, detail, { headers: { 'Retry-After': String(seconds) } });
}
