/**
 * Every message of a stream in its order, whatever became of the consumer's deliveries. What a crashed or replaced
 * reader left in flight, or what was lost on the way to this one, JetStream hands out again only after `ack_wait`, when
 * newer messages of the same property have long been recorded and the old ones count as stale. So it is read from the
 * stream first; settling it is left to its redelivery, and recording it twice changes nothing.
 */

import { NatsError } from 'nats';
import type { Broker } from './connection.ts';
import type { PulledMessage } from './pull.ts';

type HandOn = (message: PulledMessage) => Promise<void>;

/**
 * Hands on what the consumer has in flight, oldest first. Resolves with what takes the pulled messages from then on: it
 * hands each on, after those that the stream holds between the last one and it. The only reader must be this one.
 */
export async function startInOrder(broker: Broker, stream: string, consumer: string, handOn: HandOn): Promise<HandOn> {
  let next = 0;

  async function fetchUpTo(sequence: number): Promise<void> {
    const { first_seq } = (await broker.manager.streams.info(stream)).state;
    for (next = Math.max(next, first_seq); next <= sequence; next++) {
      const stored = await storedMessage(broker, stream, next);
      if (stored !== null) await handOn({ ...stored, stream, consumer, sequence: next, settle: async () => undefined });
    }
  }

  const { num_ack_pending, ack_floor, delivered } = await broker.manager.consumers.info(stream, consumer);
  next = (num_ack_pending === 0 ? delivered.stream_seq : ack_floor.stream_seq) + 1;
  if (num_ack_pending > 0) await fetchUpTo(delivered.stream_seq);
  return async (message) => {
    if (message.sequence > next) await fetchUpTo(message.sequence - 1);
    next = Math.max(next, message.sequence + 1);
    await handOn(message);
  };
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
