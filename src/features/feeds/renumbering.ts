/**
 * Adverts whose agency has another number since (field 1 of Poliris, part of the reference): most references of a source
 * are gone, and as many new ones come. Those with an agency's own reference (field 2) or a technical id (field 175) that
 * is one advert's alone, before and today, are the same adverts.
 */

import type { OtherKeys } from './feed-row.ts';
import type { Carried, Publication } from './publications.ts';

export type Strangers = ReturnType<typeof createStrangers>;

const KEYS = ['own', 'technical'] as const;

/** The adverts of a snapshot that have no publication by their reference. */
export function createStrangers(held: ReadonlyMap<string, Publication>) {
  const firsts = new Set([...held.values()].flatMap(({ first }) => first ?? []));
  const counts = { own: new Map<string, number>(), technical: new Map<string, number>() };
  const unknown: { readonly reference: string; readonly keys: OtherKeys }[] = [];
  return {
    counts,
    unknown,
    /** Why the advert cannot be one of its own; null: it can. */
    meet(reference: string, keys: OtherKeys | undefined): string | null {
      if (keys !== undefined)
        for (const key of KEYS) if (keys[key] !== '') counts[key].set(keys[key], (counts[key].get(keys[key]) ?? 0) + 1);
      if (held.has(reference)) return null;
      if (keys !== undefined) unknown.push({ reference, keys });
      return firsts.has(reference) ? "its reference was another advert's, which has another one now" : null;
    },
  };
}

/** Null: the references are as they were, for most adverts. */
export function carriedOver(
  missing: readonly string[],
  held: ReadonlyMap<string, Publication>,
  { counts, unknown }: Strangers,
): { readonly held: ReadonlyMap<string, Publication>; readonly carried: readonly Carried[] } | null {
  if (missing.length * 2 <= held.size || unknown.length * 2 <= held.size) return null;
  const gone = new Set(missing);
  const byKey = { own: uniqueBy('own', held), technical: uniqueBy('technical', held) };
  const carried = new Map<string, Required<Carried>>();
  for (const { reference, keys } of unknown) {
    const key = KEYS.find((each) => counts[each].get(keys[each]) === 1 && gone.has(byKey[each].get(keys[each]) ?? ''));
    const before = key === undefined ? undefined : byKey[key].get(keys[key]);
    if (before === undefined) continue;
    gone.delete(before);
    carried.set(before, { reference, first: held.get(before)?.first ?? before, before });
  }
  if (carried.size * 2 <= held.size) return null;
  const renamed = [...held].map(([reference, publication]) => {
    const now = carried.get(reference);
    return now === undefined
      ? ([reference, publication] as const)
      : ([now.reference, { ...publication, first: now.first }] as const);
  });
  return { held: new Map(renamed), carried: [...carried.values()] };
}

/** The reference of the one advert that has a key. */
function uniqueBy(key: keyof OtherKeys, held: ReadonlyMap<string, Publication>): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [reference, { keys }] of held)
    if (keys[key] !== '') found.set(keys[key], found.has(keys[key]) ? '' : reference);
  return found;
}
