/** The criteria and members that an alternative of a search may set (decisions, section 16). */

import type { StoredAlternative } from './criterion-kinds.ts';
import {
  ASKED_CRITERIA,
  type CriterionMemberName,
  type CriterionMembers,
  type RemovableCriterion,
  UNASKED,
} from './criterion-table.ts';

const SEARCH_ONLY: readonly RemovableCriterion[] = ['alternatives', 'excludedAreas', 'liveAdvert', 'withCoherentPrice'];

/** The criteria that an alternative may set. The others are allowed on the search only. */
export const ALTERNATIVE_CRITERIA = ASKED_CRITERIA.filter(({ name }) => !SEARCH_ONLY.includes(name));

export const ALTERNATIVE_MEMBERS = [
  ...ALTERNATIVE_CRITERIA.flatMap(({ members }) => Object.keys(members)),
  'orMissing',
] as readonly CriterionMemberName[];

/** The members of each alternative. Members that it does not set are null or empty. */
export function alternativesOf({ alternatives }: Pick<CriterionMembers, 'alternatives'>): readonly CriterionMembers[] {
  return alternatives.length === 0 ? NONE : alternatives.map(membersOf);
}

const NONE: readonly CriterionMembers[] = [];

/** Unlike a search, an alternative does not require a coherent price by default. */
function membersOf(alternative: StoredAlternative): CriterionMembers {
  return { ...UNASKED, withCoherentPrice: null, ...alternative };
}
