/**
 * Unsaved changes by search. They survive a look at the map or at another search, and the browser asks before the page
 * is left with them. Only the changed members are stored: the others follow what somebody else saves.
 */

import { useCallback, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { SearchDocument } from '../documents.ts';
import { type ChangeDraft, type Draft, draftOf, NEW_DRAFT } from './draft.ts';

type Changes = Partial<Draft>;

const NOTHING: Changes = {};
const unsaved = new Map<string, Changes>();

window.addEventListener('beforeunload', (event) => {
  if (unsaved.size > 0) event.preventDefault();
});

/** After signing out the next client sees none of them. */
export function forgetUnsaved(): void {
  unsaved.clear();
}

export interface Writing {
  readonly draft: Draft;
  readonly change: ChangeDraft;
  readonly isChanged: boolean;
  discard(): void;
}

/** `saved`: the search `id` as the service has it; null: it is new. */
export function useUnsaved(id: string, saved: SearchDocument | null): Writing {
  const original = useMemo(() => (saved === null ? NEW_DRAFT : draftOf(saved)), [saved]);
  const [changes, setChanges] = useState<Changes>(() => unsaved.get(id) ?? NOTHING);
  const isChanged = Object.keys(changes).length > 0;
  // At once: the next event may close the view.
  useLayoutEffect(() => {
    if (isChanged) unsaved.set(id, changes);
    else unsaved.delete(id);
  }, [id, changes, isChanged]);
  const change = useCallback<ChangeDraft>(
    (changed) => setChanges((before) => differing(original, { ...before, ...changed })),
    [original],
  );
  const draft = useMemo(() => ({ ...original, ...changes }), [original, changes]);
  const discard = (): void => {
    unsaved.delete(id);
    setChanges(NOTHING);
  };
  return { draft, change, isChanged, discard };
}

/** A value that is typed back is no change. */
function differing(original: Draft, changes: Changes): Changes {
  const isOther = ([member, value]: [string, unknown]): boolean =>
    JSON.stringify(value) !== JSON.stringify(original[member as keyof Draft]);
  return Object.fromEntries(Object.entries(changes).filter(isOther));
}
