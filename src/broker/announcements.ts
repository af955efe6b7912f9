/**
 * "Some search has changed", "commune centres were imported", told to every instance. Core NATS, so a message may be
 * lost: it only saves the wait for the next poll of PostgreSQL, which is the truth.
 */

import type { Broker } from './connection.ts';

const SEARCHES_CHANGED = 'vigie.searches.changed';
const COORDINATES_CHANGED = 'vigie.coordinates.changed';

export function announceSearchChange(broker: Broker): void {
  if (broker.isConnected()) broker.connection.publish(SEARCHES_CHANGED);
}

export function onSearchChange(broker: Broker, listener: () => void): void {
  broker.connection.subscribe(SEARCHES_CHANGED, { callback: (error) => error ?? listener() });
}

/** Resolves when the server has it. */
export async function announceCoordinates(broker: Broker): Promise<void> {
  broker.connection.publish(COORDINATES_CHANGED);
  await broker.connection.flush();
}

export function onCoordinates(broker: Broker, listener: () => void): void {
  broker.connection.subscribe(COORDINATES_CHANGED, { callback: (error) => error ?? listener() });
}
