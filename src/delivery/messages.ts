/**
 * What a message of `DELIVERIES` says: "look at this delivery", and for a retry also when. It is only a hint; the row
 * decides. A retry's message waits in JetStream, handed back until its time has come. `dispatcher.ts` publishes those of first
 * attempts.
 */

import type { Broker } from '../broker/connection.ts';
import type { Publication } from '../broker/publish.ts';
import type { PulledMessage } from '../broker/pull.ts';
import { retrySubject } from '../broker/topology.ts';
import { parseUuid, type Uuid } from '../domain/ids.ts';
import type { DeliveryAddress } from '../store/deliveries.ts';

export interface DeliveryHint {
  readonly id: Uuid;
  readonly endpointKey: string;
  readonly isRetry: boolean;
  /** Milliseconds since the epoch on the publisher's clock; 0 for a first attempt. */
  readonly dueAt: number;
}

export function retryOf(
  broker: Pick<Broker, 'names'>,
  address: DeliveryAddress,
  dueAt: number,
  messageId: string,
): Publication {
  const bytes = Buffer.from(`${address.id} ${Math.ceil(dueAt)}`);
  return { subject: retrySubject(broker, address.endpointKey), messageId, bytes };
}

/** Null when somebody else has published into our stream. */
export function hintOf({ subject, bytes }: PulledMessage): DeliveryHint | null {
  const [, partition = '', endpointKey = ''] = subject.split('.');
  const [idText = '', dueText = '0'] = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString()
    .split(' ');
  const id = parseUuid(idText);
  return id === null ? null : { id, endpointKey, isRetry: partition.startsWith('r'), dueAt: Number(dueText) || 0 };
}
