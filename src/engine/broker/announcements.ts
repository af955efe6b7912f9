/**
 * Announcements to every instance of the cell: what has changed in PostgreSQL, and whose feeds have something new. Core NATS,
 * so a message may be lost: it only saves the wait for the next look at PostgreSQL, which is the truth.
 */

import { parseUuid, type Uuid } from '../domain/ids.ts';
import { type Broker, listen } from './connection.ts';

/** `coordinates`: commune centres were imported. `keys`: keys, or the limits of clients. `secrets`: those of webhooks. */
export type Changed = 'searches' | 'coordinates' | 'keys' | 'secrets';

const FEED_GREW = 'feed.grew';
/** Named in one announcement; more are sent as everybody. */
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

/** `listener` is called with the clients whose feeds; null: all. */
export function onFeed(broker: Broker, listener: (clientIds: readonly Uuid[] | null) => void): void {
  listen(broker, subjectOf(broker, FEED_GREW), (message) => {
    const named = message.string();
    listener(named === '' ? null : named.split(',').flatMap((text) => parseUuid(text) ?? []));
  });
}

function subjectOf({ names }: Broker, signal: string): string {
  return `${names.signals}.${signal}`;
}
