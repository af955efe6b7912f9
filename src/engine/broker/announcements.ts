/**
 * Announcements to every instance of the cell: what has changed in PostgreSQL, and which clients' feeds have news. They
 * use core NATS and may be lost: an announcement only shortens the time until the next poll of PostgreSQL, which holds
 * the truth.
 */

import { parseUuid, type Uuid } from '../domain/ids.ts';
import { type Broker, listen } from './connection.ts';

/**
 * `coordinates`: commune centres were imported. `keys`: API keys or limits of clients changed. `secrets`: webhook
 * secrets changed.
 */
export type Changed = 'searches' | 'coordinates' | 'keys' | 'secrets';

const FEED_GREW = 'feed.grew';
/** Clients in one announcement; an announcement about more clients names none and means all. */
const FED_CLIENTS_MAX = 256;

export function announceChange(broker: Broker, changed: Changed): void {
  if (broker.isConnected()) broker.connection.publish(subjectOf(broker, `${changed}.changed`));
}

export function onChange(broker: Broker, changed: Changed, listener: () => void): void {
  listen(broker, subjectOf(broker, `${changed}.changed`), listener);
}

export function announceFeed(broker: Broker, clientIds: ReadonlySet<Uuid>): void {
  if (clientIds.size === 0 || !broker.isConnected()) return;
  broker.connection.publish(
    subjectOf(broker, FEED_GREW),
    clientIds.size > FED_CLIENTS_MAX ? '' : [...clientIds].join(),
  );
}

/** `listener` is called with the clients whose feeds have news; null: all clients. */
export function onFeed(broker: Broker, listener: (clientIds: readonly Uuid[] | null) => void): void {
  listen(broker, subjectOf(broker, FEED_GREW), (message) => {
    const named = message.string();
    listener(named === '' ? null : named.split(',').flatMap((text) => parseUuid(text) ?? []));
  });
}

function subjectOf({ names }: Broker, signal: string): string {
  return `${names.signals}.${signal}`;
}
