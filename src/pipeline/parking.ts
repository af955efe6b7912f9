/**
 * What an endpoint cannot take now is set aside in PostgreSQL, without using an attempt, and its message acknowledged:
 * one flooded endpoint must not stand before the others in the stream. Parked deliveries are drawn from the table when
 * their endpoint has room again.
 */

import { setTimeout as rest } from 'node:timers/promises';
import { type ActorFailure, spawn } from '../actor/actor.ts';
import { acknowledgeAll } from '../broker/acknowledge.ts';
import type { PulledMessage } from '../broker/pull.ts';
import type { Uuid } from '../domain/ids.ts';
import type { Database } from '../store/database.ts';
import { parkDeliveries } from '../store/deliveries.ts';

export interface Parked {
  readonly id: Uuid;
  readonly endpointKey: string;
  readonly message: PulledMessage;
}

export interface Parking {
  /** Resolves on admission. */
  tell(parked: Parked): Promise<void>;
  /** Resolves when everything told is parked and its messages are acknowledged. */
  drain(): Promise<void>;
}

const PARKED_MAX = 2_048;
/** Small, and after each one as long a rest: PostgreSQL serves attempts beside them, and nobody waits for what is parked. */
const BATCH_MAX = 256;

export function startParking(
  database: Database,
  onParked: (endpointKeys: ReadonlySet<string>) => void,
  onFailure: (failure: ActorFailure) => void,
): Parking {
  /** One batch is acknowledged while the next one is written. */
  let acknowledged: Promise<unknown> = Promise.resolve();
  let isDraining = false;
  const actor = spawn<Parked>({
    name: 'parking',
    mailboxMax: PARKED_MAX,
    batchMax: BATCH_MAX,
    supervision: 'retry',
    onFailure,
    async receive(batch) {
      const startedAt = performance.now();
      await parkDeliveries(
        database,
        batch.map(({ id }) => id),
      );
      onParked(new Set(batch.map(({ endpointKey }) => endpointKey)));
      await acknowledged;
      acknowledged = acknowledgeAll(batch.map(({ message }) => message));
      if (!isDraining) await rest(performance.now() - startedAt);
    },
  });
  return {
    tell: (parked) => actor.tell(parked),
    async drain() {
      isDraining = true;
      await actor.drain();
      await acknowledged;
    },
  };
}
