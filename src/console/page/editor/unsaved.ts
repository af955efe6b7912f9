/**
 * Unsaved changes by search. They are kept while the reader looks at the map or at another search, and the browser asks
 * before the page is left. Only changed members are stored; the others are updated when other users save the search.
 */

import { useCallback, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { SearchDocument } from '../documents.ts';
import { type ChangeDraft, changesOf, type Draft, draftOf, NEW_DRAFT } from './draft.ts';

type Changes = Partial<Draft>;

const NOTHING: Changes = {};
const unsaved = new Map<string, Changes>();

window.addEventListener('beforeunload', (event) => {
  if (unsaved.size > 0) event.preventDefault();
});

/** Called after signing out, because the next client must not see them. */
export function forgetUnsaved(): void {
  unsaved.clear();
}

export type Writing = ReturnType<typeof useUnsaved>;

/** `saved`: the stored search `id`; null if it is new. */
export function useUnsaved(id: string, saved: SearchDocument | null) {
  const original = useMemo(() => (saved === null ? NEW_DRAFT : draftOf(saved)), [saved]);
  const [changes, setChanges] = useState<Changes>(() => unsaved.get(id) ?? NOTHING);
  const isChanged = Object.keys(changes).length > 0;
  // Without a delay, because the next event may close the view.
  useLayoutEffect(() => {
    if (isChanged) unsaved.set(id, changes);
    else unsaved.delete(id);
  }, [id, changes, isChanged]);
  const change = useCallback<ChangeDraft>(
    // If the original value is typed again, there is no change.
    (changed) => setChanges((before) => changesOf(original, { ...before, ...changed })),
    [original],
  );
  const draft: Draft = useMemo(() => ({ ...original, ...changes }), [original, changes]);
  const discard = (): void => {
    unsaved.delete(id);
    setChanges(NOTHING);
  };
  return { draft, change, isChanged, discard };
}
