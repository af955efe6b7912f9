/**
 * Cursors of the feed: a place, signed with a key of the installation and bound to the client and the filter. Its
 * holder learns nothing from it and cannot forge one.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Uuid, uuidOf, uuidOfHex } from '../../engine/domain/ids.ts';

export interface FeedCursor {
  /** The epoch in which the cursor was issued. */
  readonly givenIn: number;
  readonly place: FeedPlace;
}

/** The scope of a cursor. */
export interface FeedScope {
  readonly clientId: Uuid;
  /** Null: all searches. */
  readonly searchId: Uuid | null;
}

const VERSION = 1;
const PLACE_BYTES = 1 + 4 + 4 + 8 + 16;
/** Bytes of the HMAC-SHA256: half of it cannot be guessed. */
const SEAL_BYTES = 16;

export function writeCursor({ givenIn, place }: FeedCursor, scope: FeedScope, key: Buffer): string {
  const bytes = Buffer.alloc(PLACE_BYTES);
  bytes.writeUInt8(VERSION, 0);
  bytes.writeUInt32BE(givenIn, 1);
  bytes.writeUInt32BE(place.epoch, 5);
  bytes.writeBigUInt64BE(place.transaction, 9);
  bytes.write(place.id.replaceAll('-', ''), 17, 'hex');
  return Buffer.concat([bytes, sealOf(bytes, scope, key)]).toString('base64url');
}

/** Null when it was not issued for this scope. */
export function readCursor(text: string, scope: FeedScope, key: Buffer): FeedCursor | null {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== PLACE_BYTES + SEAL_BYTES || bytes.toString('base64url') !== text) return null;
  const content = bytes.subarray(0, PLACE_BYTES);
  if (!timingSafeEqual(bytes.subarray(PLACE_BYTES), sealOf(content, scope, key))) return null;
  const id = uuidOfHex(content.subarray(17).toString('hex'));
  const place = { epoch: content.readUInt32BE(5), transaction: content.readBigUInt64BE(9), id };
  return { givenIn: content.readUInt32BE(1), place };
}

function sealOf(content: Buffer, { clientId, searchId }: FeedScope, key: Buffer): Buffer {
  return createHmac('sha256', key)
    .update(content)
    .update(`${clientId}/${searchId ?? ''}`)
    .digest()
    .subarray(0, SEAL_BYTES);
}

/**
 * Places in the feed of a client, which are in the order of recording: the epoch (it grows with each restoration of the
 * database, after which transactions may count anew), the transaction, and the delivery within it.
 */
export interface FeedPlace {
  readonly epoch: number;
  /** Number of the recording transaction. */
  readonly transaction: bigint;
  readonly id: Uuid;
}

const LOWEST_ID = uuidOf('00000000-0000-0000-0000-000000000000');
const HIGHEST_ID = uuidOf('ffffffff-ffff-ffff-ffff-ffffffffffff');

/** Before all items. */
export const FEED_START: FeedPlace = { epoch: 0, transaction: 0n, id: LOWEST_ID };

/** After everything that a transaction has recorded. */
export function endOfTransaction(epoch: number, transaction: bigint): FeedPlace {
  return { epoch, transaction, id: HIGHEST_ID };
}

export function isBefore(one: FeedPlace, other: FeedPlace): boolean {
  if (one.epoch !== other.epoch) return one.epoch < other.epoch;
  return one.transaction === other.transaction ? one.id < other.id : one.transaction < other.transaction;
}
