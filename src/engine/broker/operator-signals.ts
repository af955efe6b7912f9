/**
 * Signals between the instances of a cell for operators, over core NATS: "a control has changed", and activities while
 * an operator watches. A lost signal delays a control until the next poll of PostgreSQL; a lost activity is not shown.
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

/** Maximum bytes of one batch of activities. */
export function publishActivity(broker: Broker, bytes: Uint8Array): void {
  if (broker.isConnected()) broker.connection.publish(subjectOf(broker, ACTIVITY), bytes);
}

/** Returns a function that ends the subscription. */
export function onActivity(broker: Broker, listener: (bytes: Uint8Array) => void): () => void {
  return listen(broker, subjectOf(broker, ACTIVITY), (message) => listener(message.data));
}

/** Notifies every instance that an operator watches. */
export function announceWatcher(broker: Broker): void {
  if (broker.isConnected()) broker.connection.publish(subjectOf(broker, ACTIVITY_WANTED));
}

/** The same; `onReady` is called with the id of each instance that publishes from now on. Returns what ends the watch. */
export function callForActivity(broker: Broker, onReady: (instanceId: string) => void): () => void {
  const reply = createInbox();
  const subscription = broker.connection.subscribe(reply, {
    callback: (error, message) => error ?? onReady(message.string()),
  });
  broker.connection.publish(subjectOf(broker, ACTIVITY_WANTED), undefined, { reply });
  return () => subscription.unsubscribe();
}

/** `listener` is called for each watcher before that watcher is answered. */
export function onWatcher(broker: Broker, instanceId: string, listener: () => void): void {
  listen(broker, subjectOf(broker, ACTIVITY_WANTED), (message) => {
    listener();
    // A renewal requests no answer.
    message.respond(Buffer.from(instanceId));
  });
}

function subjectOf({ names }: Broker, signal: string): string {
  return `${names.signals}.${signal}`;
}
