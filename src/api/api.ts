/**
 * The REST API (decisions, section 7): a Koa application made of its dependencies. The order of the layers below is
 * the order in which a request meets them; handlers throw, and one funnel answers.
 */

import cors from '@koa/cors';
import etag from '@koa/etag';
import Router from '@koa/router';
import Koa, { type Context, type Middleware } from 'koa';
import compress from 'koa-compress';
import { apiKeyVerifier } from '../store/clients.ts';
import { authenticate, limitRate } from './auth.ts';
import { baseUrlOf } from './base-url.ts';
import { deliveryRoutes } from './deliveries.ts';
import type { ApiDependencies } from './dependencies.ts';
import { documentationRoutes } from './documentation.ts';
import { matchRoutes } from './matches.ts';
import { pointRoutes } from './points-of-interest.ts';
import { Problem, reportProblems } from './problem.ts';
import { propertyRoutes } from './properties.ts';
import { referenceRoutes } from './reference.ts';
import { logRequests } from './request-log.ts';
import { searchRoutes } from './searches.ts';
import { secureHeaders } from './secure-headers.ts';
import { webhookTestRoutes } from './webhook-tester.ts';

export function createApi(dependencies: ApiDependencies): Koa {
  const { database, logger, settings } = dependencies;
  const nowMs = () => performance.now();
  const app = new Koa();
  app.use(logRequests(logger, nowMs));
  app.use(reportProblems(logger));
  app.use(cors({ allowHeaders: REQUEST_HEADERS, exposeHeaders: ANSWER_HEADERS, maxAge: 86_400 }));
  app.use(secureHeaders);
  app.use(forgiveEncodings);
  app.use(compress({ zstd: false }));
  app.use(answerUnchanged);
  app.use(etag());
  app.use(linkToDocumentation(settings.publicUrl));
  app.use(authenticate(apiKeyVerifier(database, nowMs)));
  app.use(limitRate(settings, nowMs));
  const router = createRouter(dependencies);
  app.use(router.routes());
  app.use(refuseMethod);
  // What happens after the answer has begun, a client that hangs up mostly. Koa would print it.
  app.on('error', (error: Error, ctx?: Context) => {
    logger.info({ err: error, requestId: ctx?.state.requestId }, 'answer not finished');
  });
  return app;
}

const REQUEST_HEADERS = ['Accept', 'Content-Type', 'If-None-Match', 'X-API-KEY', 'X-Request-Id'];
const ANSWER_HEADERS = [
  ...['ETag', 'Link', 'Location', 'Retry-After', 'X-Request-Id', 'Allow'],
  ...['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
];

/** Exported for the test that holds the table of endpoints against it. */
export function createRouter(dependencies: ApiDependencies): Router {
  const router = new Router({ sensitive: true });
  documentationRoutes(router, dependencies);
  searchRoutes(router, dependencies);
  matchRoutes(router, dependencies);
  deliveryRoutes(router, dependencies);
  propertyRoutes(router, dependencies);
  referenceRoutes(router, dependencies);
  pointRoutes(router, dependencies);
  webhookTestRoutes(router, dependencies);
  return router;
}

/**
 * A client that refuses every encoding, identity included, is answered without one (RFC 9110, section 12.5.3, allows
 * it): koa-compress 5.2 fails on such a header.
 */
const forgiveEncodings: Middleware = (ctx, next) => {
  const { headers } = ctx.req;
  const isRefusal = headers['accept-encoding'] !== undefined && ctx.acceptsEncodings('br', 'gzip', 'deflate') === false;
  if (isRefusal && ctx.acceptsEncodings('identity') === false) delete headers['accept-encoding'];
  return next();
};

/**
 * 304 when the client has what would be answered (RFC 9110, section 13.1.2). `Cache-Control: no-cache`, which `fetch`
 * adds to such requests, is for caches on the way: this is the origin.
 */
const answerUnchanged: Middleware = async (ctx, next) => {
  await next();
  const known = ctx.get('If-None-Match');
  if (known === '' || ctx.status !== 200 || !['GET', 'HEAD'].includes(ctx.method)) return;
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');
  const etag = ctx.response.get('ETag');
  if (etag === '' || !known.split(',').some((tag) => tag.trim() === '*' || opaque(tag) === opaque(etag))) return;
  ctx.status = 304;
  ctx.body = null;
};

const API_DOCUMENTATION = 'http://www.w3.org/ns/hydra/core#apiDocumentation';

function linkToDocumentation(publicUrl: string | null): Middleware {
  return (ctx, next) => {
    ctx.set('Link', `<${baseUrlOf(ctx, publicUrl)}/docs.jsonld>; rel="${API_DOCUMENTATION}"`);
    return next();
  };
}

/** Reached when no route took the request: the path is known with other methods, or not at all. */
const refuseMethod: Middleware = (ctx) => {
  const layers = (ctx.matched ?? []) as readonly { readonly methods: readonly string[] }[];
  const methods = [...new Set(layers.flatMap((layer) => layer.methods))];
  if (methods.length === 0) throw new Problem(404, 'there is nothing at this path');
  const allow = [...methods, 'OPTIONS'].join(', ');
  if (ctx.method !== 'OPTIONS') {
    throw new Problem(405, `this resource knows ${allow}`, { headers: { Allow: allow } });
  }
  ctx.status = 204;
  ctx.set('Allow', allow);
};
