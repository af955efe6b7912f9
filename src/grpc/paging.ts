/** Pages of lists (AIP-158). A page token has the end of its page (a cursor) and a hash of the list's conditions. */

import { createHash } from 'node:crypto';
import { parseUuid, type Uuid } from '../engine/domain/ids.ts';
import { invalidArgument } from './errors.ts';

const PAGE_SIZE_DEFAULT = 50;
const PAGE_SIZE_MAX = 1_000;

export interface Page {
  readonly size: number;
  /** The end of the previous page; null on the first page. */
  readonly cursor: string | null;
}

/** Throws INVALID_ARGUMENT for a negative size, and for a token that is malformed or made for other conditions. */
export function pageOf(
  { pageSize, pageToken }: { readonly pageSize: number; readonly pageToken: string },
  conditions: unknown,
  sizeDefault = PAGE_SIZE_DEFAULT,
): Page {
  if (pageSize < 0) throw invalidArgument('page_size', 'must not be negative');
  const size = pageSize === 0 ? sizeDefault : Math.min(pageSize, PAGE_SIZE_MAX);
  if (pageToken === '') return { size, cursor: null };
  const [hash, cursor] = readToken(pageToken);
  if (hash !== hashOf(conditions)) throw invalidArgument('page_token', 'belongs to a request with other conditions');
  return { size, cursor };
}

/** For lists whose cursor is a UUID. Throws INVALID_ARGUMENT when the token has another cursor. */
export function uuidCursorOf({ cursor }: Page): Uuid | null {
  const id = cursor === null ? null : parseUuid(cursor);
  if (cursor !== null && id === null) throw invalidArgument('page_token', 'is not a token of this list');
  return id;
}

/** For lists whose cursor is a number of rows. Throws INVALID_ARGUMENT when the token has another cursor. */
export function offsetOf({ cursor }: Page): number {
  const offset = Number(cursor ?? 0);
  if (!Number.isSafeInteger(offset) || offset < 0) throw invalidArgument('page_token', 'is not a token of this list');
  return offset;
}

/** `rows`: the page, and one more row if there is a next page. */
export function cutPage<T>(
  rows: readonly T[],
  { size }: Page,
  conditions: unknown,
  cursorOf: (row: T, position: number) => string,
): { readonly rows: readonly T[]; readonly nextPageToken: string } {
  const page = rows.slice(0, size);
  const last = page.at(-1);
  if (rows.length <= size || last === undefined) return { rows: page, nextPageToken: '' };
  return { rows: page, nextPageToken: writeToken(hashOf(conditions), cursorOf(last, page.length - 1)) };
}

/** Pages of a list that is completely in memory; the cursor is the number of rows before the page. */
export function pageOfList<T>(
  all: readonly T[],
  request: { readonly pageSize: number; readonly pageToken: string },
  conditions: unknown,
  sizeDefault?: number,
): { readonly rows: readonly T[]; readonly nextPageToken: string } {
  const page = pageOf(request, conditions, sizeDefault);
  const offset = offsetOf(page);
  return cutPage(all.slice(offset, offset + page.size + 1), page, conditions, (_, position) =>
    String(offset + position + 1),
  );
}

function writeToken(hash: string, cursor: string): string {
  return Buffer.from(JSON.stringify([hash, cursor])).toString('base64url');
}

function readToken(token: string): readonly [string, string] {
  try {
    const [hash, cursor] = JSON.parse(Buffer.from(token, 'base64url').toString('utf8')) as unknown[];
    if (typeof hash === 'string' && typeof cursor === 'string') return [hash, cursor];
  } catch {
    // Malformed: reported below.
  }
  throw invalidArgument('page_token', 'is not a token of this list');
}

function hashOf(conditions: unknown): string {
  return createHash('sha256').update(JSON.stringify(conditions)).digest('base64url').slice(0, 12);
}
