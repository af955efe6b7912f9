/**
 * Cursors of the feed: a place, signed with a key of the installation and bound to the client and the filter. Who has one
 * learns nothing from it and can make none.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Uuid, uuidOfHex } from '../../engine/domain/ids.ts';
import type { FeedPlace } from './feed-place.ts';

export interface FeedCursor {
  /** In which the cursor was given out. */
  readonly givenIn: number;
  readonly place: FeedPlace;
}

/** What a cursor holds for. */
export interface FeedScope {
  readonly clientId: Uuid;
  /** Null: all searches. */
  readonly searchId: Uuid | null;
}

const VERSION = 1;
const PLACE_BYTES = 1 + 4 + 4 + 8 + 16;
/** Of HMAC-SHA256: nobody guesses half of it. */
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

/** Null when it is none of this scope. */
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
