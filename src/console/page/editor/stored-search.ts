/** A search as it was read, with its entity tag, so that the editor never overwrites what others have saved since. */

import type { SearchDocument } from '../documents.ts';
import { type Method, Refusal, type Rest } from '../rest.ts';
import { type Body, bodyOf, changesOf, type Draft, differingMembers, draftOf } from './draft.ts';

export interface StoredSearch {
  readonly search: SearchDocument;
  readonly etag: string | null;
}

export async function readStored(rest: Rest, iri: string, signal?: AbortSignal): Promise<StoredSearch> {
  const { body: search, etag } = await rest.ask<SearchDocument>('GET', iri, signal && { signal });
  return { search, etag };
}

export interface Saved {
  /** True if another version was saved after `stored` was read: the change was not made. */
  readonly isRefused: boolean;
  readonly present: StoredSearch;
}

/** Overwrites `stored`, the version that the reader has seen, and no other. */
export function saveStored(rest: Rest, stored: StoredSearch, draft: Draft): Promise<Saved> {
  const body = changesOf(bodyOf(draftOf(stored.search)), bodyOf(draft));
  // A PATCH would merge objects, and keep the members that the draft has removed from one.
  return changeStored(rest, stored, { method: 'PUT', body }, differingMembers);
}

/** Works even if the search has changed since the page read it. */
export async function switchNotifications(
  rest: Rest,
  iri: string,
  notificationEnabled: boolean,
): Promise<SearchDocument> {
  const stored = await readStored(rest, iri);
  return (await changeStored(rest, stored, { method: 'PATCH', body: { notificationEnabled } }, () => [])).present
    .search;
}

/** Deletes `stored`, the version that the reader has seen, and no other. On success `present` is `stored`. */
export function removeStored(rest: Rest, stored: StoredSearch): Promise<Saved> {
  return changeStored(rest, stored, { method: 'DELETE' }, differingMembers);
}

interface Change {
  readonly method: Method;
  readonly body?: Body;
}

/** Members that only the service changes, such as the last alert, cause no conflict. */
async function changeStored(
  rest: Rest,
  stored: StoredSearch,
  change: Change,
  differences: typeof differingMembers,
): Promise<Saved> {
  const { '@id': iri } = stored.search;
  const headers: Readonly<Record<string, string>> = stored.etag === null ? {} : { 'If-Match': stored.etag };
  try {
    const { body: search, etag } = await rest.ask<SearchDocument | undefined>(change.method, iri, {
      ...change,
      headers,
    });
    return { isRefused: false, present: search === undefined ? stored : { search, etag } };
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 412) throw error;
    const present = await readStored(rest, iri);
    const isOther = differences(draftOf(stored.search), draftOf(present.search)).length > 0;
    return isOther ? { isRefused: true, present } : changeStored(rest, present, change, differences);
  }
}

/** The search that this page created last, until its editor has reported it as saved. */
let made: string | null = null;

export function keepMade(iri: string): void {
  made = iri;
}

export function consumeMade(iri: string | undefined): boolean {
  const isMade = made !== null && made === iri;
  if (isMade) made = null;
  return isMade;
}
