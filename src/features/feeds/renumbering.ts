/**
 * Detects agencies whose number has changed (field 1 of Poliris, a part of the reference). All adverts of such an
 * agency are missing. Most of its own references (field 2) or technical ids (field 175) return under one new number. If
 * most return under two new numbers, none of its adverts is carried over.
 */

import type { OtherKeys } from './feed-row.ts';
import type { Carried, Publication } from './publications.ts';

export type Strangers = ReturnType<typeof createStrangers>;

const KEYS = ['own', 'technical'] as const;
/** A value shared by more adverts than this identifies none of them. The limit keeps the comparison linear. */
const SHARED_MAX = 100;

interface Advert {
  readonly reference: string;
  readonly keys: OtherKeys;
}

/** The agency's number (field 1). Empty if the field is empty or the advert is not from Poliris. */
export function agencyOf(reference: string, { own }: OtherKeys): string {
  return own !== '' && reference.endsWith(`/${own}`) ? reference.slice(0, -own.length - 1) : '';
}

/** Collects the adverts of a snapshot whose references are not stored. */
export function createStrangers(stored: ReadonlyMap<string, Publication>) {
  const firsts = new Set([...stored.values()].flatMap(({ first }) => first ?? []));
  const unknown: Advert[] = [];
  return {
    unknown,
    /** Why the advert's reference cannot be accepted; null if it can. */
    meet(reference: string, keys: OtherKeys | undefined): string | null {
      if (stored.has(reference)) return null;
      if (keys !== undefined) unknown.push({ reference, keys });
      return firsts.has(reference) ? "another advert's ids were derived from the reference" : null;
    },
  };
}

export interface Renumbering {
  /** By current reference. */
  readonly stored: ReadonlyMap<string, Publication>;
  readonly carried: readonly Carried[];
  /** One sentence per agency. */
  readonly renumbered: readonly string[];
}

/** `shown`: all references of the snapshot. Null if no agency was renumbered. */
export function carriedOver(
  stored: ReadonlyMap<string, Publication>,
  shown: ReadonlySet<string>,
  { unknown }: Strangers,
): Renumbering | null {
  if (unknown.length === 0) return null;
  const former = groupsOf(
    [...stored].map(([reference, { keys }]) => ({ reference, keys })),
    ({ reference, keys }) => [agencyOf(reference, keys)],
  );
  const newcomers = unknown.filter(({ reference, keys }) => !former.has(agencyOf(reference, keys)));
  const sharing = groupsOf(newcomers, ({ keys }) => KEYS.map((key) => keyOf(key, keys)));
  const returning = [...former.values()].flatMap((adverts) => {
    if (adverts.some(({ reference }) => shown.has(reference))) return [];
    return returnOf(adverts, shown, sharing, KEYS) ?? returnOf(adverts, shown, sharing, ['technical']) ?? [];
  });
  // If two former adverts may have become the same new advert, it is assigned to neither.
  const claims = new Map<string, number>();
  for (const now of returning.flatMap((returned) => [...returned.values()]))
    claims.set(now, (claims.get(now) ?? 0) + 1);
  const carried = new Map<string, Required<Carried>>();
  const renumbered = returning.flatMap((returned) => {
    const certain = [...returned].filter(([, reference]) => claims.get(reference) === 1);
    for (const [before, reference] of certain)
      carried.set(before, { reference, first: stored.get(before)?.first ?? before, before });
    if (certain[0] === undefined) return [];
    const example = certain[0].join(' as ');
    return [`${certain.length} adverts return under another agency number (${example}) and keep their identity.`];
  });
  if (carried.size === 0) return null;
  const renamed = [...stored].map(([reference, publication]): [string, Publication] => {
    const now = carried.get(reference);
    return now === undefined ? [reference, publication] : [now.reference, { ...publication, first: now.first }];
  });
  return { stored: new Map(renamed), carried: [...carried.values()], renumbered };
}

/** Maps an agency's former references to new ones if most return under exactly one number; otherwise null. */
function returnOf(
  adverts: readonly Advert[],
  shown: ReadonlySet<string>,
  sharing: ReadonlyMap<string, readonly Advert[]>,
  by: readonly (keyof OtherKeys)[],
): ReadonlyMap<string, string> | null {
  const returned = new Map<string, Map<string, string>>();
  for (const { reference, keys } of adverts) {
    for (const key of by) {
      const same = keys[key] === '' ? [] : (sharing.get(keyOf(key, keys)) ?? []);
      for (const now of same.length > SHARED_MAX ? [] : same) {
        const agency = agencyOf(now.reference, now.keys);
        const found = returned.get(agency) ?? new Map<string, string>();
        if (!found.has(reference)) returned.set(agency, found.set(reference, now.reference));
      }
    }
  }
  const most = [...returned].filter(([, { size }]) => size * 2 > adverts.length);
  if (most.length !== 1) return null;
  const [[agency, found]] = most as [[string, Map<string, string>]];
  // A row with errors still has a reference: its advert neither expires nor changes.
  for (const { reference, keys } of adverts) {
    const same = agency === '' ? keys.own : `${agency}/${keys.own}`;
    if (!found.has(reference) && shown.has(same)) found.set(reference, same);
  }
  return found;
}

const keyOf = (key: keyof OtherKeys, keys: OtherKeys): string => `${key} ${keys[key]}`;

function groupsOf(adverts: readonly Advert[], namesOf: (advert: Advert) => readonly string[]) {
  const groups = new Map<string, Advert[]>();
  for (const advert of adverts) {
    for (const name of namesOf(advert)) {
      const group = groups.get(name);
      if (group === undefined) groups.set(name, [advert]);
      else group.push(advert);
    }
  }
  return groups;
}
