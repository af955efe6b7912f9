/**
 * What a crashed intake left in flight. JetStream hands those messages out again only after `ack_wait`, when newer ones
 * of the same property have long been recorded and the old ones count as stale. Reading them from the stream first, in
 * order, keeps every change; recording one twice changes nothing.
 */

import { NatsError } from 'nats';
import type { Broker } from './connection.ts';
import type { PulledMessage } from './pull.ts';

/** Hands over the unacknowledged messages of a consumer, oldest first; settling them is left to their redelivery. */
export async function replayInFlight(
  broker: Broker,
  stream: string,
  consumer: string,
  onMessage: (message: PulledMessage) => Promise<void>,
): Promise<number> {
  const { num_ack_pending, ack_floor, delivered } = await broker.manager.consumers.info(stream, consumer);
  if (num_ack_pending === 0) return 0;
  let replayed = 0;
  for (let sequence = ack_floor.stream_seq + 1; sequence <= delivered.stream_seq; sequence++) {
    const stored = await storedMessage(broker, stream, sequence);
    if (stored === null) continue;
    await onMessage({ ...stored, stream, sequence, settle: async () => undefined });
    replayed += 1;
  }
  return replayed;
}

/** Null when the stream no longer holds it. */
async function storedMessage(
  broker: Broker,
  stream: string,
  sequence: number,
): Promise<Pick<PulledMessage, 'subject' | 'bytes' | 'headers'> | null> {
  try {
    const message = await broker.manager.streams.getMessage(stream, { seq: sequence });
    const headers = Object.fromEntries(message.header.keys().map((key) => [key, message.header.get(key)]));
    return { subject: message.subject, bytes: message.data, headers };
  } catch (error) {
    if (error instanceof NatsError && error.api_error?.code === 404) return null;
    throw error;
  }
}
