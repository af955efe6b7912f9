/**
 * One structured line per request, without its query, body or key: endpoints, contacts and secrets stay out of the
 * logs by never being read here. The request id goes to the client too, in `X-Request-Id` and in problem bodies.
 */

import { randomUUID } from 'node:crypto';
import type { Middleware } from 'koa';
import type { Principal } from '../engine/store/clients.ts';
import type { ApiLogger } from './dependencies.ts';

const REQUEST_ID = /^[\w.-]{1,64}$/;
const PATH_LENGTH_MAX = 200;
/** A key that someone put into the path. */
const KEY = /vigie_[0-9a-f]{8}_[\w-]*/gi;
/** Who has this link can unsubscribe somebody. */
const UNSUBSCRIPTION = /^(\/unsubscribe\/).+/;

function loggablePath(path: string): string {
  return path.slice(0, PATH_LENGTH_MAX).replace(KEY, 'vigie_…').replace(UNSUBSCRIPTION, '$1…');
}

export function logRequests(logger: ApiLogger, nowMs: () => number): Middleware {
  return async (ctx, next) => {
    const startedAtMs = nowMs();
    const sent = ctx.req.headers['x-request-id'];
    const requestId = typeof sent === 'string' && REQUEST_ID.test(sent) ? sent : randomUUID();
    ctx.state.requestId = requestId;
    ctx.res.setHeader('X-Request-Id', requestId);
    await next();
    const durationMs = Math.round((nowMs() - startedAtMs) * 100) / 100;
    // Of all that stands in it, only the path can hold what JSON escapes.
    logger.infoJson(
      `"requestId":"${requestId}","method":"${ctx.method}","path":${JSON.stringify(loggablePath(ctx.path))},` +
        `"status":${ctx.status},"bytes":${ctx.length ?? null},"durationMs":${durationMs},` +
        `${asker(ctx.state.principal as Principal | undefined)},"message":"request"`,
    );
  };
}

function asker(principal: Principal | undefined): string {
  if (principal === undefined) return '"clientId":null,"keyPrefix":null';
  return `"clientId":"${principal.clientId}","keyPrefix":"${principal.keyPrefix}"`;
}
