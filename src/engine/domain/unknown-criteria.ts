/**
 * Criteria that an unknown value also satisfies (`orMissing`; decisions, section 3). A set of criteria is an integer,
 * so that a record of the index stores it in one number.
 */

import type { Considered, Source } from './criterion-kinds.ts';
import { CRITERIA, type Criteria, type CriterionName, type CriterionSet } from './criterion-table.ts';

const UNKNOWABLE = CRITERIA.filter(
  ({ source, isUnknown, isAlwaysKnown }) => isAlwaysKnown !== true && (source ?? isUnknown) !== undefined,
);
const POSITIONS = new Map<string, number>(UNKNOWABLE.map(({ name }, position) => [name, position]));
if (POSITIONS.size > 31) throw new RangeError(`${POSITIONS.size} criteria do not fit an integer`);

/** 0 for a criterion that is always known, on which `orMissing` has no effect. */
export function bitOfCriterion(name: CriterionName): CriterionSet {
  const position = POSITIONS.get(name);
  return position === undefined ? 0 : 1 << position;
}

export function criterionSetOf(names: readonly string[]): CriterionSet {
  return names.reduce((set, name) => set | bitOfCriterion(name as CriterionName), 0);
}

export const ALL_CRITERIA: CriterionSet = 2 ** POSITIONS.size - 1;

/** Whether the name has an effect in `orMissing`. */
export function mayBeUnknown(name: string): boolean {
  return POSITIONS.has(name);
}

/** The criteria of `accepted` that do not hold because their value is unknown. */
export function unknownAmong(
  accepted: CriterionSet,
  considered: Considered,
  requested: Pick<Criteria, 'includedFeatures' | 'pointsOfInterest'>,
): CriterionSet {
  let unknown = 0;
  for (let rest = accepted; rest !== 0; rest &= rest - 1) {
    const bit = rest & -rest;
    const { source, isUnknown } = UNKNOWABLE[31 - Math.clz32(bit)] as (typeof UNKNOWABLE)[number];
    if (source === undefined ? isUnknown?.(considered, requested) : isUnstated(source, considered)) unknown |= bit;
  }
  return unknown;
}

/** True if the property, or every considered advert, leaves the value unknown. */
function isUnstated(source: Source<unknown>, { facts, adverts }: Considered): boolean {
  if (source.of === 'property') return source.read(facts) === null;
  return adverts.every((advert) => source.read(advert) === null);
}
