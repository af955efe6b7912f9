/**
 * Announces changed rows, feeds with new entries, due deliveries and activities to the instances of the installation.
 * Announcements use core NATS and may be lost. Except for activities and their watchers, they only shorten the time
 * until the next poll of PostgreSQL, which is authoritative.
 */

import { type DueDelivery, LANES } from '../domain/delivery.ts';
import { parseUuid, type Uuid } from '../domain/ids.ts';
import { type Broker, listen } from './connection.ts';

/**
 * `keys`: clients, their limits or API keys changed. `secrets`: webhook secrets changed. `controls`: an operator paused
 * or resumed a stage, or requested a new index. `watchers`: an operator watches activities (every two seconds).
 */
export type Changed = 'searches' | 'keys' | 'secrets' | 'controls' | 'watchers';

const FEED_GREW = 'feed.grew';
/** Maximum clients in one announcement. If there are more, the announcement is empty, which means all clients. */
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

/** Calls `listener` with the clients whose feeds have new entries; null means all clients. */
export function onFeed(broker: Broker, listener: (clientIds: readonly Uuid[] | null) => void): void {
  listen(broker, subjectOf(broker, FEED_GREW), (message) => {
    const named = message.string();
    listener(named === '' ? null : named.split(',').flatMap((text) => parseUuid(text) ?? []));
  });
}

function subjectOf({ names }: Broker, signal: string): string {
  return `${names.signals}.${signal}`;
}

/** The courier of this process. */
interface DueListener {
  /** Accepts deliveries up to its capacity, and returns the others. */
  admit(due: readonly DueDelivery[]): readonly DueDelivery[];
  /** True when no other courier is known. */
  readonly isAlone: boolean;
}

export type DueAnnouncer = ReturnType<typeof createDueAnnouncer>;

const SIGNAL = 'deliveries.due';
const QUEUE = 'couriers';
const ANNOUNCED_MAX = 512;

/**
 * Announces due deliveries to the courier of this process. If other couriers are known, deliveries that exceed its
 * capacity are passed to the group of couriers. Without a courier, this process passes all deliveries to the group. An
 * announcement only shortens the time until the next scan of the rows, which form the queue.
 */
export function createDueAnnouncer(broker: Broker) {
  const subject = `${broker.names.signals}.${SIGNAL}`;
  let local: DueListener | null = null;

  function pass(due: readonly DueDelivery[]): void {
    if (!broker.isConnected()) return;
    for (let start = 0; start < due.length; start += ANNOUNCED_MAX) {
      broker.connection.publish(subject, linesOf(due.slice(start, start + ANNOUNCED_MAX)));
    }
  }

  return {
    /** Publishes the deliveries in messages, each of which reaches at most one courier of the installation. */
    pass,
    announce(due: readonly DueDelivery[]) {
      if (local === null) return pass(due);
      const left = local.admit(due);
      if (!local.isAlone) pass(left);
    },
    /** Returns a function that ends the subscription. */
    listen(listener: DueListener) {
      local = listener;
      const end = listen(broker, subject, (message) => void listener.admit(dueOf(message.string())), QUEUE);
      return () => {
        local = null;
        end();
      };
    },
  };
}

function linesOf(due: readonly DueDelivery[]): string {
  return due.map(({ id, endpointKey, lane }) => `${id} ${endpointKey} ${lane}`).join('\n');
}

function dueOf(lines: string): readonly DueDelivery[] {
  return lines.split('\n').flatMap((line) => {
    const [idText = '', endpointKey = '', lane] = line.split(' ');
    const id = parseUuid(idText);
    if (id === null || endpointKey === '') return [];
    return [{ id, endpointKey, lane: LANES.find((known) => known === lane) ?? 'first' }];
  });
}

const ACTIVITY = 'activity';

/** Sends one batch of encoded activities to every watcher. A lost batch is not sent again. */
export function publishActivity(broker: Broker, bytes: Uint8Array): void {
  if (broker.isConnected()) broker.connection.publish(subjectOf(broker, ACTIVITY), bytes);
}

/** Returns a function that ends the subscription. */
export function onActivity(broker: Broker, listener: (bytes: Uint8Array) => void): () => void {
  return listen(broker, subjectOf(broker, ACTIVITY), (message) => listener(message.data));
}
