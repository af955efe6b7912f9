/** `/deliveries`, `/searches/{id}/deliveries`, `/deliveries/{id}` and its `/resend` (decisions, sections 6 and 7). */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { EVENT_KINDS } from '../engine/domain/codes.ts';
import { DELIVERY_CHANNELS, DELIVERY_STATES, RESEND_REFUSALS } from '../engine/domain/delivery.ts';
import type { EndpointHealth } from '../engine/domain/endpoint.ts';
import type { SearchNumber, Uuid } from '../engine/domain/ids.ts';
import { bodyOf, hasContacts, withoutContacts } from '../engine/domain/routing.ts';
import {
  ANY_DELIVERY,
  ANY_TIME,
  type DeliveryTarget,
  readEndpointKey,
  readTargets,
} from '../engine/store/delivery-filters.ts';
import {
  type DeliveryPage,
  type DeliveryRead,
  listDeliveries,
  listDeliveriesOfClient,
  readDelivery,
  readSentContent,
  type SentContent,
} from '../engine/store/delivery-reads.ts';
import { readEndpointHealth } from '../engine/store/endpoints.ts';
import { findStoredProperty, type WantedProperty } from '../engine/store/property-summaries.ts';
import { resendDelivery } from '../engine/store/resends.ts';
import { principalOf } from './auth.ts';
import { listWithinReach, TIME_ORDERS, timeOrderedPage } from './client-listings.ts';
import { acceptable, answer, answerJson } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { collection, identityOf } from './hydra.ts';
import type { QueryLimiter } from './limits.ts';
import { notFound, Problem } from './problem.ts';
import {
  ADVERT_URL,
  CREATED_AT,
  choiceParameter,
  PAGING,
  readQuery,
  referenceParameter,
  textParameter,
  timeRangeOf,
} from './query.ts';
import { searchIri } from './search-document.ts';
import { idOf, ownSearch } from './searches.ts';
import { REFUSALS, THINGS } from './sentences.ts';

export const SEARCH_DELIVERY_PARAMETERS = {
  status: choiceParameter('State of the delivery; failed: no attempt follows.', DELIVERY_STATES),
  ...TIME_ORDERS,
  ...PAGING,
} as const;

const ENDPOINT_LENGTH_MAX = 2_048;

export const DELIVERY_LIST_PARAMETERS = {
  search: referenceParameter('The search whose deliveries are listed; without it, those of all searches.', 'searches'),
  match: referenceParameter('The match of the deliveries.', 'matches'),
  property: referenceParameter('The property of the deliveries.', 'documents/properties'),
  advert: referenceParameter('UUID of an advert of the property.', 'adverts'),
  url: ADVERT_URL,
  endpoint: textParameter('Destination: a URL, or a `mailto:` address for an e-mail.', ENDPOINT_LENGTH_MAX),
  event: choiceParameter('Kind of event.', EVENT_KINDS),
  channel: choiceParameter('Channel.', DELIVERY_CHANNELS),
  ...CREATED_AT,
  ...SEARCH_DELIVERY_PARAMETERS,
} as const;

export function deliveryRoutes(router: Router, dependencies: ApiDependencies, limiter: QueryLimiter): void {
  const { database } = dependencies;

  /** Adds the health of the endpoints. */
  const describe = async (deliveries: readonly DeliveryRead[]): Promise<object[]> => {
    const keys = deliveries.map(({ endpointKey }) => endpointKey);
    const healthOf = await readEndpointHealth(database, keys);
    return deliveries.map((delivery) => deliveryDocument(delivery, healthOf.get(delivery.endpointKey) ?? null));
  };

  const answerPage = async (ctx: Context, { deliveries, total, isCut }: DeliveryPage): Promise<void> => {
    const members = await describe(deliveries);
    answer(ctx, collection(ctx, { context: 'Delivery', members, totalItems: total, estimated: isCut }));
  };

  router.get('/searches/:id/deliveries', acceptable, async (ctx) => {
    const query = readQuery(ctx, SEARCH_DELIVERY_PARAMETERS);
    const { number } = await ownSearch(ctx, dependencies);
    const wanted = { filter: { ...ANY_DELIVERY, state: query.status }, range: ANY_TIME, ...timeOrderedPage(query) };
    await answerPage(ctx, await listDeliveries(database, [targetOf(number)], wanted));
  });

  router.get('/deliveries', acceptable, async (ctx) => {
    const query = readQuery(ctx, DELIVERY_LIST_PARAMETERS);
    const { status: state, event: kind, channel, endpoint } = query;
    const endpointKey = endpoint === null ? null : await readEndpointKey(database, principalOf(ctx).clientId, endpoint);
    const filter = { state, kind, channel, endpointKey };
    const wanted = { filter, range: timeRangeOf(query), ...timeOrderedPage(query) };
    const targets = await targetsOf(ctx, query, dependencies, limiter);
    const page =
      targets === null
        ? await listWithinReach(ctx, wanted, (part) =>
            // Rare deliveries may need a long scan: the statement has a time limit.
            limiter.runSingle(ctx, () => listDeliveriesOfClient(limiter.database, principalOf(ctx).clientId, part)),
          )
        : await listDeliveries(database, targets, wanted);
    await answerPage(ctx, page);
  });

  resendRoute(router, dependencies, describe);

  router.get('/deliveries/:id', acceptable, async (ctx) => {
    const delivery = await readDelivery(database, principalOf(ctx).clientId, idOf(ctx, THINGS.delivery));
    if (delivery === null) notFound(THINGS.delivery);
    const [document] = await describe([delivery]);
    const content = delivery.channel === 'email' ? null : await readSentContent(database, delivery.id);
    answerJson(ctx, `${JSON.stringify(document).slice(0, -1)},${contentMembers(delivery, content)}}`);
  });
}

/**
 * The body of the webhook, and the main headers of its last attempt, without the signature, whose secrets may have
 * expired. Contacts are left out if the search now hides them.
 */
function contentMembers({ id, attempts }: DeliveryRead, content: SentContent | null): string {
  if (content === null) return '"headers":null,"withheld":false,"body":null';
  const { head, document, sequence, context, hidesContacts } = content;
  const withheld = hidesContacts && hasContacts(document);
  const last = attempts.at(-1);
  const headers = last && {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(last.startedAt.getTime() / 1_000)),
    'vigie-sequence': String(sequence),
    ...(context !== null && { 'vigie-context': Buffer.from(context).toString('base64url') }),
  };
  const members = JSON.stringify({ headers: headers ?? null, withheld });
  return `${members.slice(1, -1)},"body":${bodyOf(head, withheld ? withoutContacts(document) : document)}`;
}

function targetOf(searchNumber: SearchNumber): DeliveryTarget {
  return { searchNumber, matchId: null, from: null, to: null };
}

interface NamedDeliveries extends WantedProperty {
  readonly search: Uuid | null;
  readonly match: Uuid | null;
}

/** Null if nothing is named; empty if a property is unknown or several are named. Throws 404 and 429 `Problem`s. */
async function targetsOf(
  ctx: Context,
  named: NamedDeliveries,
  dependencies: ApiDependencies,
  limiter: QueryLimiter,
): Promise<readonly DeliveryTarget[] | null> {
  const { search, match } = named;
  const searchNumber = search === null ? null : (await ownSearch(ctx, dependencies, search)).number;
  const properties = await propertiesOf(ctx, named, limiter);
  const [propertyUuid = null] = properties;
  if (properties.some((each) => each === null || each !== propertyUuid)) return [];
  if (match === null && propertyUuid === null) return searchNumber === null ? null : [targetOf(searchNumber)];
  const { clientId } = principalOf(ctx);
  return readTargets(dependencies.database, clientId, { matchId: match, propertyUuid, searchNumber });
}

/** The requested properties, one per parameter; null for one that was not found. Throws a 429 `Problem`. */
async function propertiesOf(
  ctx: Context,
  { property, advert, url }: WantedProperty,
  limiter: QueryLimiter,
): Promise<readonly (Uuid | null)[]> {
  const find = (way: Partial<WantedProperty>): Promise<Uuid | null> =>
    limiter.runSingle(ctx, async () => {
      const stored = await findStoredProperty(limiter.database, { property: null, advert: null, url: null, ...way });
      // Also null when the property exists, but its summary has not been written yet.
      return stored?.state.uuid ?? null;
    });
  return [
    ...(property === null ? [] : [property]),
    ...(advert === null ? [] : [await find({ advert })]),
    ...(url === null ? [] : [await find({ url })]),
  ];
}

function resendRoute(
  router: Router,
  { database, announceDue }: ApiDependencies,
  describe: (deliveries: readonly DeliveryRead[]) => Promise<readonly object[]>,
): void {
  router.post('/deliveries/:id/resend', acceptable, async (ctx) => {
    const { clientId } = principalOf(ctx);
    const id = idOf(ctx, THINGS.delivery);
    const outcome = (await resendDelivery(database, clientId, id)) ?? notFound(THINGS.delivery);
    if (outcome.type === 'refused') throw new Problem(409, REFUSALS.notResent(RESEND_REFUSALS[outcome.refusal]));
    announceDue(outcome.due);
    const delivery = (await readDelivery(database, clientId, id)) ?? notFound(THINGS.delivery);
    const [document] = await describe([delivery]);
    answer(ctx, document as object, 202);
  });
}

export function deliveryDocument(delivery: DeliveryRead, health: EndpointHealth | null): object {
  const { id, searchId, matchId, channel, kind, endpoint, endpointKey: _, state, dueAt, ...shown } = delivery;
  return {
    ...identityOf('Delivery', `/deliveries/${id}`),
    search: searchIri(searchId),
    match: `/matches/${matchId}`,
    channel,
    event: kind,
    endpoint,
    endpointHealth: health && healthDocument(health),
    status: state,
    exhausted: state === 'failed',
    dueAt: state === 'queued' || state === 'retry_wait' ? dueAt : null,
    deliveredAt: deliveredAt(delivery),
    ...shown,
  };
}

/** The end of the first successful attempt; a failed resend does not undo it. */
function deliveredAt({ attempts }: DeliveryRead): Date | null {
  const success = attempts.find(({ error }) => error === null);
  return success === undefined ? null : new Date(success.startedAt.getTime() + (success.durationMs ?? 0));
}

function healthDocument(health: EndpointHealth): object {
  const { state, failureStreak, backlog, oldestDueAt, lastSuccessAt, lastFailureAt, lastError } = health;
  return { state, failureStreak, backlog, oldestDueAt, lastSuccessAt, lastFailureAt, lastError };
}
