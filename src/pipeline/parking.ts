/**
 * What an endpoint cannot take now is set aside in PostgreSQL, without using an attempt, and its message acknowledged:
 * one flooded endpoint must not stand before the others in the stream. Parked deliveries are drawn from the table when
 * their endpoint has room again.
 */

import { type Actor, type ActorFailure, spawn } from '../actor/actor.ts';
import type { PulledMessage } from '../broker/pull.ts';
import type { Uuid } from '../domain/ids.ts';
import type { Database } from '../store/database.ts';
import { parkDeliveries } from '../store/deliveries.ts';

export interface Parked {
  readonly id: Uuid;
  readonly endpointKey: string;
  readonly message: PulledMessage;
}

const PARKED_MAX = 1_024;

export function startParking(
  database: Database,
  onParked: (endpointKeys: ReadonlySet<string>) => void,
  onFailure: (failure: ActorFailure) => void,
): Actor<Parked> {
  return spawn<Parked>({
    name: 'parking',
    mailboxMax: PARKED_MAX,
    batchMax: PARKED_MAX,
    supervision: 'retry',
    onFailure,
    async receive(batch) {
      await parkDeliveries(
        database,
        batch.map(({ id }) => id),
      );
      onParked(new Set(batch.map(({ endpointKey }) => endpointKey)));
      await Promise.all(batch.map(({ message }) => message.settle({ type: 'ack' })));
    },
  });
}
