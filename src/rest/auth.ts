/** Authentication by API keys (decisions, section 7). */

import type { Context, Middleware, Next } from 'koa';
import type { Principal, VerifyApiKey } from '../engine/store/clients.ts';
import type { ApiDependencies } from './dependencies.ts';
import { Problem } from './problem.ts';
import { REFUSALS } from './sentences.ts';

const PUBLIC_PATH =
  /^\/(|docs([./].*)?|contexts\/.*|openapi\.json|schemas\/.*|favicon\.ico|console(\/.*)?|unsubscribe\/.*)$/;

/** For long requests: rejects with a 401 `Problem` when the key has since been revoked. */
export async function requireKeyStill(ctx: Context): Promise<void> {
  const verify = ctx.state.verifyKey as VerifyApiKey;
  if ((await verify(String(ctx.req.headers['x-api-key']))) === null) throw refusal(true);
}

export function principalOf(ctx: Context): Principal {
  return ctx.state.principal as Principal;
}

/** Requires a key for every path that `PUBLIC_PATH` does not match, even for one that does not exist. */
export function authenticate(verify: VerifyApiKey, onAuthenticated: OnAuthenticated): Middleware {
  return (ctx, next) => {
    if (PUBLIC_PATH.test(ctx.path)) return next();
    ctx.state.verifyKey = verify;
    const key = ctx.req.headers['x-api-key'];
    const verified = typeof key === 'string' ? verify(key) : null;
    // Most keys are cached, and their result is not a promise: awaiting it would cost a tick.
    return verified instanceof Promise
      ? verified.then((principal) => admit(ctx, principal, onAuthenticated, next))
      : admit(ctx, verified, onAuthenticated, next);
  };
}

type OnAuthenticated = ApiDependencies['onAuthenticated'];

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

/** False for the POST of a preview, which stores nothing. */
export function isWrite({ method, path }: Context): boolean {
  return method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS' && !path.endsWith('/preview');
}
