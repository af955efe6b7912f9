/**
 * Tests a property against the criteria of a search (decisions, section 3). The index (matching/) has the same results.
 * `evaluate` reports every criterion that is set; `satisfies` is true if all of them hold.
 */

import { ALTERNATIVE_CRITERIA } from './alternatives.ts';
import { ALTERNATIVES } from './alternatives-criterion.ts';
import type { Considered, Evaluated } from './criterion-kinds.ts';
import {
  ASKED_CRITERIA,
  CRITERIA,
  type Criteria,
  type Criterion,
  type CriterionName,
  type CriterionSet,
  type RemovableCriterion,
} from './criterion-table.ts';
import type { InLanguages, Language } from './criterion-words.ts';
import type { PropertyFacts } from './property-facts.ts';
import { consideredAdverts } from './site-category-criteria.ts';
import { bitOfCriterion, unknownAmong } from './unknown-criteria.ts';

export type { Criteria };

/** The result for one criterion: whether it holds, and the values that were compared. */
export interface Evaluation extends Evaluated {
  readonly criterion: CriterionName;
  /** True if the criterion holds only because the search accepts an unknown value. */
  readonly isUnknown: boolean;
}

export function satisfies(criteria: Criteria, facts: PropertyFacts): boolean {
  return failuresOf(criteria, facts, 1).length === 0;
}

/** The first criteria that fail, in the order of evaluation, at most `max`. */
export function failuresOf(criteria: Criteria, facts: PropertyFacts, max: number): readonly CriterionName[] {
  const considered = { facts, adverts: consideredAdverts(criteria, facts) };
  const failures = failuresAmong(CRITERIA, criteria, considered, max);
  if (failures.length < max && !hasMet(criteria, considered)) failures.push('alternatives');
  return failures;
}

function failuresAmong(
  rows: readonly Criterion[],
  criteria: Criteria,
  considered: Considered,
  max: number,
): CriterionName[] {
  const failures: CriterionName[] = [];
  for (const criterion of rows) {
    if (!criterion.isSet(criteria) || isMet(criterion, criteria, considered)) continue;
    failures.push(criterion.name);
    if (failures.length === max) break;
  }
  return failures;
}

const OF_ALTERNATIVES = CRITERIA.filter(({ name }) => ALTERNATIVE_CRITERIA.some((row) => row.name === name));

/** Whether at least one alternative holds, or there are none. */
function hasMet({ alternatives }: Criteria, considered: Considered): boolean {
  if (alternatives.length === 0) return true;
  return alternatives.some((one) => failuresAmong(OF_ALTERNATIVES, one, considered, 1).length === 0);
}

export function evaluate(criteria: Criteria, facts: PropertyFacts): readonly Evaluation[] {
  const considered = { facts, adverts: consideredAdverts(criteria, facts) };
  const evaluations = CRITERIA.filter((criterion) => criterion.isSet(criteria)).map((criterion): Evaluation => {
    const isFit = criterion.holds(criteria, considered);
    const holds = isFit || isMet(criterion, criteria, considered);
    return {
      criterion: criterion.name,
      holds,
      isUnknown: holds && !isFit,
      expected: criterion.expected(criteria),
      actual: criterion.actual(considered),
    };
  });
  const { alternatives } = criteria;
  if (alternatives.length === 0) return evaluations;
  const expected = alternatives.map((one) => OF_ALTERNATIVES.filter((row) => row.isSet(one)).map(({ name }) => name));
  const actual = alternatives.map((one) => failuresAmong(OF_ALTERNATIVES, one, considered, OF_ALTERNATIVES.length));
  const holds = actual.some((failing) => failing.length === 0);
  return [...evaluations, { criterion: 'alternatives', holds, isUnknown: false, expected, actual }];
}

function isMet(criterion: Criterion, criteria: Criteria, considered: Considered): boolean {
  if (criterion.holds(criteria, considered)) return true;
  const accepted = criteria.orMissing === 0 ? 0 : criteria.orMissing & bitOfCriterion(criterion.name);
  return accepted !== 0 && unknownAmong(accepted, considered, criteria) !== 0;
}

/**
 * Combines the search's own criteria with each alternative. A property satisfies the search if it satisfies at least
 * one result. The search and an alternative never set the same criterion, so their `orMissing` can be merged.
 */
export function branchesOf(criteria: Criteria): readonly Criteria[] {
  if (criteria.alternatives.length === 0) return [criteria];
  return criteria.alternatives.map((alternative) => {
    const branch: Record<string, unknown> = { ...criteria, alternatives: [] };
    for (const { unset, isSet } of ALTERNATIVE_CRITERIA) {
      if (!isSet(alternative)) continue;
      for (const key of Object.keys(unset as object)) branch[key] = alternative[key as keyof Criteria];
    }
    branch.orMissing = acceptedBy(criteria) | acceptedBy(alternative);
    return branch as unknown as Criteria;
  });
}

/** `orMissing` without the criteria that are not set. */
function acceptedBy(criteria: Criteria): CriterionSet {
  const set = CRITERIA.filter((row) => row.isSet(criteria)).reduce((bits, { name }) => bits | bitOfCriterion(name), 0);
  return criteria.orMissing & set;
}

/** Replaces criteria of the search and of its alternatives with the values in `unset`, which disable them. */
export function without(criteria: Criteria, unset: Partial<Criteria>): Criteria {
  return { ...criteria, ...unset, alternatives: criteria.alternatives.map((one) => ({ ...one, ...unset })) };
}

/** The expressions of the search and of its alternatives. */
export function allExpressions({ expressions, alternatives }: Criteria): Criteria['expressions'] {
  return alternatives.length === 0 ? expressions : [...expressions, ...alternatives.flatMap((one) => one.expressions)];
}

type Shown = Pick<Criterion, 'reason' | 'shown' | 'endValue'>;
const ROWS = new Map<CriterionName, Shown>(
  [...CRITERIA, ALTERNATIVES as { name: 'alternatives' } & Shown].map((row) => [row.name, row]),
);

/** Explains to people why the criterion holds or fails, from the evaluated values. */
export function criterionReason(evaluation: Evaluation, language: Language): string {
  return evaluation.isUnknown ? ACCEPTED_UNKNOWN[language] : rowOf(evaluation).reason(evaluation, language);
}

const ACCEPTED_UNKNOWN: InLanguages<string> = {
  fr: 'La valeur est inconnue, ce que la recherche accepte.',
  en: 'The value is unknown, which the search accepts.',
};

const LISTED_MAX = 50;

interface ShownValues {
  readonly expected: unknown;
  readonly actual: unknown;
}

/** The requested and the actual value for display. Cuts long lists, because a search may name thousands of cities. */
export function shortValues(evaluation: Evaluation): ShownValues {
  const { expected, actual } = shownValues(evaluation);
  return { expected: shortened(expected), actual: shortened(actual) };
}

/** The actual value for the event that ends a match. Does not cut lists. */
export function endValue(evaluation: Evaluation): unknown {
  const row = rowOf(evaluation);
  return row.endValue === undefined ? shownValues(evaluation).actual : row.endValue(evaluation);
}

function shownValues(evaluation: Evaluation): ShownValues {
  const { holds, isUnknown } = evaluation;
  return rowOf(evaluation).shown?.({ ...evaluation, holds: holds && !isUnknown }) ?? evaluation;
}

function shortened(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, LISTED_MAX);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one)]));
}

/** The criteria that a search sets, in the order of evaluation. The exclusion of adverts (`liveAdvert`) is last. */
export function removableCriteria(criteria: Criteria): readonly RemovableCriterion[] {
  return ASKED_CRITERIA.filter((row) => row.isSet(criteria)).map(({ name }) => name);
}

const UNSET = new Map(ASKED_CRITERIA.map(({ name, unset }) => [name, unset]));

/** The criteria without the named criterion. All included areas are one criterion, and so are all excluded areas. */
export function withoutCriterion(criteria: Criteria, name: RemovableCriterion): Criteria {
  return { ...criteria, ...(UNSET.get(name) as Partial<Criteria>) };
}

function rowOf({ criterion }: Evaluation): Shown {
  return ROWS.get(criterion) as Shown;
}
