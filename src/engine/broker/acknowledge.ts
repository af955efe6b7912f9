/** Acknowledges many messages with one round trip per consumer. */

import type { PulledMessage } from './pull.ts';

/**
 * Resolves when the server has recorded every acknowledgement, or cannot be reached. A server handles the
 * acknowledgements of one connection to one consumer in order, so its answer to the last covers all.
 */
export async function acknowledgeAll(messages: readonly PulledMessage[]): Promise<void> {
  const last = new Map(messages.map((message) => [message.consumer, message]));
  for (const message of messages) {
    if (message !== last.get(message.consumer)) void message.settle({ type: 'ack', isAnswered: false });
  }
  await Promise.all([...last.values()].map((message) => message.settle({ type: 'ack' })));
}
