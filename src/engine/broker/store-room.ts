/**
 * How much of JetStream's store `ADVERTS` may take. Only the system account is told how large a store is, so the largest
 * stream that the server would make is searched for: it refuses one that is larger than what is left.
 */

import { randomBytes } from 'node:crypto';
import { NatsError, StorageType } from 'nats';
import type { Broker } from './connection.ts';
import { isAtLeast } from './topology-owner.ts';

/** The rest is for what waits to be sent, what was refused, and the stores' own tables. */
const SHARE = 3 / 4;
/**
 * Below nats-server 2.10: it takes no stream up again whose `max_bytes` is more than its store has left, which is less
 * with every start where no `max_file_store` is set.
 */
const SHARE_BEFORE_2_10 = 1 / 2;
const SMALLEST_BYTES = 16 * 1_024 * 1_024;
const LARGEST_BYTES = 2 ** 50;
/** Of the room: as near as it is found. */
const PRECISION = 1 / 64;

/** JetStream's error codes for "more than there is": of the account, of the server, of each server of a cluster. */
const REFUSALS: ReadonlySet<number | undefined> = new Set([10_002, 10_005, 10_023, 10_047, 10_122]);

/** Bytes; null where not even the smallest stream has room. Rejects when NATS is away. */
export async function readAdvertsRoom(broker: Broker): Promise<number | null> {
  const name = `VIGIE-ROOM-${randomBytes(6).toString('hex')}`;
  let room = LARGEST_BYTES;
  while (room >= SMALLEST_BYTES && !(await hasRoom(broker, name, room))) room /= 2;
  if (room < SMALLEST_BYTES) return null;
  for (let step = room / 2; step >= room * PRECISION; step /= 2) {
    if (await hasRoom(broker, name, room + step)) room += step;
  }
  return Math.floor(room * (isAtLeast(broker.serverVersion, 2, 10) ? SHARE : SHARE_BEFORE_2_10));
}

async function hasRoom({ manager, replicas }: Broker, name: string, bytes: number): Promise<boolean> {
  const config = { name, subjects: [name], storage: StorageType.File, num_replicas: replicas, max_bytes: bytes };
  try {
    await manager.streams.add(config);
  } catch (error) {
    if (error instanceof NatsError && REFUSALS.has(error.api_error?.err_code)) return false;
    throw error;
  }
  await manager.streams.delete(name);
  return true;
}
