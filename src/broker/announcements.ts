/**
 * "Some search has changed", "commune centres were imported", "a key or a client's limits are no longer what they were",
 * "a client's secrets have changed", told to every instance. Core NATS, so a message may be lost: it only saves the wait for the next look at PostgreSQL,
 * which is the truth.
 */

import type { Broker } from './connection.ts';

const SEARCHES_CHANGED = 'vigie.searches.changed';
const COORDINATES_CHANGED = 'vigie.coordinates.changed';
const KEYS_CHANGED = 'vigie.keys.changed';
const SECRETS_CHANGED = 'vigie.secrets.changed';

export function announceSearchChange(broker: Broker): void {
  if (broker.isConnected()) broker.connection.publish(SEARCHES_CHANGED);
}

export function onSearchChange(broker: Broker, listener: () => void): void {
  broker.connection.subscribe(SEARCHES_CHANGED, { callback: (error) => error ?? listener() });
}

export function announceCoordinates(broker: Broker): void {
  if (broker.isConnected()) broker.connection.publish(COORDINATES_CHANGED);
}

export function onCoordinates(broker: Broker, listener: () => void): void {
  broker.connection.subscribe(COORDINATES_CHANGED, { callback: (error) => error ?? listener() });
}

export function announceKeyChange(broker: Broker): void {
  if (broker.isConnected()) broker.connection.publish(KEYS_CHANGED);
}

export function onKeyChange(broker: Broker, listener: () => void): void {
  broker.connection.subscribe(KEYS_CHANGED, { callback: (error) => error ?? listener() });
}

export function announceSecretChange(broker: Broker): void {
  if (broker.isConnected()) broker.connection.publish(SECRETS_CHANGED);
}

export function onSecretChange(broker: Broker, listener: () => void): void {
  broker.connection.subscribe(SECRETS_CHANGED, { callback: (error) => error ?? listener() });
}
