/**
 * Adverts whose agency has another number since (field 1 of Poliris, part of the reference): an agency has gone whole, and
 * most of its own references (field 2), or of its technical ids (field 175), return under one number that was unknown.
 * Where two unknown numbers have most of them, nothing is carried over.
 */

import type { OtherKeys } from './feed-row.ts';
import type { Carried, Publication } from './publications.ts';

export type Strangers = ReturnType<typeof createStrangers>;

const KEYS = ['own', 'technical'] as const;
/** A value that more adverts share identifies none; the bound keeps the comparison linear. */
const SHARED_MAX = 100;

interface Advert {
  readonly reference: string;
  readonly keys: OtherKeys;
}

/** Field 1; empty: it is empty, or the advert is not of Poliris. */
export function agencyOf(reference: string, { own }: OtherKeys): string {
  return own !== '' && reference.endsWith(`/${own}`) ? reference.slice(0, -own.length - 1) : '';
}

/** The adverts of a snapshot that have no publication by their reference. */
export function createStrangers(held: ReadonlyMap<string, Publication>) {
  const firsts = new Set([...held.values()].flatMap(({ first }) => first ?? []));
  const unknown: Advert[] = [];
  return {
    unknown,
    /** Why the advert cannot be one of its own; null: it can. */
    meet(reference: string, keys: OtherKeys | undefined): string | null {
      if (held.has(reference)) return null;
      if (keys !== undefined) unknown.push({ reference, keys });
      return firsts.has(reference) ? "its reference was another advert's, which has another one now" : null;
    },
  };
}

export interface Renumbering {
  /** By the references of today. */
  readonly held: ReadonlyMap<string, Publication>;
  readonly carried: readonly Carried[];
  /** A sentence for each agency. */
  readonly renumbered: readonly string[];
}

/** `shown`: all references of the snapshot. Null: every agency has the number that it had. */
export function carriedOver(
  held: ReadonlyMap<string, Publication>,
  shown: ReadonlySet<string>,
  { unknown }: Strangers,
): Renumbering | null {
  if (unknown.length === 0) return null;
  const former = groupsOf(
    [...held].map(([reference, { keys }]) => ({ reference, keys })),
    ({ reference, keys }) => [agencyOf(reference, keys)],
  );
  const newcomers = unknown.filter(({ reference, keys }) => !former.has(agencyOf(reference, keys)));
  const sharing = groupsOf(newcomers, ({ keys }) => KEYS.map((key) => keyOf(key, keys)));
  const returning = [...former.values()].flatMap((adverts) => {
    if (adverts.some(({ reference }) => shown.has(reference))) return [];
    return returnOf(adverts, shown, sharing, KEYS) ?? returnOf(adverts, shown, sharing, ['technical']) ?? [];
  });
  // An advert that two may have become is neither.
  const claims = new Map<string, number>();
  for (const now of returning.flatMap((returned) => [...returned.values()]))
    claims.set(now, (claims.get(now) ?? 0) + 1);
  const carried = new Map<string, Required<Carried>>();
  const renumbered = returning.flatMap((returned) => {
    const certain = [...returned].filter(([, reference]) => claims.get(reference) === 1);
    for (const [before, reference] of certain)
      carried.set(before, { reference, first: held.get(before)?.first ?? before, before });
    if (certain[0] === undefined) return [];
    const example = certain[0].join(' as ');
    return [`${certain.length} adverts return under another agency's number (${example}): they stay the same adverts`];
  });
  if (carried.size === 0) return null;
  const renamed = [...held].map(([reference, publication]): [string, Publication] => {
    const now = carried.get(reference);
    return now === undefined ? [reference, publication] : [now.reference, { ...publication, first: now.first }];
  });
  return { held: new Map(renamed), carried: [...carried.values()], renumbered };
}

/** An agency's adverts by their former references, as most of them return under one number; null: there is none, or several. */
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
  // A row that is not understood has a reference, and neither expires nor changes its advert.
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
