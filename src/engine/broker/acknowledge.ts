/** Acknowledging many messages with one answer a consumer. */

import type { PulledMessage } from './pull.ts';

/**
 * Resolves when the server knows of every acknowledgement, or cannot be reached: it takes those that a connection makes to
 * one consumer in their order, so its answer to the last speaks for all.
 */
export async function acknowledgeAll(messages: readonly PulledMessage[]): Promise<void> {
  const last = new Map(messages.map((message) => [message.consumer, message]));
  for (const message of messages) {
    if (message !== last.get(message.consumer)) void message.settle({ type: 'ack', isAnswered: false });
  }
  await Promise.all([...last.values()].map((message) => message.settle({ type: 'ack' })));
}
