/** Deliveries: list, show or resend one. `recoveries.ts` sends many again. */

import { EVENT_KINDS } from '../engine/domain/codes.ts';
import { DELIVERY_CHANNELS, isFinal, RESEND_REFUSALS } from '../engine/domain/delivery.ts';
import { bodyOf } from '../engine/domain/routing.ts';
import { readAttempts } from '../engine/store/attempts.ts';
import {
  type AdminDelivery,
  listAdminDeliveries,
  readAdminDelivery,
  readDeliveryBody,
} from '../engine/store/delivery-admin.ts';
import { resendDelivery as sendAgain } from '../engine/store/resends.ts';
import { attemptAnswer, deliveryAnswer, stateOfRequest } from './delivery-answers.ts';
import type { AdminDependencies } from './dependencies.ts';
import { failedPrecondition, notFound } from './errors.ts';
import { oneOf, timeRangeOf } from './fields.ts';
import type {
  Delivery,
  GetDeliveryRequest,
  ListDeliveriesRequest,
  ListDeliveriesResponse,
} from './generated/vigie/admin/v1/deliveries.ts';
import { optionalClientId, optionalEndpointKey, optionalUuidOfName, uuidOfName } from './names.ts';
import { cutPage, pageOf, uuidCursorOf } from './paging.ts';
import { optionalPropertyUuid } from './properties.ts';

export async function listDeliveries(
  request: ListDeliveriesRequest,
  { database }: AdminDependencies,
): Promise<ListDeliveriesResponse> {
  const filter = {
    clientId: await optionalClientId('client', request.client, database),
    searchId: optionalUuidOfName('search', 'searches', request.search),
    propertyUuid: await optionalPropertyUuid(request, database),
    endpointKey: optionalEndpointKey('endpoint', request.endpoint),
    state: stateOfRequest('state', request.state),
    kind: oneOf('kind', EVENT_KINDS, request.kind),
    channel: oneOf('channel', DELIVERY_CHANNELS, request.channel),
    ...timeRangeOf(request),
  };
  const page = pageOf(request, filter);
  const rows = await listAdminDeliveries(database, filter, uuidCursorOf(page), page.size + 1);
  const { rows: deliveries, nextPageToken } = cutPage(rows, page, filter, ({ id }) => id);
  return { deliveries: deliveries.map(deliveryAnswer), nextPageToken };
}

export async function getDelivery(
  { name, includeBody }: GetDeliveryRequest,
  { database }: AdminDependencies,
): Promise<Delivery> {
  const id = uuidOfName('name', 'deliveries', name);
  const [delivery, attemptsOf, body] = await Promise.all([
    readAdminDelivery(database, id),
    readAttempts(database, [id]),
    includeBody ? readDeliveryBody(database, id) : null,
  ]);
  if (delivery === null) throw notFound('Delivery', name);
  return {
    ...deliveryAnswer(delivery),
    attempts: attemptsOf(id).map(attemptAnswer),
    body: body === null ? '' : bodyOf(body.head, body.document),
  };
}

/** What an operator should do about an item of an e-mail that cannot be sent again. */
const NOT_RETRIABLE: Readonly<Record<string, readonly [reason: string, description: string]>> = {
  sending: ['BEING_SENT', 'an attempt is under way at this moment'],
  delivered: ['ALREADY_DELIVERED', 'it was delivered'],
  cancelled: ['CANCELLED', 'it was cancelled with its search'],
};

/** A webhook as its client can: see `POST /deliveries/{id}/resend`. */
export async function resendDelivery(name: string, dependencies: AdminDependencies): Promise<Delivery> {
  const { database, announceDue, onResent } = dependencies;
  const id = uuidOfName('name', 'deliveries', name);
  const held = await readAdminDelivery(database, id);
  if (held === null) throw notFound('Delivery', name);
  if (held.channel === 'email') return retryMailItem(held, name, dependencies);
  const outcome = await sendAgain(database, held.clientId, id);
  if (outcome === null) throw failedPrecondition('SEARCH_DELETED', name, 'its search is deleted');
  if (outcome.type === 'refused') {
    const reason = outcome.refusal.toUpperCase().replaceAll(/[^A-Z]/g, '_');
    throw failedPrecondition(reason, name, RESEND_REFUSALS[outcome.refusal].en);
  }
  announceDue(outcome.due);
  if (isFinal(held.state)) onResent(1);
  return deliveryAnswer((await readAdminDelivery(database, id)) ?? held);
}

async function retryMailItem(
  { id, isWanted }: AdminDelivery,
  name: string,
  { database, requeueMail, onResent }: AdminDependencies,
): Promise<Delivery> {
  if (!isWanted) throw failedPrecondition('SEARCH_SILENT', name, 'its search is deleted or not notified');
  const requeued = await requeueMail(id);
  if (requeued === null) throw notFound('Delivery', name);
  // What is due has its next attempt now as it is.
  if (!requeued.isChanged && requeued.state !== 'queued') {
    const [reason, description] = NOT_RETRIABLE[requeued.state] ?? ['NOT_RETRIABLE', `it is ${requeued.state}`];
    throw failedPrecondition(reason, name, description);
  }
  if (requeued.state === 'failed') onResent(1);
  const delivery = await readAdminDelivery(database, id);
  if (delivery === null) throw notFound('Delivery', name);
  return deliveryAnswer(delivery);
}
