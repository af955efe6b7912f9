/**
 * Places in the feed of a client, which are in the order of recording: the epoch (it grows with each restoration of the
 * database, after which transactions may count anew), the transaction, and the delivery within it.
 */

import { type Uuid, uuidOf } from '../../engine/domain/ids.ts';

export interface FeedPlace {
  readonly epoch: number;
  /** Number of the recording transaction. */
  readonly transaction: bigint;
  readonly id: Uuid;
}

const LOWEST_ID = uuidOf('00000000-0000-0000-0000-000000000000');
const HIGHEST_ID = uuidOf('ffffffff-ffff-ffff-ffff-ffffffffffff');

/** Before everything. */
export const FEED_START: FeedPlace = { epoch: 0, transaction: 0n, id: LOWEST_ID };

/** Behind everything that a transaction has recorded. */
export function endOfTransaction(epoch: number, transaction: bigint): FeedPlace {
  return { epoch, transaction, id: HIGHEST_ID };
}

export function isBefore(one: FeedPlace, other: FeedPlace): boolean {
  if (one.epoch !== other.epoch) return one.epoch < other.epoch;
  return one.transaction === other.transaction ? one.id < other.id : one.transaction < other.transaction;
}
