/** `orMissing` changes how other criteria are evaluated; see `unknown-criteria.ts`. */

import { keyed, member } from './criterion-kinds.ts';

/** One bit per criterion whose value may be unknown; see `unknown-criteria.ts`. */
export type CriterionSet = number;

export const OR_MISSING = {
  kind: 'orMissing',
  name: 'orMissing',
  key: null,
  unset: keyed<'orMissing', CriterionSet>('orMissing', 0),
  members: {
    orMissing: member(
      'criteria',
      [],
      'Criteria that an unknown value satisfies too, named as in explanations (budget, areas, energy …).',
      'Criteria that an unknown value satisfies too.',
    ),
  },
} as const;
