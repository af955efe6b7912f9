/**
 * Criteria that no column has and few searches ask for, in words of the record of their own: the letters asked for, a
 * bit each, the features, and the criteria that an unknown value satisfies too.
 */

import type { Criteria } from '../../domain/criteria.ts';
import { type CriterionSet, plainCriteria } from '../../domain/criterion-table.ts';
import { presenceOf } from '../../domain/feature-criteria.ts';
import type { AdvertFacts } from '../../domain/property-facts.ts';
import { bitOfCriterion } from '../../domain/unknown-criteria.ts';
import { FLAGS, HAS_HOME, homeOffset, listsOffset } from './layout.ts';

const ROWS = plainCriteria('letters');
/** For each row a byte of the first integer. */
const ROW_BITS = 8;
const INCLUDED = 1;
const EXCLUDED = 2;
const OR_MISSING = 3;
const LETTER_CRITERIA = ROWS.map(({ name }) => bitOfCriterion(name));
const FEATURES_CRITERION = bitOfCriterion('includedFeatures');

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
  integers[at + OR_MISSING] = criteria.orMissing;
  return (letters | criteria.includedFeatures | criteria.excludedFeatures | criteria.orMissing) !== 0;
}

/** The criteria that an unknown value satisfies too, of the record at `head`. */
export function orMissingOf(integers: Int32Array, head: number): CriterionSet {
  const flags = integers[head + FLAGS] as number;
  if ((flags & HAS_HOME) === 0) return 0;
  return integers[head + homeOffset(flags, listsOffset(flags)) + OR_MISSING] as number;
}

/** Whether these adverts hold what was written at `at`, the criteria in `skipped` being unknown. */
export function holdsHome(
  integers: Int32Array,
  at: number,
  adverts: readonly AdvertFacts[],
  skipped: CriterionSet,
): boolean {
  const letters = integers[at] as number;
  for (let position = 0; position < ROWS.length; position++) {
    const asked = (letters >>> (position * ROW_BITS)) & (2 ** ROW_BITS - 1);
    if (asked === 0 || (skipped & (LETTER_CRITERIA[position] as number)) !== 0) continue;
    if (!isLetterStated(asked, ROWS[position] as (typeof ROWS)[number], adverts)) return false;
  }
  const [included, excluded] = [integers[at + INCLUDED] as number, integers[at + EXCLUDED] as number];
  if ((included | excluded) === 0) return true;
  const { present, absent } = presenceOf(adverts);
  const failing = (skipped & FEATURES_CRITERION) === 0 ? ~present : absent;
  return (included & failing) === 0 && (excluded & present) === 0;
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
