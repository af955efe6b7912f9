/** A search as it was read, with the tag that says so when it is saved: nothing that others save meanwhile is overwritten. */

import type { SearchDocument } from '../documents.ts';
import { Refusal, type Rest } from '../rest.ts';
import { bodyOf, changesOf, type Draft, differingMembers, draftOf } from './draft.ts';

export interface HeldSearch {
  readonly search: SearchDocument;
  readonly etag: string | null;
}

export async function readHeld(rest: Rest, iri: string, signal?: AbortSignal): Promise<HeldSearch> {
  const { body: search, etag } = await rest.ask<SearchDocument>('GET', iri, signal && { signal });
  return { search, etag };
}

export interface Saved {
  /** Whether somebody else had saved another one since `held` was read: nothing was saved then. */
  readonly isRefused: boolean;
  readonly present: HeldSearch;
}

/** What the service alone has changed, such as the last alert, refuses nothing. */
export async function saveHeld(rest: Rest, { search, etag }: HeldSearch, draft: Draft): Promise<Saved> {
  const iri = search['@id'];
  const headers: Readonly<Record<string, string>> = etag === null ? {} : { 'If-Match': etag };
  try {
    await rest.ask('PUT', iri, { body: changesOf(bodyOf(draftOf(search)), bodyOf(draft)), headers });
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 412) throw error;
    const present = await readHeld(rest, iri);
    const isSame = differingMembers(draftOf(search), draftOf(present.search)).length === 0;
    return isSame ? saveHeld(rest, present, draft) : { isRefused: true, present };
  }
  // The answer to a PUT has no tag (RFC 9110, section 9.3.4).
  return { isRefused: false, present: await readHeld(rest, iri) };
}
