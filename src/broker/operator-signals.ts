/**
 * What instances tell each other for their operators, over core NATS: "a control has changed", and what happens, while
 * somebody watches. A lost signal costs the wait for the next look at PostgreSQL, a lost activity is not seen.
 */

import type { Broker } from './connection.ts';

const CONTROLS_CHANGED = 'vigie.controls.changed';
const ACTIVITY = 'vigie.activity';
const ACTIVITY_WANTED = 'vigie.activity.wanted';

export function announceControlChange(broker: Broker): void {
  if (broker.isConnected()) broker.connection.publish(CONTROLS_CHANGED);
}

export function onControlChange(broker: Broker, listener: () => void): void {
  broker.connection.subscribe(CONTROLS_CHANGED, { callback: (error) => error ?? listener() });
}

/** Bytes of one batch of activities, to everybody who watches. */
export function publishActivity(broker: Broker, bytes: Uint8Array): void {
  if (broker.isConnected()) broker.connection.publish(ACTIVITY, bytes);
}

/** Returns what ends the subscription. */
export function onActivity(broker: Broker, listener: (bytes: Uint8Array) => void): () => void {
  const subscription = broker.connection.subscribe(ACTIVITY, {
    callback: (error, message) => error ?? listener(message.data),
  });
  return () => subscription.unsubscribe();
}

/** Resolves when the server knows, which is when this connection's own subscribers have been told. */
export async function announceWatcher(broker: Broker): Promise<void> {
  broker.connection.publish(ACTIVITY_WANTED);
  await broker.connection.flush();
}

export function onWatcher(broker: Broker, listener: () => void): void {
  broker.connection.subscribe(ACTIVITY_WANTED, { callback: (error) => error ?? listener() });
}
