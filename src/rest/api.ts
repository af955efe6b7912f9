/**
 * The REST API (decisions, section 7): a Koa application made of its dependencies. The order of the layers below is
 * the order in which a request meets them; handlers throw, and one funnel answers.
 */

import Router from '@koa/router';
import Koa, { type Context, type Middleware } from 'koa';
import { apiKeyVerifier } from '../engine/store/clients.ts';
import { FEATURES } from '../features.ts';
import { authenticate, limitRate } from './auth.ts';
import { consoleRoutes } from './console.ts';
import { deliveryRoutes } from './deliveries.ts';
import type { ApiDependencies } from './dependencies.ts';
import { documentationRoutes } from './description/documentation.ts';
import { PATCH_TYPES } from './json-body.ts';
import { compressed, logRequests, openToOrigins, standingHeaders } from './layers.ts';
import { locationRoutes } from './location-completion.ts';
import { matchRoutes } from './matches.ts';
import { pointRoutes } from './points-of-interest.ts';
import { Problem, reportProblems } from './problem.ts';
import { propertyRoutes } from './properties.ts';
import { createQueryLimiter } from './query-limiter.ts';
import { referenceRoutes } from './reference.ts';
import { takeTurns } from './request-turns.ts';
import { searchRoutes } from './searches.ts';
import { REFUSALS } from './sentences.ts';
import { webhookTestRoutes } from './webhook-tester.ts';

export function createApi(dependencies: ApiDependencies): Koa {
  const { database, strangersDatabase = database, logger, settings } = dependencies;
  const nowMs = () => performance.now();
  const app = new Koa();
  app.use(logRequests(logger, nowMs));
  app.use(reportProblems(logger));
  app.use(standingHeaders(settings.publicUrl));
  app.use(openToOrigins);
  app.use(compressed);
  const keys = apiKeyVerifier(strangersDatabase, nowMs);
  dependencies.onKeyChange?.(keys.forget);
  app.use(authenticate(keys.verify, dependencies.onAuthenticated));
  app.use(limitRate(settings, nowMs));
  const { router, shortCut } = createRoutes(dependencies);
  app.use(shortCut);
  app.use(takeTurns(settings.databaseConnectionsMax));
  app.use(router.routes());
  app.use(refuseMethod);
  // What happens after the answer has begun, a client that hangs up mostly. Koa would print it.
  app.on('error', (error: Error, ctx?: Context) => {
    logger.info({ err: error, requestId: ctx?.state.requestId }, 'answer not finished');
  });
  return app;
}

/** Exported for the test that holds the table of endpoints against the router. */
export function createRoutes(dependencies: ApiDependencies): {
  readonly router: Router;
  readonly shortCut: Middleware;
} {
  const router = new Router({ sensitive: true });
  const limiter = createQueryLimiter(dependencies);
  const shortCut = pointRoutes(router, dependencies);
  documentationRoutes(router, dependencies);
  consoleRoutes(router, dependencies);
  searchRoutes(router, dependencies);
  matchRoutes(router, dependencies);
  deliveryRoutes(router, dependencies, limiter);
  propertyRoutes(router, dependencies);
  referenceRoutes(router, dependencies);
  locationRoutes(router, dependencies, limiter);
  webhookTestRoutes(router, dependencies);
  for (const { routes } of FEATURES) routes?.(router, dependencies, limiter);
  return { router, shortCut };
}

/** Reached when no route took the request: the path is known with other methods, or not at all. */
const refuseMethod: Middleware = (ctx) => {
  const layers = (ctx.matched ?? []) as readonly { readonly methods: readonly string[] }[];
  const methods = [...new Set(layers.flatMap((layer) => layer.methods))];
  if (methods.length === 0) throw new Problem(404, REFUSALS.noPath);
  const allow = [...methods, 'OPTIONS'].join(', ');
  if (ctx.method !== 'OPTIONS') {
    throw new Problem(405, REFUSALS.methods(allow), { headers: { Allow: allow } });
  }
  ctx.status = 204;
  ctx.set('Allow', allow);
  if (methods.includes('PATCH')) ctx.set('Accept-Patch', PATCH_TYPES.join(', '));
};
