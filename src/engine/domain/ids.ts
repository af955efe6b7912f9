/**
 * UUIDs (RFC 9562), always in lower case, and the internal numbers of searches. PostgreSQL assigns a `SearchNumber` to
 * each search, because a million such integers take only four megabytes in an index.
 */

import { randomBytes, randomUUID } from 'node:crypto';

declare const brand: unique symbol;

/** A UUID that was created or checked by this file, by PostgreSQL or by a schema. */
export type Uuid = string & { readonly [brand]: 'Uuid' };
/** Internal number of a search: positive, fits in 31 bits, never reused. */
export type SearchNumber = number & { readonly [brand]: 'SearchNumber' };

const SEARCH_NUMBER_MAX = 2 ** 31 - 1;
const UUID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The canonical (lower-case) form; null if `text` is not a UUID. Accepts any version. */
export function parseUuid(text: string): Uuid | null {
  return UUID_PATTERN.test(text) ? branded(text.toLowerCase()) : null;
}

/** For literals and text already known to be a UUID. Throws `RangeError` for anything else. */
export function uuidOf(text: string): Uuid {
  const uuid = parseUuid(text);
  if (uuid === null) throw new RangeError(`"${text}" is not a UUID`);
  return uuid;
}

/** A UUID of version 4 (RFC 9562, section 5.4). */
export function randomUuid(): Uuid {
  return branded(randomUUID());
}

/** Throws `RangeError` if `number` is not a valid search number. */
export function searchNumberOf(number: number): SearchNumber {
  if (!Number.isInteger(number) || number < 1 || number > SEARCH_NUMBER_MAX) {
    throw new RangeError(`${number} is not a search number (1 to ${SEARCH_NUMBER_MAX})`);
  }
  return number as SearchNumber;
}

/** Creation time of a time-ordered UUID, exact to the millisecond. */
export function createdAtOf(id: Uuid): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

/** A UUID that sorts below all time-ordered UUIDs created at `at` or later, and above those created before. */
export function firstUuidAt(at: Date): Uuid {
  const hex = at.getTime().toString(16).padStart(12, '0');
  return branded(`${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`);
}

/**
 * A version 7 UUID (RFC 9562, section 5.7): 48 bits of Unix milliseconds, then random bits. Rows that are created
 * together are adjacent in their index.
 */
export function timeOrderedUuid(at: Date, random: (bytes: number) => Buffer = pooledRandomBytes): Uuid {
  const bytes = random(16);
  bytes.writeUIntBE(at.getTime(), 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return uuidOfHex(bytes.toString('hex'));
}

/** `hex`: 32 lower-case digits. */
export function uuidOfHex(hex: string): Uuid {
  return branded(`${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`);
}

/** Number of random bits in a version 7 UUID: 12 high bits and 62 low bits. */
const RANDOM_BITS = 74n;
const LOW_RANDOM_BITS = 62n;

/**
 * A time-ordered UUID above `previous`, even if the clock was set back. If `previous` has the same or a later time, it
 * is incremented by a random step (RFC 9562, section 6.2, method 2). `previous`: null if there is none.
 */
export function uuidAfter(previous: Uuid | null, at: Date): Uuid {
  if (previous === null || createdAtOf(previous) < at) return timeOrderedUuid(at);
  const digits = BigInt(`0x${previous.replaceAll('-', '')}`);
  const low = digits & ((1n << LOW_RANDOM_BITS) - 1n);
  const high = (digits >> 64n) & 0xfffn;
  const next = (high << LOW_RANDOM_BITS) + low + 1n + BigInt(pooledRandomBytes(4).readUInt32BE());
  if (next >> RANDOM_BITS > 0n) return timeOrderedUuid(new Date(createdAtOf(previous).getTime() + 1));
  return timeOrderedUuid(createdAtOf(previous), () => {
    const bytes = Buffer.alloc(16);
    bytes.writeUInt16BE(Number(next >> LOW_RANDOM_BITS), 6);
    bytes.writeBigUInt64BE(next & ((1n << LOW_RANDOM_BITS) - 1n), 8);
    return bytes;
  });
}

const POOL_BYTES = 4_096;
let pool = Buffer.alloc(0);

/** Uses a pool, because a system call for each id would cost more than the rest of its creation. */
function pooledRandomBytes(count: number): Buffer {
  if (pool.length < count) pool = randomBytes(POOL_BYTES);
  const next = pool.subarray(0, count);
  pool = pool.subarray(count);
  return next;
}

/** Checks nothing: callers ensure that the text is a lower-case UUID. */
function branded(text: string): Uuid {
  return text as Uuid;
}
