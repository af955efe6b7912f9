/**
 * Identifiers. Everything outside sees UUIDs (RFC 9562) in lower case. Searches also carry a `SearchNumber`,
 * a small integer that PostgreSQL assigns: a million of them fit in four megabytes of an index.
 */

export type Uuid = string;
/** Internal number of a search: positive, fits in 31 bits, never reused. */
export type SearchNumber = number;

const UUID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The canonical (lower case) form, or null when `text` is no UUID. Any version is accepted. */
export function parseUuid(text: string): Uuid | null {
  return UUID_PATTERN.test(text) ? text.toLowerCase() : null;
}
