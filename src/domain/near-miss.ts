/** What a search would be without one of its criteria. Pure. */

import { ASKED_CRITERIA, type Criteria, type RemovableCriterion } from './criterion-table.ts';

/** Those that are set, in the order in which they are judged; excluded site categories last. */
export function removableCriteria(criteria: Criteria): readonly RemovableCriterion[] {
  return ASKED_CRITERIA.filter((row) => row.isSet(criteria)).map(({ name }) => name);
}

const UNSET = new Map(ASKED_CRITERIA.map(({ name, unset }) => [name, unset]));

/** The same search without one criterion; all geography is one. */
export function withoutCriterion(criteria: Criteria, name: RemovableCriterion): Criteria {
  return { ...criteria, ...UNSET.get(name) };
}
