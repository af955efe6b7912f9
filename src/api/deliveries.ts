/** `/deliveries`, of one search or of all; `/searches/{id}/deliveries`, `/deliveries/{id}` (decisions, sections 6, 7). */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { DELIVERY_STATES } from '../domain/delivery.ts';
import { type EndpointHealth, endpointKeyOf } from '../domain/endpoint.ts';
import {
  type DeliveryPage,
  type DeliveryRead,
  listDeliveries,
  listDeliveriesOfClient,
  readDelivery,
} from '../store/delivery-reads.ts';
import { readEndpointHealth } from '../store/endpoints.ts';
import { principalOf } from './auth.ts';
import { listWithinReach, TIME_ORDERS, timeOrderedPage } from './client-listings.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { collection, type Paging } from './hydra.ts';
import { notFound } from './problem.ts';
import { choiceParameter, PAGING, type Rules, readQuery, referenceParameter } from './query.ts';
import { searchIri } from './search-document.ts';
import { idOf, ownSearch } from './searches.ts';

export const SEARCH_DELIVERY_PARAMETERS = {
  status: choiceParameter('State of the delivery; failed: all retries are exhausted.', DELIVERY_STATES),
  ...TIME_ORDERS,
  ...PAGING,
} as const;

export const DELIVERY_LIST_PARAMETERS = {
  search: referenceParameter('The search whose deliveries are listed; without it, those of all searches.', 'searches'),
  ...SEARCH_DELIVERY_PARAMETERS,
} as const;

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

  const answerPage = async (ctx: Context, page: DeliveryPage, paging: Paging, parameters: Rules): Promise<void> => {
    const members = await describe(ctx, page.deliveries);
    answer(ctx, collection(ctx, { context: 'Delivery', members, totalItems: page.total, paging, parameters }));
  };

  router.get('/searches/:id/deliveries', acceptable, async (ctx) => {
    const query = readQuery(ctx, SEARCH_DELIVERY_PARAMETERS);
    const { number } = await ownSearch(ctx, dependencies);
    const page = await listDeliveries(database, number, { state: query.status, ...timeOrderedPage(query) });
    await answerPage(ctx, page, query, SEARCH_DELIVERY_PARAMETERS);
  });

  router.get('/deliveries', acceptable, async (ctx) => {
    const query = readQuery(ctx, DELIVERY_LIST_PARAMETERS);
    const wanted = { state: query.status, ...timeOrderedPage(query) };
    const page =
      query.search === null
        ? await listWithinReach(ctx, wanted, (part) =>
            listDeliveriesOfClient(database, principalOf(ctx).clientId, part),
          )
        : await listDeliveries(database, (await ownSearch(ctx, dependencies, query.search)).number, wanted);
    await answerPage(ctx, page, query, DELIVERY_LIST_PARAMETERS);
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
