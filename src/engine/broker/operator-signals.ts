/**
 * What instances of a cell send each other for their operators, over core NATS: "a control has changed", and what happens, while
 * somebody watches. A lost signal costs the wait for the next look at PostgreSQL, a lost activity is not seen.
 */

import { createInbox } from 'nats';
import { type Broker, listen } from './connection.ts';

const CONTROLS_CHANGED = 'controls.changed';
const ACTIVITY = 'activity';
const ACTIVITY_WANTED = 'activity.wanted';

export function announceControlChange(broker: Broker): void {
  if (broker.isConnected()) broker.connection.publish(subjectOf(broker, CONTROLS_CHANGED));
}

export function onControlChange(broker: Broker, listener: () => void): void {
  listen(broker, subjectOf(broker, CONTROLS_CHANGED), listener);
}

/** Bytes of one batch of activities, to everybody who watches. */
export function publishActivity(broker: Broker, bytes: Uint8Array): void {
  if (broker.isConnected()) broker.connection.publish(subjectOf(broker, ACTIVITY), bytes);
}

/** Returns what ends the subscription. */
export function onActivity(broker: Broker, listener: (bytes: Uint8Array) => void): () => void {
  return listen(broker, subjectOf(broker, ACTIVITY), (message) => listener(message.data));
}

/** Tells every instance that somebody watches. */
export function announceWatcher(broker: Broker): void {
  if (broker.isConnected()) broker.connection.publish(subjectOf(broker, ACTIVITY_WANTED));
}

/** Likewise, and calls `onReady` with the id of each instance that publishes from now on. Returns what ends that. */
export function callForActivity(broker: Broker, onReady: (instanceId: string) => void): () => void {
  const reply = createInbox();
  const subscription = broker.connection.subscribe(reply, {
    callback: (error, message) => error ?? onReady(message.string()),
  });
  broker.connection.publish(subjectOf(broker, ACTIVITY_WANTED), undefined, { reply });
  return () => subscription.unsubscribe();
}

/** `listener` is called for each watcher before that one is answered. */
export function onWatcher(broker: Broker, instanceId: string, listener: () => void): void {
  listen(broker, subjectOf(broker, ACTIVITY_WANTED), (message) => {
    listener();
    // Whoever has come to stay asks for no answer.
    message.respond(Buffer.from(instanceId));
  });
}

function subjectOf({ names }: Broker, signal: string): string {
  return `${names.signals}.${signal}`;
}
