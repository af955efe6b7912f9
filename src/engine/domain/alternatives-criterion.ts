/**
 * Alternatives of a search (decisions, section 16): objects of criteria. The search's own criteria must hold and, if
 * there are any alternatives, those of at least one. `criteria.ts` evaluates alternatives last.
 */

import { type Evaluated, member } from './criterion-kinds.ts';
import type { Language } from './criterion-words.ts';

export const ALTERNATIVES_MAX = 10;
export const PLACES_OF_ALTERNATIVE_MAX = 100;

/** For each alternative, the names of the criteria that it sets (`expected`), and of those that fail (`actual`). */
type AlternativesEvaluated = Evaluated<readonly (readonly string[])[], readonly (readonly string[])[]>;

export const ALTERNATIVES = {
  kind: 'alternatives',
  name: 'alternatives',
  key: 'alternatives',
  unset: { alternatives: [] } as unknown,
  members: {
    alternatives: member(
      'alternatives',
      [],
      `Objects of criteria, at most ${ALTERNATIVES_MAX}, of which at least one must hold. Each sets criteria that ` +
        `the search does not set, and names at most ${PLACES_OF_ALTERNATIVE_MAX} places.`,
      'Objects of criteria, of which at least one must hold.',
    ),
  },
  isSet: ({ alternatives }: { readonly alternatives: readonly unknown[] }) => alternatives.length > 0,
  reason: (evaluated: AlternativesEvaluated, language: Language): string => {
    const number = firstMet(evaluated);
    const count = evaluated.actual.length;
    const fails = {
      fr: count === 1 ? "L'alternative ne convient pas." : `Aucune des ${count} alternatives ne convient.`,
      en: count === 1 ? 'The alternative does not hold.' : `None of the ${count} alternatives holds.`,
    };
    const holds = { fr: `L'alternative ${number} convient.`, en: `Alternative ${number} holds.` };
    return (number === 0 ? fails : holds)[language];
  },
} as const;

/** Number of the first alternative that holds, counted from 1; 0 if none does. */
export function firstMet({ actual }: Pick<AlternativesEvaluated, 'actual'>): number {
  return actual.findIndex((failing) => failing.length === 0) + 1;
}
