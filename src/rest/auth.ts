/** Who asks, and how often: API keys and the rate limit of each (decisions, section 7). */

import type { Context, Middleware, Next } from 'koa';
import type { Principal, VerifyApiKey } from '../engine/store/clients.ts';
import type { ApiDependencies, ApiSettings } from './dependencies.ts';
import { movedTo, moving, Problem } from './problem.ts';
import { createRateLimiter, type RateLimit } from './rate-limit.ts';
import { REFUSALS } from './sentences.ts';

const PUBLIC_PATH =
  /^\/(|docs([./].*)?|contexts\/.*|openapi\.json|asyncapi\.json|schemas\/.*|favicon\.ico|console(\/.*)?|unsubscribe\/.*)$/;

/** Rejects with the 401 of a key that has been revoked since; for what goes on for long. */
export async function requireKeyStill(ctx: Context): Promise<void> {
  const verify = ctx.state.verifyKey as VerifyApiKey;
  if ((await verify(String(ctx.req.headers['x-api-key']))) === null) throw refusal(true);
}

export function principalOf(ctx: Context): Principal {
  return ctx.state.principal as Principal;
}

/** Everything but the documentation and the console's page needs a key, paths that do not exist included. */
export function authenticate(verify: VerifyApiKey, onAuthenticated: OnAuthenticated = () => true): Middleware {
  return (ctx, next) => {
    if (PUBLIC_PATH.test(ctx.path)) return next();
    ctx.state.verifyKey = verify;
    const key = ctx.req.headers['x-api-key'];
    const verdict = typeof key === 'string' ? verify(key) : null;
    // Most keys are known: waiting for those as well would cost a tick.
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
  if (principal.movedTo !== null) throw movedTo(principal.movedTo);
  if (principal.isMoving) throw moving();
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

/** What takes longest to read and to check costs as many requests as take as long. */
const BYTES_PER_TOKEN = 64 * 1_024;

/**
 * Per key and process, reads and writes apart. Answers 429 with `Retry-After`, before anything of the request's body is
 * read; `RateLimit-*` (IETF draft, third version) on every answer.
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
