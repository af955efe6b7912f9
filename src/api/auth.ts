/** Who asks, and how often: API keys and the rate limit of each (decisions, section 7). */

import type { Context, Middleware, Next } from 'koa';
import type { Principal, VerifyApiKey } from '../store/clients.ts';
import type { ApiSettings } from './dependencies.ts';
import { movedTo, moving, Problem } from './problem.ts';
import { createRateLimiter } from './rate-limit.ts';

const PUBLIC_PATH =
  /^\/(|docs([./].*)?|contexts\/.*|openapi\.json|asyncapi\.json|schemas\/.*|favicon\.ico|console(\/.*)?|unsubscribe\/.*)$/;

export function principalOf(ctx: Context): Principal {
  return ctx.state.principal as Principal;
}

/** Everything but the documentation and the console's page needs a key, paths that do not exist included. */
export function authenticate(verify: VerifyApiKey): Middleware {
  return (ctx, next) => {
    if (PUBLIC_PATH.test(ctx.path)) return next();
    const key = ctx.req.headers['x-api-key'];
    const verdict = typeof key === 'string' ? verify(key) : null;
    // Most keys are known: waiting for those as well would cost a tick.
    return verdict instanceof Promise
      ? verdict.then((principal) => admit(ctx, principal, next))
      : admit(ctx, verdict, next);
  };
}

function admit(ctx: Context, principal: Principal | null, next: Next): Promise<unknown> {
  if (principal === null) throw refusal(ctx.req.headers['x-api-key'] !== undefined);
  if (principal.movedTo !== null) throw movedTo(principal.movedTo);
  if (principal.isMoving) throw moving();
  ctx.state.principal = principal;
  return next();
}

function refusal(isKeySent: boolean): Problem {
  const detail = isKeySent ? 'this API key is unknown or revoked' : 'send your API key in the header X-API-KEY';
  return new Problem(401, detail, { headers: { 'WWW-Authenticate': 'ApiKey realm="vigie", header="X-API-KEY"' } });
}

/** Per key and process. Answers 429 with `Retry-After`; `RateLimit-*` (IETF draft, third version) on every answer. */
export function limitRate(settings: ApiSettings, nowMs: () => number): Middleware {
  const take = createRateLimiter(nowMs);
  return (ctx, next) => {
    const principal = ctx.state.principal as Principal | undefined;
    if (principal === undefined) return next();
    const perSecond = principal.rateLimitPerSecond ?? settings.rateLimitPerSecond;
    const burst = principal.rateLimitBurst ?? Math.max(settings.rateLimitBurst, perSecond);
    const { isAllowed, remaining, fullAfterSeconds, retryAfterSeconds } = take(principal.keyId, perSecond, burst);
    ctx.res.setHeader('RateLimit-Limit', burst);
    ctx.res.setHeader('RateLimit-Remaining', remaining);
    ctx.res.setHeader('RateLimit-Reset', fullAfterSeconds);
    if (isAllowed) return next();
    throw new Problem(429, `at most ${perSecond} requests a second`, {
      headers: { 'Retry-After': String(retryAfterSeconds) },
    });
  };
}
