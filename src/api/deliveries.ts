/** `/searches/{id}/deliveries`, the same as `/deliveries?search=`, and `/deliveries/{id}` (decisions, sections 6, 7). */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { DELIVERY_STATES, type DeliveryState } from '../domain/delivery.ts';
import { type EndpointHealth, endpointKeyOf } from '../domain/endpoint.ts';
import type { Search } from '../domain/search.ts';
import { type DeliveryRead, listDeliveries, readDelivery } from '../store/delivery-reads.ts';
import { readEndpointHealth } from '../store/endpoints.ts';
import { principalOf } from './auth.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { collection, offsetOf, type Paging } from './hydra.ts';
import { notFound } from './problem.ts';
import { choiceParameter, PAGING, type Rules, readQuery, referenceParameter } from './query.ts';
import { searchIri } from './search-document.ts';
import { idOf, ownSearch } from './searches.ts';

export const SEARCH_DELIVERY_PARAMETERS = {
  status: choiceParameter('State of the delivery; failed: all retries are exhausted.', DELIVERY_STATES),
  ...PAGING,
} as const;

export const DELIVERY_LIST_PARAMETERS = {
  search: referenceParameter('The search whose deliveries are listed.', 'searches'),
  ...SEARCH_DELIVERY_PARAMETERS,
} as const;

type DeliveryQuery = Paging & { readonly status: DeliveryState | null };

export function deliveryRoutes(router: Router, dependencies: ApiDependencies): void {
  const { database } = dependencies;

  /** Health is the client's own, also where an older version recorded the delivery for all who name the URL. */
  const describe = async (ctx: Context, deliveries: readonly DeliveryRead[]): Promise<object[]> => {
    const { clientId } = principalOf(ctx);
    const keyed = deliveries.map((delivery) => ({ delivery, key: endpointKeyOf(clientId, delivery.endpoint) }));
    const healths = await readEndpointHealth(database, [...new Set(keyed.map(({ key }) => key))]);
    const healthOf = new Map(healths.map((health) => [health.key, health]));
    return keyed.map(({ delivery, key }) => deliveryDocument(delivery, healthOf.get(key) ?? null));
  };

  const answerPage = async (ctx: Context, search: Search, query: DeliveryQuery, parameters: Rules): Promise<void> => {
    const page = { state: query.status, ...offsetOf(query) };
    const { deliveries, total } = await listDeliveries(database, search.number, page);
    const members = await describe(ctx, deliveries);
    answer(ctx, collection(ctx, { context: 'Delivery', members, totalItems: total, paging: query, parameters }));
  };

  router.get('/searches/:id/deliveries', acceptable, async (ctx) => {
    const query = readQuery(ctx, SEARCH_DELIVERY_PARAMETERS);
    await answerPage(ctx, await ownSearch(ctx, dependencies), query, SEARCH_DELIVERY_PARAMETERS);
  });

  router.get('/deliveries', acceptable, async (ctx) => {
    const query = readQuery(ctx, DELIVERY_LIST_PARAMETERS);
    await answerPage(ctx, await ownSearch(ctx, dependencies, query.search), query, DELIVERY_LIST_PARAMETERS);
  });

  router.get('/deliveries/:id', acceptable, async (ctx) => {
    const delivery = await readDelivery(database, principalOf(ctx).clientId, idOf(ctx, 'this delivery'));
    if (delivery === null) throw notFound('this delivery');
    const [document] = await describe(ctx, [delivery]);
    answer(ctx, document as object);
  });
}

export function deliveryDocument(delivery: DeliveryRead, health: EndpointHealth | null): object {
  const isWaiting = delivery.state === 'queued' || delivery.state === 'retry_wait';
  return {
    '@context': '/contexts/Delivery',
    '@id': `/deliveries/${delivery.id}`,
    '@type': 'Delivery',
    search: searchIri(delivery.searchId),
    match: `/matches/${delivery.matchId}`,
    channel: delivery.channel,
    event: delivery.kind,
    endpoint: delivery.endpoint,
    endpointHealth: health === null ? null : healthDocument(health),
    status: delivery.state,
    exhausted: delivery.state === 'failed',
    attemptCount: delivery.attemptCount,
    dueAt: isWaiting ? delivery.dueAt.toISOString() : null,
    createdAt: delivery.createdAt.toISOString(),
    finishedAt: delivery.finishedAt?.toISOString() ?? null,
    attempts: delivery.attempts.map(({ startedAt, ...attempt }) => ({
      ...attempt,
      startedAt: startedAt.toISOString(),
    })),
  };
}

function healthDocument(health: EndpointHealth): object {
  return {
    state: health.state,
    failureStreak: health.failureStreak,
    backlog: health.backlog,
    oldestDueAt: health.oldestDueAt?.toISOString() ?? null,
    lastSuccessAt: health.lastSuccessAt?.toISOString() ?? null,
    lastFailureAt: health.lastFailureAt?.toISOString() ?? null,
    lastError: health.lastError,
  };
}
