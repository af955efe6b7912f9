/**
 * Facts that are true or false, one row each. Crawlers state them for a property or an advert; null is unknown. The
 * rows determine the intake contract, the stored state, the property document, matching, the REST schemas and the
 * console. Append new rows (see `Shape` in stored-property.ts). A row with `isCompared` needs a row in
 * `criterion-table.ts`; otherwise the code does not compile.
 */

import type { InLanguages } from './criterion-words.ts';

interface FlagRow {
  readonly described: string;
  readonly label: InLanguages<string>;
  /** True if a criterion compares this fact. */
  readonly isCompared: boolean;
}

export const PROPERTY_FLAGS = {
  elevator: { described: 'Has an elevator.', label: { fr: 'Ascenseur', en: 'Elevator' }, isCompared: true },
  furnished: { described: 'Is furnished.', label: { fr: 'Meublé', en: 'Furnished' }, isCompared: true },
} as const satisfies Readonly<Record<string, FlagRow>>;

export type PropertyFlag = keyof typeof PROPERTY_FLAGS;
export type ComparedFlag = {
  [Name in PropertyFlag]: (typeof PROPERTY_FLAGS)[Name]['isCompared'] extends true ? Name : never;
}[PropertyFlag];

export type StatedFlags = Readonly<Record<PropertyFlag, boolean | null>>;
export type ComparedFlags = Readonly<Record<ComparedFlag, boolean | null>>;

export const FLAG_NAMES = Object.keys(PROPERTY_FLAGS) as readonly PropertyFlag[];
export const COMPARED_FLAG_NAMES = FLAG_NAMES.filter(
  (name): name is ComparedFlag => PROPERTY_FLAGS[name].isCompared,
) as readonly ComparedFlag[];

export function eachFlag<Value>(valueOf: (name: PropertyFlag) => Value): Readonly<Record<PropertyFlag, Value>> {
  return valuesOf(FLAG_NAMES, valueOf);
}

export function eachComparedFlag<Value>(valueOf: (name: ComparedFlag) => Value): Readonly<Record<ComparedFlag, Value>> {
  return valuesOf(COMPARED_FLAG_NAMES, valueOf);
}

/** Assigns the members one by one in a fixed order, because objects of the same shape are cheap to copy. */
function valuesOf<Name extends string, Value>(names: readonly Name[], valueOf: (name: Name) => Value) {
  const values = {} as Record<Name, Value>;
  for (const name of names) values[name] = valueOf(name);
  return values;
}
