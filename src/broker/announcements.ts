/**
 * "Some search has changed", "commune centres were imported", "a key or a client's limits are no longer what they were",
 * "a client's secrets have changed", "there is something new in the feeds of some clients", told to every instance. Core NATS, so a message may be lost: it only saves the wait for the next look at PostgreSQL,
 * which is the truth.
 */

import { parseUuid, type Uuid } from '../domain/ids.ts';
import type { Broker } from './connection.ts';

const SEARCHES_CHANGED = 'vigie.searches.changed';
const COORDINATES_CHANGED = 'vigie.coordinates.changed';
const KEYS_CHANGED = 'vigie.keys.changed';
const SECRETS_CHANGED = 'vigie.secrets.changed';
const FEED_GREW = 'vigie.feed.grew';
/** Named in one announcement; more are told as everybody. */
const FED_CLIENTS_MAX = 256;

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

export function announceFeed(broker: Broker, clientIds: ReadonlySet<Uuid>): void {
  if (clientIds.size === 0 || !broker.isConnected()) return;
  broker.connection.publish(FEED_GREW, clientIds.size > FED_CLIENTS_MAX ? '' : [...clientIds].join());
}

/** `listener` is told whose feeds; null: of everybody. */
export function onFeed(broker: Broker, listener: (clientIds: readonly Uuid[] | null) => void): void {
  broker.connection.subscribe(FEED_GREW, {
    callback: (error, message) => {
      if (error !== null) return;
      const named = message.string();
      listener(named === '' ? null : named.split(',').flatMap((text) => parseUuid(text) ?? []));
    },
  });
}
