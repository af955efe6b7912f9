/**
 * Identifiers. Everything outside sees UUIDs (RFC 9562) in lower case. Searches also carry a `SearchNumber`,
 * a small integer that PostgreSQL assigns: a million of them fit in four megabytes of an index.
 */

import { randomBytes, randomUUID } from 'node:crypto';

declare const brand: unique symbol;

/** Created by the functions of this file, by PostgreSQL, or by a schema that has validated it. */
export type Uuid = string & { readonly [brand]: 'Uuid' };
/** Internal number of a search: positive, fits in 31 bits, never reused. */
export type SearchNumber = number & { readonly [brand]: 'SearchNumber' };

const SEARCH_NUMBER_MAX = 2 ** 31 - 1;
const UUID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The canonical (lower case) form, or null when `text` is no UUID. Any version is accepted. */
export function parseUuid(text: string): Uuid | null {
  return UUID_PATTERN.test(text) ? branded(text.toLowerCase()) : null;
}

/** For text that was found to be a UUID before, and for literals: throws `RangeError` when it is none. */
export function uuidOf(text: string): Uuid {
  const uuid = parseUuid(text);
  if (uuid === null) throw new RangeError('not a UUID');
  return uuid;
}

/** A UUID of version 4 (RFC 9562, section 5.4). */
export function randomUuid(): Uuid {
  return branded(randomUUID());
}

/** Throws `RangeError` when it cannot be the number of a search. */
export function searchNumberOf(number: number): SearchNumber {
  if (!Number.isInteger(number) || number < 1 || number > SEARCH_NUMBER_MAX) {
    throw new RangeError(`${number} is no number of a search`);
  }
  return number as SearchNumber;
}

/** When a time-ordered UUID was made, to the millisecond. */
export function createdAtOf(id: Uuid): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

/** Below every time-ordered UUID created at `at` or later, above all earlier ones. */
export function firstUuidAt(at: Date): Uuid {
  const hex = at.getTime().toString(16).padStart(12, '0');
  return branded(`${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`);
}

/**
 * A UUID of version 7 (RFC 9562, section 5.7): 48 bits of Unix milliseconds, then random bits. Rows made together lie
 * together in their index.
 */
export function timeOrderedUuid(at: Date, random: (bytes: number) => Buffer = pooledRandomBytes): Uuid {
  const bytes = random(16);
  bytes.writeUIntBE(at.getTime(), 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return uuidOfHex(bytes.toString('hex'));
}

/** `hex`: 32 digits in lower case. */
export function uuidOfHex(hex: string): Uuid {
  return branded(`${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`);
}

/** Bits of a version 7 UUID that are random. */
const RANDOM_BITS = 74n;
const LOW_RANDOM_BITS = 62n;

/**
 * The same, above `previous` whatever the clock says: after a UUID of the same or a later time, the next one is
 * incremented by a random step (RFC 9562, section 6.2, method 2). Null: there is no previous one.
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

/** A call into the operating system for each id costs more than the rest of the id. */
function pooledRandomBytes(count: number): Buffer {
  if (pool.length < count) pool = randomBytes(POOL_BYTES);
  const taken = pool.subarray(0, count);
  pool = pool.subarray(count);
  return taken;
}

/** The only place where text becomes a UUID unchecked. */
function branded(text: string): Uuid {
  return text as Uuid;
}
