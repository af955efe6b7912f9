/**
 * The REST API (decisions, section 7): a Koa application made of its dependencies. The order of the layers below is
 * the order in which a request meets them; handlers throw, and one funnel answers.
 */

import Router from '@koa/router';
import Koa, { type Context, type Middleware } from 'koa';
import { apiKeyVerifier } from '../store/clients.ts';
import { authenticate, limitRate } from './auth.ts';
import { deliveryRoutes } from './deliveries.ts';
import type { ApiDependencies } from './dependencies.ts';
import { matchRoutes } from './matches.ts';
import { pointRoutes } from './points-of-interest.ts';
import { Problem, reportProblems } from './problem.ts';
import { propertyRoutes } from './properties.ts';
import { referenceRoutes } from './reference.ts';
import { logRequests } from './request-log.ts';
import { searchRoutes } from './searches.ts';
import { webhookTestRoutes } from './webhook-tester.ts';

export function createApi(dependencies: ApiDependencies): Koa {
  const { database, logger, settings } = dependencies;
  const nowMs = () => performance.now();
  const app = new Koa();
  app.use(logRequests(logger, nowMs));
  app.use(reportProblems(logger));
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

function createRouter(dependencies: ApiDependencies): Router {
  const router = new Router();
  searchRoutes(router, dependencies);
  matchRoutes(router, dependencies);
  deliveryRoutes(router, dependencies);
  propertyRoutes(router, dependencies);
  referenceRoutes(router, dependencies);
  pointRoutes(router, dependencies);
  webhookTestRoutes(router, dependencies);
  return router;
}

/** The protocol and host that clients use: the configured ones, else those of the request. */
export function baseUrlOf(ctx: Context, publicUrl: string | null): string {
  if (publicUrl !== null) return publicUrl.replace(/\/+$/, '');
  // Koa's `ctx.origin` is the Origin header, a page's address and not ours.
  return /^[\w.:[\]-]+$/.test(ctx.host) ? `${ctx.protocol}://${ctx.host}` : '';
}

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
