/**
 * "Some search has changed", "commune centres were imported", "a key or a client's limits are no longer what they were",
 * "a client's secrets have changed", "there is something new in the feeds of some clients", sent to every instance of the cell. Core NATS, so a message may be lost: it only saves the wait for the next look at PostgreSQL,
 * which is the truth.
 */

import { parseUuid, type Uuid } from '../domain/ids.ts';
import { type Broker, listen } from './connection.ts';

const SEARCHES_CHANGED = 'searches.changed';
const COORDINATES_CHANGED = 'coordinates.changed';
const KEYS_CHANGED = 'keys.changed';
const SECRETS_CHANGED = 'secrets.changed';
const FEED_GREW = 'feed.grew';
/** Named in one announcement; more are sent as everybody. */
const FED_CLIENTS_MAX = 256;

export function announceSearchChange(broker: Broker): void {
  tell(broker, SEARCHES_CHANGED);
}

export function onSearchChange(broker: Broker, listener: () => void): void {
  hear(broker, SEARCHES_CHANGED, listener);
}

export function announceCoordinates(broker: Broker): void {
  tell(broker, COORDINATES_CHANGED);
}

export function onCoordinates(broker: Broker, listener: () => void): void {
  hear(broker, COORDINATES_CHANGED, listener);
}

export function announceKeyChange(broker: Broker): void {
  tell(broker, KEYS_CHANGED);
}

export function onKeyChange(broker: Broker, listener: () => void): void {
  hear(broker, KEYS_CHANGED, listener);
}

export function announceSecretChange(broker: Broker): void {
  tell(broker, SECRETS_CHANGED);
}

export function onSecretChange(broker: Broker, listener: () => void): void {
  hear(broker, SECRETS_CHANGED, listener);
}

export function announceFeed(broker: Broker, clientIds: ReadonlySet<Uuid>): void {
  if (clientIds.size === 0 || !broker.isConnected()) return;
  broker.connection.publish(
    subjectOf(broker, FEED_GREW),
    clientIds.size > FED_CLIENTS_MAX ? '' : [...clientIds].join(),
  );
}

/** `listener` is called with the clients whose feeds; null: all. */
export function onFeed(broker: Broker, listener: (clientIds: readonly Uuid[] | null) => void): void {
  listen(broker, subjectOf(broker, FEED_GREW), (message) => {
    const named = message.string();
    listener(named === '' ? null : named.split(',').flatMap((text) => parseUuid(text) ?? []));
  });
}

function tell(broker: Broker, signal: string): void {
  if (broker.isConnected()) broker.connection.publish(subjectOf(broker, signal));
}

function hear(broker: Broker, signal: string, listener: () => void): void {
  listen(broker, subjectOf(broker, signal), listener);
}

function subjectOf({ names }: Broker, signal: string): string {
  return `${names.signals}.${signal}`;
}
