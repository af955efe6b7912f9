/** How full the streams are and how far their consumers have come: for the status and for metrics. */

import type { Broker } from './connection.ts';
import { ADVERTS_STREAM, DELIVERIES_STREAM, isMissing } from './topology.ts';

export interface StreamFigures {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  readonly consumers: number;
  /** Not yet handed to a consumer. */
  readonly pending: number;
  /** Handed out and not acknowledged; a retry that waits is one. */
  readonly ackPending: number;
}

/** Both streams; one that does not exist yet is empty. Rejects when NATS is away. */
export function readStreamFigures(broker: Broker): Promise<readonly StreamFigures[]> {
  return Promise.all([ADVERTS_STREAM, DELIVERIES_STREAM].map((name) => figuresOf(broker, name)));
}

async function figuresOf(broker: Broker, name: string): Promise<StreamFigures> {
  try {
    const { state } = await broker.manager.streams.info(name);
    let pending = 0;
    let ackPending = 0;
    let consumers = 0;
    for await (const consumer of broker.manager.consumers.list(name)) {
      pending += consumer.num_pending;
      ackPending += consumer.num_ack_pending;
      consumers += 1;
    }
    return { name, messages: state.messages, bytes: state.bytes, consumers, pending, ackPending };
  } catch (error) {
    if (!isMissing(error)) throw error;
    return { name, messages: 0, bytes: 0, consumers: 0, pending: 0, ackPending: 0 };
  }
}
