/**
 * After the commit: publishes the deliveries of a recorded batch, and only then acknowledges the intake messages and
 * forgets the outbox entry. A crash at any point repeats work that the rows recognise as done. Refused messages go
 * another way (rejections.ts).
 */

import { acknowledgeAll } from '../broker/acknowledge.ts';
import type { Broker } from '../broker/connection.ts';
import { publicationOf } from '../broker/delivery-messages.ts';
import { publishAll } from '../broker/publish.ts';
import type { PulledMessage } from '../broker/pull.ts';
import type { Uuid } from '../domain/ids.ts';
import type { IntakeViolation } from '../domain/intake-schema.ts';
import type { Database } from '../store/database.ts';
import type { DeadLetter } from '../store/dead-letters.ts';
import { type DeliveryAddress, readOpenAddresses } from '../store/deliveries.ts';
import { deleteOutboxEntries, type OutboxEntry, readAbandonedEntries } from '../store/outbox.ts';

/** Kept in the dead letters; see `DeadLetter`. */
export type RefusedMessage = PulledMessage &
  Pick<DeadLetter, 'reason' | 'setAsideFor'> & {
    readonly violations: readonly IntakeViolation[];
    readonly storedAtMs: number;
    /** Null when nobody knows whose it is. */
    readonly propertyUuid: Uuid | null;
  };

export interface RecordedBatch {
  readonly outbox: OutboxEntry | null;
  readonly deliveries: readonly DeliveryAddress[];
  readonly understood: readonly PulledMessage[];
  readonly poison: readonly RefusedMessage[];
}

/** `forget` is told of the outbox entry once it has served. */
export async function dispatch(
  broker: Broker,
  batch: RecordedBatch,
  forget: (entry: OutboxEntry) => Promise<void>,
): Promise<void> {
  await publishDeliveries(broker, batch.deliveries);
  if (batch.outbox !== null) await forget(batch.outbox);
  await acknowledgeAll(batch.understood);
}

/** Publishes what a crash left in the outbox for longer than `ageMs`; resolves with the number of deliveries. */
export async function dispatchAbandoned(broker: Broker, database: Database, ageMs: number): Promise<number> {
  let published = 0;
  for (const entry of await readAbandonedEntries(database, ageMs)) {
    const addresses = await readOpenAddresses(database, entry.deliveryIds);
    await publishDeliveries(broker, addresses);
    await deleteOutboxEntries(database, [entry]);
    published += addresses.length;
  }
  return published;
}

function publishDeliveries(broker: Broker, addresses: readonly DeliveryAddress[]): Promise<void> {
  return publishAll(
    broker,
    addresses.map((address) => publicationOf(broker, address)),
  );
}
