/**
 * "Some search has changed", told to every instance. Core NATS, so a message may be lost: it only saves the wait for
 * the next poll of PostgreSQL, which is the truth.
 */

import type { Broker } from './connection.ts';

const SUBJECT = 'vigie.searches.changed';

export function announceSearchChange(broker: Broker): void {
  if (broker.isConnected()) broker.connection.publish(SUBJECT);
}

export function onSearchChange(broker: Broker, listener: () => void): void {
  broker.connection.subscribe(SUBJECT, { callback: (error) => error ?? listener() });
}
