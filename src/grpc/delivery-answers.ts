/** Deliveries and attempts as messages of the interface. */

import type { DeliveryState } from '../engine/domain/delivery.ts';
import { isFinal } from '../engine/domain/delivery.ts';
import type { AttemptRead } from '../engine/store/attempts.ts';
import type { AdminDelivery } from '../engine/store/delivery-admin.ts';
import { invalidArgument } from './errors.ts';
import { type Attempt, type Delivery, Delivery_State } from './generated/vigie/admin/v1/deliveries.ts';
import { nameOf } from './names.ts';

const STATES: Readonly<Record<DeliveryState, Delivery_State>> = {
  queued: Delivery_State.STATE_QUEUED,
  sending: Delivery_State.STATE_SENDING,
  retry_wait: Delivery_State.STATE_RETRY_WAIT,
  delivered: Delivery_State.STATE_DELIVERED,
  failed: Delivery_State.STATE_FAILED,
  cancelled: Delivery_State.STATE_CANCELLED,
};

/** Null when unspecified. */
export function stateOfRequest(field: string, state: Delivery_State): DeliveryState | null {
  if (state === Delivery_State.STATE_UNSPECIFIED) return null;
  const found = Object.entries(STATES).find(([, message]) => message === state);
  if (found === undefined) throw invalidArgument(field, 'is no known state');
  return found[0] as DeliveryState;
}

export function deliveryAnswer(delivery: AdminDelivery): Delivery {
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

export function attemptAnswer(attempt: AttemptRead): Attempt {
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
