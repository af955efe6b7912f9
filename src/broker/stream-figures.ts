/** How full the streams are and how far their consumers have come: for the status and for metrics. */

import { REJECTED } from '../domain/streams.ts';
import type { Broker } from './connection.ts';
import { ADVERTS_STREAM, DELIVERY_PARTITIONS, deliveryConsumer, isMissing } from './topology.ts';

export interface StreamFigures {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  /** That it may hold; 0 when it has no bound. */
  readonly bytesMax: number;
  readonly consumers: number;
  /** Not yet handed to a consumer. */
  readonly pending: number;
  /** Handed out and not acknowledged; a retry that waits is one. */
  readonly ackPending: number;
}

/** Every stream of ours; one that does not exist yet is empty. Of `ADVERTS` no other cell's consumer counts. Rejects when NATS is away. */
export function readStreamFigures(broker: Broker): Promise<readonly StreamFigures[]> {
  const { intakeConsumer, deliveriesStream } = broker.names;
  return Promise.all([
    figuresOf(broker, ADVERTS_STREAM, (consumer) => consumer === intakeConsumer),
    figuresOf(broker, deliveriesStream),
    figuresOf(broker, REJECTED.name),
  ]);
}

async function figuresOf(
  broker: Broker,
  name: string,
  isOurs: (consumer: string) => boolean = () => true,
): Promise<StreamFigures> {
  try {
    const { config, state } = await broker.manager.streams.info(name);
    const bytesMax = Math.max(0, config.max_bytes);
    let pending = 0;
    let ackPending = 0;
    let consumers = 0;
    for await (const consumer of broker.manager.consumers.list(name)) {
      if (!isOurs(consumer.name)) continue;
      pending += consumer.num_pending;
      ackPending += consumer.num_ack_pending;
      consumers += 1;
    }
    return { name, messages: state.messages, bytes: state.bytes, bytesMax, consumers, pending, ackPending };
  } catch (error) {
    if (!isMissing(error)) throw error;
    return { name, messages: 0, bytes: 0, bytesMax: 0, consumers: 0, pending: 0, ackPending: 0 };
  }
}

/**
 * Whether the message of a first attempt has been handed out and not acknowledged: somebody is at it, or has died with
 * it. Rejects when NATS is away.
 */
export async function isFirstAttemptOut({ manager, names }: Broker): Promise<boolean> {
  const consumers = Array.from({ length: DELIVERY_PARTITIONS }, (_, partition) =>
    manager.consumers.info(names.deliveriesStream, deliveryConsumer(partition)),
  );
  return (await Promise.all(consumers)).some(({ num_ack_pending }) => num_ack_pending > 0);
}
