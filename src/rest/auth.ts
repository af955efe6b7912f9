/** Authentication and rate limits: API keys and the rate limit of each (decisions, section 7). */

import type { Context, Middleware, Next } from 'koa';
import { LRUCache } from 'lru-cache';
import type { Principal, VerifyApiKey } from '../engine/store/clients.ts';
import type { ApiDependencies, ApiSettings, RateLimit } from './dependencies.ts';
import { Problem } from './problem.ts';
import { REFUSALS } from './sentences.ts';

const PUBLIC_PATH =
  /^\/(|docs([./].*)?|contexts\/.*|openapi\.json|asyncapi\.json|schemas\/.*|favicon\.ico|console(\/.*)?|unsubscribe\/.*)$/;

/** Rejects with 401 when the key was revoked meanwhile; for long requests. */
export async function requireKeyStill(ctx: Context): Promise<void> {
  const verify = ctx.state.verifyKey as VerifyApiKey;
  if ((await verify(String(ctx.req.headers['x-api-key']))) === null) throw refusal(true);
}

export function principalOf(ctx: Context): Principal {
  return ctx.state.principal as Principal;
}

/** Everything but the documentation and the console's page needs a key, including paths that do not exist. */
export function authenticate(verify: VerifyApiKey, onAuthenticated: OnAuthenticated = () => true): Middleware {
  return (ctx, next) => {
    if (PUBLIC_PATH.test(ctx.path)) return next();
    ctx.state.verifyKey = verify;
    const key = ctx.req.headers['x-api-key'];
    const verdict = typeof key === 'string' ? verify(key) : null;
    // Most keys are cached: awaiting those as well would cost a tick.
    return verdict instanceof Promise
      ? verdict.then((principal) => admit(ctx, principal, onAuthenticated, next))
      : admit(ctx, verdict, onAuthenticated, next);
  };
}

type OnAuthenticated = NonNullable<ApiDependencies['onAuthenticated']>;

function admit(
  ctx: Context,
  principal: Principal | null,
  onAuthenticated: OnAuthenticated,
  next: Next,
): Promise<unknown> {
  if (principal === null) throw refusal(ctx.req.headers['x-api-key'] !== undefined);
  if (!onAuthenticated(ctx.req.socket, principal.clientId)) {
    throw new Problem(429, REFUSALS.connections, {
      headers: { 'Retry-After': '1', Connection: 'close' },
    });
  }
  ctx.state.principal = principal;
  return next();
}

function refusal(isKeySent: boolean): Problem {
  const detail = isKeySent ? REFUSALS.unknownKey : REFUSALS.noKey;
  return new Problem(401, detail, { headers: { 'WWW-Authenticate': 'ApiKey realm="vigie", header="X-API-KEY"' } });
}

/** A preview stores nothing. */
export function isWrite({ method, path }: Context): boolean {
  return method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS' && !path.endsWith('/preview');
}

/** A body costs one more token per this many bytes: as many as the requests that take as long to read and validate. */
const BYTES_PER_TOKEN = 64 * 1_024;

/**
 * Per key and process, reads and writes apart. Answers 429 with `Retry-After`, before the request's body is read;
 * `RateLimit-*` (IETF draft, third version) on every answer.
 */
export function limitRate(settings: ApiSettings, nowMs: () => number): Middleware {
  const [reads, writes] = [createRateLimiter(nowMs), createRateLimiter(nowMs)];
  return (ctx, next) => {
    const principal = ctx.state.principal as Principal | undefined;
    if (principal === undefined) return next();
    const isWriting = isWrite(ctx);
    const { perSecond, burst } = isWriting ? writeLimitOf(principal, settings) : readLimitOf(principal, settings);
    const limiter = isWriting ? writes : reads;
    const verdict = limiter.take(principal.keyId, perSecond, burst);
    const { isAllowed, remaining, fullAfterSeconds, retryAfterSeconds } = verdict;
    ctx.state.chargeBody = (bytes: number) => limiter.charge(principal.keyId, Math.floor(bytes / BYTES_PER_TOKEN));
    ctx.res.setHeader('RateLimit-Limit', burst);
    ctx.res.setHeader('RateLimit-Remaining', remaining);
    ctx.res.setHeader('RateLimit-Reset', fullAfterSeconds);
    if (isAllowed) return next();
    throw new Problem(429, REFUSALS.rate(perSecond, isWriting), {
      headers: { 'Retry-After': String(retryAfterSeconds) },
    });
  };
}

function readLimitOf({ rateLimitPerSecond, rateLimitBurst }: Principal, { readLimit }: ApiSettings): RateLimit {
  const perSecond = rateLimitPerSecond ?? readLimit.perSecond;
  return { perSecond, burst: rateLimitBurst ?? Math.max(readLimit.burst, perSecond) };
}

function writeLimitOf({ writeLimitPerSecond, writeLimitBurst }: Principal, { writeLimit }: ApiSettings): RateLimit {
  const perSecond = writeLimitPerSecond ?? writeLimit.perSecond;
  return { perSecond, burst: writeLimitBurst ?? Math.max(writeLimit.burst, perSecond) };
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
  /** The cost of a request beyond one token; missing tokens become a debt. */
  charge(key: string, tokens: number): void;
}

/**
 * A token bucket per key, in memory: `burst` requests at once, refilled at `perSecond`. Buckets are refilled when they
 * are looked at, so there is no timer; one that has not been asked for long is full, and may be forgotten. `nowMs` is any
 * clock that never goes backwards.
 */
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
