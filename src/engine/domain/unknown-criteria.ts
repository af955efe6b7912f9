/**
 * Criteria that an unknown value satisfies too (`orMissing`; decisions, section 3). A set of them is a number, so that a
 * record of the index has it in one integer.
 */

import type { Considered, Source } from './criterion-kinds.ts';
import { CRITERIA, type Criteria, type CriterionName, type CriterionSet } from './criterion-table.ts';

const POSITIONS = new Map<string, number>(CRITERIA.map(({ name }, position) => [name, position]));
if (POSITIONS.size > 31) throw new RangeError(`${POSITIONS.size} criteria do not fit an integer`);

export function bitOfCriterion(name: CriterionName): CriterionSet {
  return 1 << (POSITIONS.get(name) as number);
}

export function criterionSetOf(names: readonly string[]): CriterionSet {
  return names.reduce((set, name) => set | bitOfCriterion(name as CriterionName), 0);
}

export const ALL_CRITERIA: CriterionSet = 2 ** POSITIONS.size - 1;

const UNKNOWABLE = CRITERIA.filter(
  ({ source, isUnknown, isAlwaysKnown }) => isAlwaysKnown !== true && (source ?? isUnknown) !== undefined,
).map(({ name }) => name);
const UNKNOWABLE_SET = criterionSetOf(UNKNOWABLE);

/** Of the names in `orMissing`, those with an effect. */
export function mayBeUnknown(name: string): boolean {
  return UNKNOWABLE.includes(name as CriterionName);
}

/** Those of `accepted` whose value is unknown, of criteria that do not hold. */
export function unknownAmong(
  accepted: CriterionSet,
  considered: Considered,
  asked: Pick<Criteria, 'includedFeatures'>,
): CriterionSet {
  let unknown = 0;
  for (let rest = accepted & UNKNOWABLE_SET; rest !== 0; rest &= rest - 1) {
    const bit = rest & -rest;
    const { source, isUnknown } = CRITERIA[31 - Math.clz32(bit)] as (typeof CRITERIA)[number];
    if (source === undefined ? isUnknown?.(considered, asked) : isUnstated(source, considered)) unknown |= bit;
  }
  return unknown;
}

/** Whether the property, or every advert that counts, leaves the value unknown. */
function isUnstated(source: Source<unknown>, { facts, adverts }: Considered): boolean {
  if (source.of === 'property') return source.read(facts) === null;
  return adverts.every((advert) => source.read(advert) === null);
}
