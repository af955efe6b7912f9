/**
 * What every answer passes through before it leaves: standing headers, CORS, compression. A request that asks
 * for none of it pays for none of it: points of interest are answered in some fifty microseconds, and the libraries
 * behind these layers would double that.
 */

import { randomUUID } from 'node:crypto';
import cors from '@koa/cors';
import type { Context, Middleware, Next } from 'koa';
import koaCompress from 'koa-compress';
import type { Principal } from '../engine/store/clients.ts';
import { baseUrlOf } from './content.ts';
import type { ApiLogger } from './dependencies.ts';
import { codedTag } from './entity-tags.ts';

/**
 * Answers are one client's: a cache on the way, which does not know that the key is a secret, may not keep them for
 * others (RFC 9111, section 5.2.2.7). The rest is helmet's, those that mean something for JSON: it is no document,
 * loads nothing and is framed nowhere. Other origins may read it: that is what CORS is open for.
 */
const STANDING_HEADERS = Object.entries({
  'Cache-Control': 'private, no-cache',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Referrer-Policy': 'no-referrer',
  'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
  'X-Content-Type-Options': 'nosniff',
  Vary: 'Accept, Accept-Encoding, Origin',
});

const API_DOCUMENTATION = 'http://www.w3.org/ns/hydra/core#apiDocumentation';

/** Security headers, and the link by which Hydra clients find the documentation; `ctx.state.baseUrl` is what it begins with. */
export function standingHeaders(publicUrl: string | null): Middleware {
  let host: string | undefined;
  let baseUrl = '';
  let link = '';
  return (ctx, next) => {
    if (link === '' || host !== ctx.req.headers.host) {
      host = ctx.req.headers.host;
      baseUrl = baseUrlOf(ctx, publicUrl);
      link = `<${baseUrl}/docs.jsonld>; rel="${API_DOCUMENTATION}"`;
    }
    ctx.state.baseUrl = baseUrl;
    for (const [name, value] of STANDING_HEADERS) ctx.res.setHeader(name, value);
    ctx.res.setHeader('Link', link);
    return next();
  };
}

const REQUEST_HEADERS = [
  'Accept',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'X-API-KEY',
  'X-Request-Id',
];
const ANSWER_HEADERS = [
  ...['ETag', 'Link', 'Location', 'Retry-After', 'X-Request-Id', 'Allow'],
  ...['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
];

const answerOrigins = cors({ allowHeaders: REQUEST_HEADERS, exposeHeaders: ANSWER_HEADERS, maxAge: 86_400 });

/** Any origin may ask: what it may see is the key's matter, and a browser sends no key by itself. */
export const openToOrigins: Middleware = (ctx, next) => {
  return ctx.req.headers.origin === undefined ? next() : answerOrigins(ctx, next);
};

const answerCompressed = koaCompress({ zstd: false });

/**
 * A client that refuses every encoding, identity included, is answered without one (RFC 9110, section 12.5.3, allows
 * it): koa-compress 5.2 fails on such a header.
 */
export const compressed: Middleware = (ctx, next) => {
  const isAsked = ctx.req.headers['accept-encoding'] !== undefined;
  const isAnswerable = isAsked && ctx.acceptsEncodings('br', 'gzip', 'deflate', 'identity') !== false;
  return isAnswerable ? compress(ctx, next) : next();
};

async function compress(ctx: Context, next: Next): Promise<void> {
  await answerCompressed(ctx, next);
  const coding = ctx.res.getHeader('Content-Encoding');
  const etag = ctx.res.getHeader('ETag');
  if (typeof coding === 'string' && typeof etag === 'string') ctx.set('ETag', codedTag(etag, coding));
}

const REQUEST_ID = /^[\w.-]{1,64}$/;
const PATH_LENGTH_MAX = 200;
/** A key that someone put into the path. */
const KEY = /vigie_[0-9a-f]{8}_[\w-]*/gi;
/** Who has this link can unsubscribe somebody. */
const UNSUBSCRIPTION = /^(\/unsubscribe\/).+/;

function loggablePath(path: string): string {
  return path.slice(0, PATH_LENGTH_MAX).replace(KEY, 'vigie_…').replace(UNSUBSCRIPTION, '$1…');
}

/**
 * One structured line per request, without its query, body or key: endpoints, contacts and secrets stay out of the
 * logs by never being read here. The request id goes to the client too, in `X-Request-Id` and in problem bodies.
 */
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
