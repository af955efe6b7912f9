/**
 * The REST API (decisions, section 7), a Koa application. A request passes through the layers in the order below; one
 * error handler answers the errors that they throw. A layer calls its library only for requests that need it. Points of
 * interest are answered in about fifty microseconds; the libraries would double that time.
 */

import { randomUUID } from 'node:crypto';
import cors from '@koa/cors';
import Router from '@koa/router';
import type { Context, Middleware, Next } from 'koa';
import Koa from 'koa';
import koaCompress from 'koa-compress';
import { apiKeyVerifier, type Principal } from '../engine/store/clients.ts';
import { authenticate } from './auth.ts';
import { consoleRoutes } from './console.ts';
import { baseUrlOf, codedTag, readForwarded } from './content.ts';
import { deliveryRoutes } from './deliveries.ts';
import type { ApiDependencies, ApiLogger } from './dependencies.ts';
import { documentationRoutes } from './description/documentation.ts';
import { PATCH_TYPES } from './json-body.ts';
import { createQueryLimiter, createTurns, limitRate, refuseWritesWhile } from './limits.ts';
import { marketRoutes } from './markets.ts';
import { matchRoutes } from './matches.ts';
import { pointRoutes } from './points-of-interest.ts';
import { Problem, reportProblems } from './problem.ts';
import { propertyRoutes } from './properties.ts';
import { locationRoutes, publisherRoutes, referenceRoutes } from './reference.ts';
import { ROUTED_RESOURCES } from './resources.ts';
import { searchRoutes } from './searches.ts';
import { REFUSALS } from './sentences.ts';
import { webhookTestRoutes } from './webhook-tester.ts';

export function createApi(dependencies: ApiDependencies): Koa {
  const { publicDatabase, logger, settings } = dependencies;
  const nowMs = () => performance.now();
  const app = new Koa();
  app.use(logRequests(logger, nowMs));
  app.use(reportProblems(logger));
  app.use(readForwarded(settings.proxies));
  app.use(readIris);
  app.use(setCommonHeaders(settings.publicUrl));
  const { router, shortCut } = createRoutes(dependencies);
  app.use(openToOrigins(router));
  app.use(compressed);
  const keys = apiKeyVerifier(publicDatabase, nowMs);
  dependencies.onKeyChange(keys.forget);
  app.use(authenticate(keys.verify, dependencies.onAuthenticated));
  app.use(limitRate(settings, nowMs));
  app.use(refuseWritesWhile(dependencies.isStoreFull));
  app.use(shortCut);
  app.use(createTurns(settings.databaseConnectionsMax));
  app.use(router.routes());
  app.use(refuseMethod(router));
  // Errors after the answer has begun, mostly from clients that disconnect. By default Koa would print them.
  app.on('error', (error: Error, ctx?: Context) => {
    logger.info({ reason: error.message, requestId: ctx?.state.requestId }, 'The answer could not be sent completely.');
  });
  return app;
}

/** Exported for the test that compares the paths of `/openapi.json` with the router. */
export function createRoutes(dependencies: ApiDependencies): {
  readonly router: Router;
  readonly shortCut: Middleware;
} {
  const router = new Router({ sensitive: true });
  const limiter = createQueryLimiter(dependencies.queryDatabase);
  const shortCut = pointRoutes(router, dependencies);
  documentationRoutes(router, dependencies);
  consoleRoutes(router, dependencies);
  searchRoutes(router, dependencies, limiter);
  matchRoutes(router, dependencies);
  deliveryRoutes(router, dependencies, limiter);
  propertyRoutes(router, dependencies);
  referenceRoutes(router, dependencies);
  locationRoutes(router, dependencies, limiter);
  marketRoutes(router, dependencies, limiter);
  publisherRoutes(router, limiter);
  webhookTestRoutes(router, dependencies);
  for (const { routes } of ROUTED_RESOURCES) routes?.(router, dependencies, limiter);
  return { router, shortCut };
}

/** The methods that the path accepts. A literal path has precedence: `/searches/preview` is not a `/searches/:id`. */
function methodsOf(router: Router, path: string): readonly string[] {
  const layers = router.match(path, 'OPTIONS').path;
  const literal = layers.filter((layer) => layer.path === path);
  return [...new Set((literal.length > 0 ? literal : layers).flatMap(({ methods }) => methods))];
}

/** Runs when no route matches: answers OPTIONS, or throws a 404 `Problem` or, if the path has other methods, a 405. */
function refuseMethod(router: Router): Middleware {
  return (ctx) => {
    const methods = methodsOf(router, ctx.path);
    if (methods.length === 0) throw new Problem(404, REFUSALS.noPath);
    const allow = [...methods, 'OPTIONS'].join(', ');
    if (ctx.method !== 'OPTIONS') {
      throw new Problem(405, REFUSALS.methods(allow), { headers: { Allow: allow } });
    }
    ctx.status = 204;
    ctx.set('Allow', allow);
    if (methods.includes('PATCH')) ctx.set('Accept-Patch', PATCH_TYPES.join(', '));
  };
}

/**
 * A shared cache must not store answers, which belong to one client, because it ignores `X-API-KEY` (RFC 9111, section
 * 5.2.2.7). The other headers except `Vary` are those of helmet that apply to JSON. The resource policy is
 * `cross-origin`, because CORS lets other origins read the answers.
 */
const COMMON_HEADERS = Object.entries({
  'Cache-Control': 'private, no-cache',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Referrer-Policy': 'no-referrer',
  'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
  'X-Content-Type-Options': 'nosniff',
  Vary: 'Accept, Accept-Encoding, Origin',
});

const API_DOCUMENTATION = 'http://www.w3.org/ns/hydra/core#apiDocumentation';

/** Sets `COMMON_HEADERS`, the link by which Hydra clients find the documentation, and `ctx.state.baseUrl`. */
function setCommonHeaders(publicUrl: string | null): Middleware {
  return (ctx, next) => {
    const baseUrl = baseUrlOf(ctx, publicUrl);
    ctx.state.baseUrl = baseUrl;
    for (const [name, value] of COMMON_HEADERS) ctx.res.setHeader(name, value);
    ctx.res.setHeader('Link', `<${baseUrl}/docs.jsonld>; rel="${API_DOCUMENTATION}"`);
    return next();
  };
}

const IRI_AS_ID = /^(\/[\w/-]+\/)(%2F[^/]+)/i;

/**
 * Clients that follow the links of the OpenAPI document send an encoded IRI as the id: `/searches/%2Fsearches%2F{id}`.
 * The decoded IRI replaces the path. Such clients encode `/`, and the `%` of an encoded e-mail address.
 */
const readIris: Middleware = (ctx, next) => {
  const [requested = '', folder = '', segment = ''] = ctx.path.includes('%') ? (IRI_AS_ID.exec(ctx.path) ?? []) : [];
  const iri = segment.replace(/%2F/gi, '/').replaceAll('%25', '%');
  if (requested !== '' && iri.startsWith(folder)) ctx.path = iri + ctx.path.slice(requested.length);
  return next();
};

const REQUEST_HEADERS = [
  'Accept',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'traceparent',
  'tracestate',
  'X-API-KEY',
  'X-Request-Id',
];
const ANSWER_HEADERS = [
  ...['ETag', 'Link', 'Location', 'Retry-After', 'X-Request-Id', 'Allow'],
  ...['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
];

const answerOrigins = cors({ allowHeaders: REQUEST_HEADERS, exposeHeaders: ANSWER_HEADERS, maxAge: 86_400 });

/** Any origin may send requests: the key controls access, and a browser never adds a key to a request on its own. */
function openToOrigins(router: Router): Middleware {
  return async (ctx, next) => {
    if (ctx.req.headers.origin === undefined) return next();
    await answerOrigins(ctx, next);
    const isPreflight = ctx.res.hasHeader('Access-Control-Allow-Methods');
    if (isPreflight) ctx.set('Access-Control-Allow-Methods', methodsOf(router, ctx.path).join(','));
  };
}

const answerCompressed = koaCompress({ zstd: false });

/**
 * A client that refuses every encoding, even identity, gets an unencoded answer, because koa-compress 5.2 fails on such
 * a header. RFC 9110, section 12.5.3, allows this.
 */
const compressed: Middleware = (ctx, next) => {
  const isRequested = ctx.req.headers['accept-encoding'] !== undefined;
  const isAnswerable = isRequested && ctx.acceptsEncodings('br', 'gzip', 'deflate', 'identity') !== false;
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
/** An API key that a client put into the path by mistake. */
const KEY = /vigie_[0-9a-f]{8}_[\w-]*/gi;
/** A link to unsubscribe works without a key, so logs must not show its token. */
const UNSUBSCRIPTION = /^(\/unsubscribe\/).+/;
/** E-mail addresses: the path of a recipient has one, and a client may put one into another path by mistake. */
const RECIPIENT = /^(\/recipients\/).+/;
const ADDRESS = /@|%40/;

function loggablePath(path: string): string {
  const shown = path
    .slice(0, PATH_LENGTH_MAX)
    .replace(KEY, 'vigie_…')
    .replace(UNSUBSCRIPTION, '$1…')
    .replace(RECIPIENT, '$1…');
  return shown
    .split('/')
    .map((part) => (ADDRESS.test(part) ? '…' : part))
    .join('/');
}

/** A user notices a wait of this length. */
const SLOW_MS = 1_000;

/**
 * Logs one structured line per request, without its query and body, and with only the prefix of its key. A request is
 * logged as a warning if its status is 500 or above, or if it was slow without waiting for another party
 * (`waitsForOthers`). The client gets the same request id in `X-Request-Id` and in error bodies.
 */
function logRequests(logger: ApiLogger, nowMs: () => number): Middleware {
  return async (ctx, next) => {
    const startedAtMs = nowMs();
    const sent = ctx.req.headers['x-request-id'];
    const requestId = typeof sent === 'string' && REQUEST_ID.test(sent) ? sent : randomUUID();
    ctx.state.requestId = requestId;
    ctx.res.setHeader('X-Request-Id', requestId);
    await next();
    const durationMs = Math.round((nowMs() - startedAtMs) * 100) / 100;
    const principal = ctx.state.principal as Principal | undefined;
    const fields = {
      requestId,
      method: ctx.method,
      path: loggablePath(ctx.path),
      status: ctx.status,
      bytes: ctx.length ?? null,
      durationMs,
      clientId: principal?.clientId ?? null,
      keyPrefix: principal?.keyPrefix ?? null,
    };
    const isSlow = durationMs >= SLOW_MS && ctx.state.waitsForOthers !== true;
    if (ctx.status >= 500 || isSlow) logger.warn(fields, 'request');
    else logger.debug(fields, 'request');
  };
}
