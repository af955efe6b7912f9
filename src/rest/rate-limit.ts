/**
 * A token bucket per key, in memory: `burst` requests at once, refilled at `perSecond`. Buckets are refilled when they
 * are looked at, so there is no timer; one that has not been asked for long is full, and may be forgotten.
 */

import { LRUCache } from 'lru-cache';

export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

export interface RateVerdict {
  readonly isAllowed: boolean;
  readonly remaining: number;
  /** Whole seconds, rounded up. */
  readonly fullAfterSeconds: number;
  readonly retryAfterSeconds: number;
}

const BUCKETS_MAX = 100_000;

export interface RateLimiter {
  take(key: string, perSecond: number, burst: number): RateVerdict;
  /** What a request costs beyond one token; it is owed where they do not suffice. */
  charge(key: string, tokens: number): void;
}

/** `nowMs` is any clock that never goes backwards. */
export function createRateLimiter(nowMs: () => number): RateLimiter {
  const buckets = new LRUCache<string, { tokens: number; atMs: number }>({ max: BUCKETS_MAX });
  const take = (key: string, perSecond: number, burst: number): RateVerdict => {
    const atMs = nowMs();
    let bucket = buckets.get(key);
    if (bucket === undefined) {
      bucket = { tokens: burst, atMs };
      buckets.set(key, bucket);
    }
    bucket.tokens = Math.min(burst, bucket.tokens + ((atMs - bucket.atMs) / 1000) * perSecond);
    bucket.atMs = atMs;
    const isAllowed = bucket.tokens >= 1;
    if (isAllowed) bucket.tokens -= 1;
    return {
      isAllowed,
      remaining: Math.max(0, Math.floor(bucket.tokens)),
      fullAfterSeconds: Math.ceil((burst - bucket.tokens) / perSecond),
      retryAfterSeconds: isAllowed ? 0 : Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond)),
    };
  };
  return {
    take,
    charge(key, tokens) {
      const bucket = buckets.get(key);
      if (bucket !== undefined) bucket.tokens -= tokens;
    },
  };
}
