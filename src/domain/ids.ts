/**
 * Identifiers. Everything outside sees UUIDs (RFC 9562) in lower case. Searches also carry a `SearchNumber`,
 * a small integer that PostgreSQL assigns: a million of them fit in four megabytes of an index.
 */

import { randomBytes } from 'node:crypto';

export type Uuid = string;
/** Internal number of a search: positive, fits in 31 bits, never reused. */
export type SearchNumber = number;

const UUID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The canonical (lower case) form, or null when `text` is no UUID. Any version is accepted. */
export function parseUuid(text: string): Uuid | null {
  return UUID_PATTERN.test(text) ? text.toLowerCase() : null;
}

/**
 * A UUID of version 7 (RFC 9562, section 5.7): 48 bits of Unix milliseconds, then random bits. Rows made together lie
 * together in their index.
 */
export function timeOrderedUuid(at: Date, random: (bytes: number) => Buffer = randomBytes): Uuid {
  const bytes = random(16);
  bytes.writeUIntBE(at.getTime(), 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
