/** Lists deliveries; shows one with its attempts, or resends it. The feature `recoveries` resends many. */

import { EVENT_KINDS } from '../engine/domain/codes.ts';
import { DELIVERY_CHANNELS, type DeliveryState, isFinal, RESEND_REFUSALS } from '../engine/domain/delivery.ts';
import { bodyOf } from '../engine/domain/routing.ts';
import { type AttemptRead, readAttempts } from '../engine/store/attempts.ts';
import { type AdminDelivery, listAdminDeliveries, readAdminDelivery } from '../engine/store/delivery-admin.ts';
import { readSentContent } from '../engine/store/delivery-reads.ts';
import { resendDelivery as resend } from '../engine/store/resends.ts';
import { oneOf } from '../values.ts';
import type { Rpcs } from './call.ts';
import type { AdminDependencies } from './dependencies.ts';
import { failedPrecondition, invalidArgument, notFound } from './errors.ts';
import { type Attempt, type Delivery, Delivery_State } from './generated/vigie/admin/v1/deliveries.ts';
import {
  nameOf,
  optionalClientId,
  optionalEndpointKey,
  optionalPropertyUuid,
  optionalUuidOfName,
  optionalValue,
  timeRangeOf,
  uuidOfName,
} from './names.ts';
import { cutPage, pageOf, uuidCursorOf } from './paging.ts';

export const DELIVERY_RPCS = {
  async listDeliveries(request, { database }) {
    const filter = {
      clientId: await optionalClientId('client', request.client, database),
      searchId: optionalUuidOfName('search', 'searches', request.search),
      propertyUuid: await optionalPropertyUuid(request, database),
      endpointKey: optionalEndpointKey('endpoint', request.endpoint),
      state: stateOfRequest('state', request.state),
      kind: optionalValue('kind', oneOf(EVENT_KINDS), request.kind),
      channel: optionalValue('channel', oneOf(DELIVERY_CHANNELS), request.channel),
      ...timeRangeOf(request),
    };
    const page = pageOf(request, filter);
    const rows = await listAdminDeliveries(database, filter, uuidCursorOf(page), page.size + 1);
    const { rows: deliveries, nextPageToken } = cutPage(rows, page, filter, ({ id }) => id);
    return { deliveries: deliveries.map(deliveryAnswer), nextPageToken };
  },
  async getDelivery({ name, includeBody }, { database }) {
    const id = uuidOfName('name', 'deliveries', name);
    const [delivery, attemptsOf, body] = await Promise.all([
      readAdminDelivery(database, id),
      readAttempts(database, [id]),
      includeBody ? readSentContent(database, id) : null,
    ]);
    if (delivery === null) throw notFound('Delivery', name);
    return {
      ...deliveryAnswer(delivery),
      attempts: attemptsOf(id).map(attemptAnswer),
      body: body === null ? '' : bodyOf(body.head, body.document),
    };
  },
  /** Resends a webhook, as its client can (`POST /deliveries/{id}/resend`), or an item of an e-mail. */
  async resendDelivery({ name }, dependencies) {
    const { database, announceDue } = dependencies;
    const id = uuidOfName('name', 'deliveries', name);
    const stored = await readAdminDelivery(database, id);
    if (stored === null) throw notFound('Delivery', name);
    if (stored.channel === 'email') return retryMailItem(stored, name, dependencies);
    const outcome = await resend(database, stored.clientId, id);
    if (outcome === null) throw failedPrecondition('SEARCH_DELETED', name, 'The search of the delivery is deleted.');
    if (outcome.type === 'refused') {
      const reason = outcome.refusal.toUpperCase().replaceAll(/[^A-Z]/g, '_');
      throw failedPrecondition(reason, name, `The delivery cannot be resent: ${RESEND_REFUSALS[outcome.refusal].en}.`);
    }
    announceDue(outcome.due);
    return deliveryAnswer((await readAdminDelivery(database, id)) ?? stored);
  },
} satisfies Rpcs;

/** Why an item of an e-mail cannot be resent, by its state. */
const NOT_RETRIABLE: Readonly<Record<string, readonly [reason: string, description: string]>> = {
  sending: ['BEING_SENT', 'An attempt is in progress. Try again when it has ended.'],
  delivered: ['ALREADY_DELIVERED', 'The item of an e-mail has already been delivered.'],
  cancelled: ['CANCELLED', 'The item of an e-mail was cancelled.'],
};

async function retryMailItem(
  { id, isWanted }: AdminDelivery,
  name: string,
  { database, requeueMail }: AdminDependencies,
): Promise<Delivery> {
  if (!isWanted) throw failedPrecondition('SEARCH_SILENT', name, 'The search is deleted or no longer notifies.');
  const requeued = await requeueMail(id);
  if (requeued === null) throw notFound('Delivery', name);
  if (!requeued.isChanged && requeued.state !== 'queued') {
    const [reason, description] = NOT_RETRIABLE[requeued.state] ?? ['NOT_RETRIABLE', `It is ${requeued.state}.`];
    throw failedPrecondition(reason, name, description);
  }
  const delivery = await readAdminDelivery(database, id);
  if (delivery === null) throw notFound('Delivery', name);
  return deliveryAnswer(delivery);
}

const STATES: Readonly<Record<DeliveryState, Delivery_State>> = {
  queued: Delivery_State.STATE_QUEUED,
  sending: Delivery_State.STATE_SENDING,
  retry_wait: Delivery_State.STATE_RETRY_WAIT,
  delivered: Delivery_State.STATE_DELIVERED,
  failed: Delivery_State.STATE_FAILED,
  cancelled: Delivery_State.STATE_CANCELLED,
};

/** Null when unspecified. */
function stateOfRequest(field: string, state: Delivery_State): DeliveryState | null {
  if (state === Delivery_State.STATE_UNSPECIFIED) return null;
  const found = Object.entries(STATES).find(([, message]) => message === state);
  if (found === undefined) throw invalidArgument(field, 'is not a known state');
  return found[0] as DeliveryState;
}

function deliveryAnswer(delivery: AdminDelivery): Delivery {
  return {
    name: nameOf.delivery(delivery.id),
    client: nameOf.client(delivery.clientId),
    clientName: delivery.clientName,
    searchTitle: delivery.searchTitle,
    lastError: delivery.lastError ?? '',
    search: nameOf.search(delivery.searchId),
    match: nameOf.match(delivery.matchId),
    property: delivery.propertyUuid === null ? '' : nameOf.property(delivery.propertyUuid),
    channel: delivery.channel,
    kind: delivery.kind,
    endpoint: nameOf.endpoint(delivery.endpointKey),
    endpointUrl: delivery.endpoint,
    state: STATES[delivery.state],
    attemptCount: delivery.attemptCount,
    createTime: delivery.createdAt,
    dueTime: isFinal(delivery.state) ? undefined : delivery.dueAt,
    finishTime: delivery.finishedAt ?? undefined,
    replayCount: delivery.replayCount,
    attempts: [],
    body: '',
  };
}

function attemptAnswer(attempt: AttemptRead): Attempt {
  return {
    number: attempt.number,
    startTime: attempt.startedAt,
    durationMs: attempt.durationMs ?? 0,
    statusCode: attempt.statusCode ?? 0,
    error: attempt.error ?? '',
    reason: attempt.reason ?? '',
    responseHead: attempt.responseHead ?? '',
  };
}
