/** How full the streams are and how far their consumers have come: for the status and for metrics. */

import { REJECTED } from '../domain/streams.ts';
import type { Broker } from './connection.ts';
import { ADVERTS_STREAM, isMissing } from './topology.ts';

export interface StreamFigures {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  /** That it may hold; 0 when it has no bound. */
  readonly bytesMax: number;
  readonly consumers: number;
  /** Not yet handed to a consumer. */
  readonly pending: number;
  /** Delivered and not acknowledged; a waiting retry is one. */
  readonly ackPending: number;
}

/** Every stream of this cell, with this cell's consumers; a missing one is empty. Rejects when NATS is away. */
export function readStreamFigures(broker: Broker): Promise<readonly StreamFigures[]> {
  const { intakeConsumer, retriesStream } = broker.names;
  return Promise.all([
    figuresOf(broker, ADVERTS_STREAM, (consumer) => consumer === intakeConsumer),
    figuresOf(broker, retriesStream),
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
