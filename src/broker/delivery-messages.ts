/**
 * What a message of the deliveries' stream says: "look at this delivery", and for a retry also when. It is only a hint; the
 * row decides. A retry's message waits in JetStream, handed back until its time has come.
 */

import { parseUuid, type Uuid } from '../domain/ids.ts';
import type { Broker } from './connection.ts';
import type { Publication } from './publish.ts';
import type { PulledMessage } from './pull.ts';
import { deliverySubject, retrySubject } from './topology.ts';

export interface DeliveryHint {
  readonly id: Uuid;
  readonly endpointKey: string;
  readonly isRetry: boolean;
  /** Milliseconds since the epoch on the publisher's clock; 0 for a first attempt. */
  readonly dueAt: number;
}

type Hinted = Pick<DeliveryHint, 'id' | 'endpointKey'>;
type Named = Pick<Broker, 'names'>;

/** `messageId` differs from the id when a lost message is put back: the duplicate window would swallow it. */
export function publicationOf(broker: Named, address: Hinted, messageId: string = address.id): Publication {
  return { subject: deliverySubject(broker, address.endpointKey), messageId, bytes: Buffer.from(address.id) };
}

export function retryOf(broker: Named, address: Hinted, dueAt: number, messageId: string): Publication {
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
