/** A search as it was read, with its entity tag: a change does not overwrite what others have saved meanwhile. */

import type { SearchDocument } from '../documents.ts';
import { type Method, Refusal, type Rest } from '../rest.ts';
import { type Body, bodyOf, changesOf, type Draft, differingMembers, draftOf } from './draft.ts';

export interface HeldSearch {
  readonly search: SearchDocument;
  readonly etag: string | null;
}

export async function readHeld(rest: Rest, iri: string, signal?: AbortSignal): Promise<HeldSearch> {
  const { body: search, etag } = await rest.ask<SearchDocument>('GET', iri, signal && { signal });
  return { search, etag };
}

export interface Saved {
  /** Somebody else has saved another version since `held` was read: nothing was saved. */
  readonly isRefused: boolean;
  readonly present: HeldSearch;
}

/** For a reader who has seen the other version. */
export function saveHeld(rest: Rest, held: HeldSearch, draft: Draft): Promise<Saved> {
  const body = changesOf(bodyOf(draftOf(held.search)), bodyOf(draft));
  // A PATCH would merge objects: what a draft removed from one would stay.
  return changeHeld(rest, held, { method: 'PUT', body }, differingMembers);
}

/** Also when its criteria have changed since. */
export async function switchNotifications(
  rest: Rest,
  iri: string,
  notificationEnabled: boolean,
): Promise<SearchDocument> {
  const held = await readHeld(rest, iri);
  return (await changeHeld(rest, held, { method: 'PATCH', body: { notificationEnabled } }, () => [])).present.search;
}

/** For a reader who has seen the present version; a deleted search counts as present. */
export function removeHeld(rest: Rest, held: HeldSearch): Promise<Saved> {
  return changeHeld(rest, held, { method: 'DELETE' }, differingMembers);
}

interface Change {
  readonly method: Method;
  readonly body?: Body;
}

/** Members that only the service changes, such as the last alert, cause no conflict. */
async function changeHeld(
  rest: Rest,
  held: HeldSearch,
  change: Change,
  differences: typeof differingMembers,
): Promise<Saved> {
  const { '@id': iri } = held.search;
  const headers: Readonly<Record<string, string>> = held.etag === null ? {} : { 'If-Match': held.etag };
  try {
    const { body: search, etag } = await rest.ask<SearchDocument | undefined>(change.method, iri, {
      ...change,
      headers,
    });
    return { isRefused: false, present: search === undefined ? held : { search, etag } };
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 412) throw error;
    const present = await readHeld(rest, iri);
    const isOther = differences(draftOf(held.search), draftOf(present.search)).length > 0;
    return isOther ? { isRefused: true, present } : changeHeld(rest, present, change, differences);
  }
}

/** The search that this page has created last, until its editor has confirmed it. */
let made: string | null = null;

export function keepMade(iri: string): void {
  made = iri;
}

export function takeMade(iri: string | undefined): boolean {
  const isMade = made !== null && made === iri;
  if (isMade) made = null;
  return isMade;
}
