/**
 * Publishing with acknowledgement, a bounded number at a time. A publish that fails is tried again with the same
 * message id, which the server's duplicate window recognises.
 */

import { headers as natsHeaders } from 'nats';
import type { Broker } from './connection.ts';

export interface Publication {
  readonly subject: string;
  readonly messageId: string;
  readonly bytes: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Publishes awaiting their acknowledgement at most. */
export const PUBLISH_WINDOW = 256;

/** Resolves when the stream holds every publication; rejects with the first failure, after the others have ended. */
export async function publishAll(broker: Broker, publications: readonly Publication[]): Promise<void> {
  const queue = publications.values();
  const failures: Error[] = [];
  const publishNext = async (): Promise<void> => {
    for (const publication of queue) {
      try {
        await publish(broker, publication);
      } catch (error) {
        failures.push(error as Error);
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(PUBLISH_WINDOW, publications.length) }, publishNext));
  if (failures.length > 0) throw failures[0];
}

/** Resolves with true when the stream already held this message id. */
export async function publish(broker: Broker, publication: Publication): Promise<{ readonly isDuplicate: boolean }> {
  const headers = natsHeaders();
  for (const [name, value] of Object.entries(publication.headers ?? {})) headers.set(name, value);
  const acknowledgement = await broker.jetStream.publish(publication.subject, publication.bytes, {
    msgID: publication.messageId,
    headers,
  });
  return { isDuplicate: acknowledgement.duplicate };
}
