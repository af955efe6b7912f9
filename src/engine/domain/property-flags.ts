/**
 * Facts that are true or false, one row each. Crawlers state them for a property or an advert; null is unknown. The
 * rows determine the intake contract, the stored state and summary, the property document, matching, the REST schemas
 * and the console. Append new rows (see `Shape` in stored-property.ts). A row needs a row in `criterion-table.ts`;
 * otherwise the code does not compile.
 */

import type { InLanguages } from './criterion-words.ts';

interface FlagRow {
  readonly described: string;
  readonly label: InLanguages<string>;
}

export const PROPERTY_FLAGS = {
  elevator: { described: 'Has an elevator.', label: { fr: 'Ascenseur', en: 'Elevator' } },
  furnished: { described: 'Is furnished.', label: { fr: 'Meublé', en: 'Furnished' } },
} as const satisfies Readonly<Record<string, FlagRow>>;

export type PropertyFlag = keyof typeof PROPERTY_FLAGS;

export const FLAG_NAMES = Object.keys(PROPERTY_FLAGS) as readonly PropertyFlag[];

/** Assigns the members one by one in a fixed order, because objects of the same shape are cheap to copy. */
export function eachFlag<Value>(valueOf: (name: PropertyFlag) => Value): Readonly<Record<PropertyFlag, Value>> {
  const values = {} as Record<PropertyFlag, Value>;
  for (const name of FLAG_NAMES) values[name] = valueOf(name);
  return values;
}
