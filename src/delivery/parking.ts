/**
 * What an endpoint cannot take now is set aside in PostgreSQL, without using an attempt, and its message acknowledged:
 * one flooded endpoint must not stand before the others in the stream. Parked deliveries are drawn from the table when
 * their endpoint has room again.
 */

import { type Grace, spawn } from '../actor/actor.ts';
import type { Supervisor } from '../actor/supervisor.ts';
import { rested } from '../actor/waiting.ts';
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
  /** What was told and is not parked yet. */
  readonly depth: number;
  /** Resolves on admission. */
  tell(parked: Parked): Promise<void>;
  /** The messages of what is not parked yet, to be handed back; whoever waits for admission is let go. */
  takeBack(): readonly PulledMessage[];
  /** Resolves when everything told is parked and its messages are acknowledged. */
  drain(grace: Grace): Promise<void>;
}

interface Waiting {
  readonly parked: Parked;
  readonly letGo: () => void;
}

const PARKED_MAX = 256;
/** Small, and after each one as long a rest: PostgreSQL serves attempts beside them, and nobody waits for what is parked. */
const BATCH_MAX = 256;

export function startParking(
  database: Database,
  onParked: (endpointKeys: ReadonlySet<string>) => void,
  supervisor: Supervisor,
): Parking {
  /** One batch is acknowledged while the next one is written. */
  let acknowledged: Promise<unknown> = Promise.resolve();
  const waiting = new Set<Waiting>();
  const draining = new AbortController();
  const actor = spawn<Waiting>({
    name: 'parking',
    mailboxMax: PARKED_MAX,
    batchMax: BATCH_MAX,
    supervisor,
    // Its message is not acknowledged, and comes again.
    setAside: async (each) => void waiting.delete(each),
    receive: (batch) => rested(() => park(batch), 1, draining.signal),
  });

  async function park(batch: readonly Waiting[]): Promise<void> {
    await parkDeliveries(
      database,
      batch.map(({ parked }) => parked.id),
    );
    for (const each of batch) waiting.delete(each);
    onParked(new Set(batch.map(({ parked }) => parked.endpointKey)));
    await acknowledged;
    acknowledged = acknowledgeAll(batch.map(({ parked }) => parked.message));
  }

  return {
    get depth() {
      return waiting.size;
    },
    tell: (parked) =>
      new Promise((resolve, reject) => {
        const each = { parked, letGo: resolve };
        waiting.add(each);
        actor.tell(each).then(resolve, reject);
      }),
    takeBack() {
      for (const { letGo } of waiting) letGo();
      return [...waiting].map(({ parked }) => parked.message);
    },
    async drain(grace) {
      draining.abort();
      await actor.drain(grace);
      await acknowledged;
    },
  };
}
