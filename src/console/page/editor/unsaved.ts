/**
 * What is written and not yet saved, by search: who looks at the map meanwhile, or at another search, finds it again, and
 * the browser asks before the page is left with it. Kept as the members that were changed: what somebody else saves of the
 * others shows through.
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

/** Of a client that leaves, the next one sees nothing. */
export function forgetUnsaved(): void {
  unsaved.clear();
}

export interface Writing {
  readonly draft: Draft;
  readonly change: ChangeDraft;
  readonly isChanged: boolean;
  /** What is written, upon what somebody else has saved meanwhile. */
  over(saved: SearchDocument): Draft;
  discard(): void;
}

/** `saved` is what the service has of the search `id`; null: nothing yet. */
export function useUnsaved(id: string, saved: SearchDocument | null): Writing {
  const original = useMemo(() => (saved === null ? NEW_DRAFT : draftOf(saved)), [saved]);
  const [changes, setChanges] = useState<Changes>(() => unsaved.get(id) ?? NOTHING);
  const isChanged = Object.keys(changes).length > 0;
  // Before anything else can happen: the view may be left with the next event.
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
  const over = (present: SearchDocument): Draft => ({ ...draftOf(present), ...changes });
  return { draft, change, isChanged, over, discard };
}

/** What is put back as it was is no change. */
function differing(original: Draft, changes: Changes): Changes {
  const isOther = ([member, value]: [string, unknown]): boolean =>
    JSON.stringify(value) !== JSON.stringify(original[member as keyof Draft]);
  return Object.fromEntries(Object.entries(changes).filter(isOther));
}
