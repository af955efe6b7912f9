/**
 * Criteria with few possible values (letters and codes). Each is one byte of an integer, with a bit for each requested
 * or stated value. The highest bit is for an unknown value.
 */

import { type CriterionSet, plainCriteria, type RowOf } from '../../domain/criterion-table.ts';
import type { AdvertFacts, PropertyFacts } from '../../domain/property-facts.ts';
import { bitOfCriterion } from '../../domain/unknown-criteria.ts';

const SET_BITS = 8;
const INTEGER_BITS = 32;
export const UNKNOWN_IN_SET = 1 << (SET_BITS - 1);

type SetRow = RowOf<'codes' | 'letters'>;

export interface SetCriterion {
  readonly row: SetRow;
  readonly criterion: CriterionSet;
  readonly shift: number;
}

export const SET_CRITERIA = [...plainCriteria('letters'), ...plainCriteria('codes')].map((row, i): SetCriterion => {
  if (row.names.length >= SET_BITS)
    throw new RangeError(`${row.name} has ${row.names.length} values, which do not fit in a byte`);
  return { row, criterion: bitOfCriterion(row.name), shift: i * SET_BITS };
});
if (SET_CRITERIA.length * SET_BITS > INTEGER_BITS) throw new RangeError(`${SET_CRITERIA.length} sets exceed 32 bits`);

/** Whether a column or a need represents the criterion. Types have a column; any other single code is a need. */
export function isInRow({ name, kind }: SetRow, count: number, acceptsUnknown: boolean): boolean {
  if (kind === 'letters') return false;
  return name === 'propertyTypes' ? !acceptsUnknown : count === 1;
}

/** The bits of the values; null if a code or letter is unknown. */
export function setOf({ names }: SetRow, values: readonly (number | string)[]): number | null {
  let set = 0;
  for (const value of values) {
    const position = typeof value === 'number' ? value : names.indexOf(value);
    if (!(position in names)) return null;
    set |= 1 << position;
  }
  return set;
}

/** The stated values of all `SET_CRITERIA`. */
export function setsStated(facts: PropertyFacts, adverts: readonly AdvertFacts[]): number {
  let sets = 0;
  for (const { row, shift } of SET_CRITERIA) {
    const { source, names } = row;
    let set = source.of === 'property' ? bitOf(names, source.read(facts)) : UNKNOWN_IN_SET;
    if (source.of === 'adverts') {
      for (const advert of adverts) {
        const bit = bitOf(names, source.read(advert));
        if (bit !== UNKNOWN_IN_SET) set = (set & ~UNKNOWN_IN_SET) | bit;
      }
    }
    sets |= set << shift;
  }
  return sets;
}

/** The bit of a value; 0 if it is not among `names`. */
function bitOf(names: readonly string[], value: number | string | null): number {
  if (value === null) return UNKNOWN_IN_SET;
  const position = typeof value === 'string' ? names.indexOf(value) : value;
  return position in names ? 1 << position : 0;
}

const LOW_BITS = 0x7f7f7f7f;

/** Returns the highest bit of every byte that is not 0. */
export function bytesSet(bytes: number): number {
  return (((bytes & LOW_BITS) + LOW_BITS) | bytes) & ~LOW_BITS;
}
