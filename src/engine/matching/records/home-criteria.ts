/**
 * Criteria that no column has and few searches ask for, in words of the record of their own: the letters asked for, a
 * bit each, and the features.
 */

import type { Criteria } from '../../domain/criteria.ts';
import { plainCriteria } from '../../domain/criterion-table.ts';
import { presenceOf } from '../../domain/feature-criteria.ts';
import type { AdvertFacts } from '../../domain/property-facts.ts';

const ROWS = plainCriteria('letters');
/** For each row a byte of the first integer. */
const ROW_BITS = 8;
const INCLUDED = 1;
const EXCLUDED = 2;

/** Writes from `at` on. False without any of these criteria; null with a letter that has no bit. */
export function writeHome(criteria: Criteria, integers: Int32Array, at: number): boolean | null {
  let letters = 0;
  for (const [position, { name, names }] of ROWS.entries()) {
    for (const letter of criteria[name]) {
      const bit = names.indexOf(letter);
      if (bit === -1) return null;
      letters |= 1 << (position * ROW_BITS + bit);
    }
  }
  integers[at] = letters;
  integers[at + INCLUDED] = criteria.includedFeatures;
  integers[at + EXCLUDED] = criteria.excludedFeatures;
  return (letters | criteria.includedFeatures | criteria.excludedFeatures) !== 0;
}

/** Whether these adverts hold what was written at `at`. */
export function holdsHome(integers: Int32Array, at: number, adverts: readonly AdvertFacts[]): boolean {
  const letters = integers[at] as number;
  for (let position = 0; position < ROWS.length; position++) {
    const asked = (letters >>> (position * ROW_BITS)) & (2 ** ROW_BITS - 1);
    if (asked !== 0 && !isLetterStated(asked, ROWS[position] as (typeof ROWS)[number], adverts)) return false;
  }
  const [included, excluded] = [integers[at + INCLUDED] as number, integers[at + EXCLUDED] as number];
  if ((included | excluded) === 0) return true;
  const { present } = presenceOf(adverts);
  return (included & ~present) === 0 && (excluded & present) === 0;
}

function isLetterStated(
  asked: number,
  { source, names }: (typeof ROWS)[number],
  adverts: readonly AdvertFacts[],
): boolean {
  for (const advert of adverts) {
    const letter = source.read(advert);
    if (letter !== null && ((asked >> names.indexOf(letter)) & 1) !== 0) return true;
  }
  return false;
}
