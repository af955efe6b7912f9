/**
 * Functions that make rows of `criterion-table.ts`, one for each kind of criterion that compares a single fact. A row
 * defines which members of a search set the criterion, which fact it compares, and how it is explained. Criteria of
 * other kinds, such as areas and expressions, have their own modules.
 */

import { type InLanguages, type Language, rangeReason, type Unit } from './criterion-words.ts';
import type { FeatureName } from './features.ts';
import type { Polygon } from './geo.ts';
import type { PointTerm } from './point-distances.ts';
import type { AdvertFacts, PropertyFacts } from './property-facts.ts';

/** The stored type of a member, by the name of its form. The REST API has a rule for each form. */
export interface Forms {
  readonly bound: number | null;
  readonly floor: number | null;
  /** A number of per cent. */
  readonly percent: number | null;
  readonly flag: boolean | null;
  readonly code: number | null;
  /** One code or several, as sent. */
  readonly codes: number | readonly number[] | null;
  /** One letter or several, as sent. */
  readonly letters: string | readonly string[] | null;
  /** Decimal degrees and kilometres, stored as text so that no digit is lost. */
  readonly latitude: string | null;
  readonly longitude: string | null;
  readonly radius: string | null;
  /** INSEE codes, department codes and ids. The REST API converts them to IRIs and embedded resources. */
  readonly cities: readonly string[];
  readonly departments: readonly string[];
  readonly siteCategories: readonly number[];
  readonly zipcodes: readonly string[];
  readonly inseeCodes: readonly string[];
  readonly polygons: readonly Polygon[];
  readonly features: readonly FeatureName[];
  /** Names as sent. */
  readonly publishers: readonly string[];
  readonly points: readonly PointTerm[];
  /** Names of criteria. */
  readonly criteria: readonly string[];
  /** The bracketed query string. */
  readonly expressions: string | null;
  /** Each has the stored form of the members that it sets. */
  readonly alternatives: readonly StoredAlternative[];
}
export type StoredAlternative = Readonly<Record<string, unknown>>;
export type Form = keyof Forms;

/** A member of a search, with its descriptions in requests and in responses. */
export type Member<F extends Form = Form> = {
  readonly form: F;
  readonly unset: Forms[F];
  readonly requested: string;
  readonly answered: string;
} & (F extends 'code' | 'codes' | 'letters' ? { readonly names: readonly string[] } : unknown);

/** The given members in their stored form. */
export type Stored<Members extends Readonly<Record<string, { readonly form: Form }>>> = {
  readonly [Name in keyof Members]: Forms[Members[Name]['form']];
};

export function member<F extends Exclude<Form, 'code' | 'codes' | 'letters'>>(
  form: F,
  unset: Forms[F],
  requested: string,
  answered = requested,
): Member<F> {
  return { form, unset, requested, answered } as Member<F>;
}

/** Inclusive limits; null is no limit. In most ranges a limit of 0 has become null (`rangeOf`, `signedRangeOf`). */
export interface Range {
  readonly min: number | null;
  readonly max: number | null;
}

export const UNBOUNDED: Range = { min: null, max: null };

/** Limits are inclusive. An unknown value is outside any range that has a limit. */
export function isInRange(range: Range, value: number | null): boolean {
  if (value === null) return range.min === null && range.max === null;
  return (range.min === null || value >= range.min) && (range.max === null || value <= range.max);
}

/** The property and the adverts against which a criterion is evaluated. */
export interface Considered {
  readonly facts: PropertyFacts;
  /** Live adverts, except those of excluded site categories and publishers. */
  readonly adverts: readonly AdvertFacts[];
}

/** Whether a criterion holds, and the values that were compared, unformatted. */
export interface Evaluated<Expected = unknown, Actual = unknown> {
  readonly holds: boolean;
  readonly expected: Expected;
  readonly actual: Actual;
}

/** The fact that a criterion compares. If it is a fact of adverts, at least one advert must satisfy the criterion. */
export type Source<Value, Fact extends string = string> =
  | { readonly of: 'property'; readonly fact: Fact; readonly read: (facts: PropertyFacts) => Value }
  | { readonly of: 'adverts'; readonly fact: Fact; readonly read: (advert: AdvertFacts) => Value };

export function ofProperty<Fact extends keyof PropertyFacts>(fact: Fact) {
  return { of: 'property' as const, fact, read: (facts: PropertyFacts) => facts[fact] };
}

export function ofAdverts<Fact extends keyof AdvertFacts>(fact: Fact) {
  return { of: 'adverts' as const, fact, read: (advert: AdvertFacts) => advert[fact] };
}

function isMet<Value>(source: Source<Value>, { facts, adverts }: Considered, test: (value: Value) => boolean): boolean {
  return source.of === 'property' ? test(source.read(facts)) : adverts.some((advert) => test(source.read(advert)));
}

/** The members that the rows of all kinds in this file share. Ranges replace `actual`. */
function comparing<Name extends string, const S extends Source<unknown>>(name: Name, source: S) {
  const actual = ({ facts, adverts }: Considered): unknown =>
    source.of === 'property' ? source.read(facts) : adverts.map(source.read);
  return { name, key: name, source, actual };
}

/** The sentences that people read: one if the criterion holds, one if it fails. */
type Verdict = readonly [holds: string, fails: string];
export type Verdicts = InLanguages<Verdict>;

export function verdictReason(words: Verdicts) {
  return ({ holds }: Evaluated, language: Language): string => words[language][holds ? 0 : 1];
}

export function keyed<Name extends string, Value>(name: Name, value: Value) {
  return { [name]: value } as Readonly<Record<Name, Value>>;
}

interface RangeWords {
  readonly what: InLanguages<string>;
  readonly unit: Unit;
  readonly max: string;
  readonly answered: string;
}

type MemberForm = 'bound' | 'floor' | 'percent';

/** Requires a value within the limits `…Min` and `…Max`. In the forms `floor` and `percent`, 0 is a limit. */
export function range<Name extends string, const S extends Source<number | null>, F extends MemberForm>(
  name: Name,
  source: S,
  form: F,
  words: RangeWords & { readonly min: string },
) {
  const minName = `${name}Min` as const;
  const maxName = `${name}Max` as const;
  return {
    ...within(name, source, words),
    minName,
    maxName,
    members: {
      ...keyed(minName, member<F>(form, null, words.min, words.answered)),
      ...keyed(maxName, member<F>(form, null, words.max, words.answered)),
    },
  };
}

/** Requires a value up to the limit of the member `…Max`. */
export function maximum<Name extends string, const S extends Source<number | null>>(
  name: Name,
  source: S,
  words: RangeWords,
) {
  const maxName = `${name}Max` as const;
  return {
    ...within(name, source, words),
    minName: null,
    maxName,
    members: keyed(maxName, member('bound', null, words.max, words.answered)),
  };
}

function within<Name extends string, const S extends Source<number | null>>(
  name: Name,
  source: S,
  words: Pick<RangeWords, 'what' | 'unit'>,
) {
  type Requested = Readonly<Record<Name, Range>>;
  return {
    kind: 'range' as const,
    ...comparing(name, source),
    words,
    unset: keyed(name, UNBOUNDED),
    isSet: (criteria: Requested) => criteria[name].min !== null || criteria[name].max !== null,
    holds: (criteria: Requested, considered: Considered) =>
      isMet(source, considered, (value) => isInRange(criteria[name], value)),
    expected: (criteria: Requested) => criteria[name],
    actual: ({ facts, adverts }: Considered): readonly (number | null)[] =>
      source.of === 'property' ? [source.read(facts)] : adverts.map(source.read),
    reason: ({ holds, expected, actual }: RangeEvaluated, language: Language) =>
      rangeReason(words, holds, expected, actual, language),
    shown: ({ expected, actual }: RangeEvaluated) => ({
      expected,
      actual: source.of === 'property' ? (actual[0] ?? null) : actual,
    }),
  };
}

type RangeEvaluated = Evaluated<Range, readonly (number | null)[]>;

/** Treats 0 as no limit, because clients send 0 for an empty field (decisions, section 2). */
export function rangeOf(min: number | null, max: number | null): Range {
  if ((min === null || min === 0) && (max === null || max === 0)) return UNBOUNDED;
  return { min: min === 0 ? null : min, max: max === 0 ? null : max };
}

/** Like `rangeOf`, but treats 0 as a limit, which suits floors and percentages. */
export function signedRangeOf(min: number | null, max: number | null): Range {
  return min === null && max === null ? UNBOUNDED : { min, max };
}

interface CodeWords {
  /** Names of the codes 0, 1, 2 and so on; for letters, the letters themselves. */
  readonly names: readonly string[];
  readonly words: Verdicts;
  readonly unknown: InLanguages<string>;
}

function codeReason({ words, unknown }: Omit<CodeWords, 'names'>) {
  return ({ holds, actual }: Evaluated, language: Language): string => {
    const isUnknown = [actual].flat().every((value) => value === null);
    return isUnknown ? unknown[language] : words[language][holds ? 0 : 1];
  };
}

/** Requires one given code. */
export function code<Name extends string, const S extends Source<number | null>>(
  name: Name,
  source: S,
  { names, ...words }: CodeWords,
) {
  type Requested = Readonly<Record<Name, number | null>>;
  return {
    kind: 'code' as const,
    ...comparing(name, source),
    names,
    unset: keyed<Name, number | null>(name, null),
    members: keyed(name, { form: 'code', unset: null, ...legendOf(names), names } satisfies Member<'code'>),
    isSet: (criteria: Requested) => criteria[name] !== null,
    holds: (criteria: Requested, considered: Considered) =>
      isMet(source, considered, (value) => value === criteria[name]),
    expected: (criteria: Requested) => criteria[name],
    reason: codeReason(words),
  };
}

/** Accepts any of several codes; an empty list accepts all. */
export function codes<Name extends string, const S extends Source<number | null>>(
  name: Name,
  source: S,
  { names, ...words }: CodeWords,
) {
  type Requested = Readonly<Record<Name, readonly number[]>>;
  return {
    kind: 'codes' as const,
    ...comparing(name, source),
    names,
    unset: keyed<Name, readonly number[]>(name, []),
    members: keyed(name, { form: 'codes', unset: null, ...legendOf(names), names } satisfies Member<'codes'>),
    isSet: (criteria: Requested) => criteria[name].length > 0,
    holds: (criteria: Requested, considered: Considered) =>
      isMet(source, considered, (value) => value !== null && criteria[name].includes(value)),
    expected: (criteria: Requested) => criteria[name],
    reason: codeReason(words),
  };
}

function legendOf(names: readonly string[]): { readonly requested: string; readonly answered: string } {
  const legend = `${names.map((name, position) => `${position} ${name}`).join(', ')}.`;
  return { requested: legend, answered: legend };
}

/** Accepts any of several letters, given in the member `memberName`; an empty list accepts all. */
export function letters<Name extends string, MemberName extends string, const S extends Source<string | null>>(
  name: Name,
  memberName: MemberName,
  source: S,
  { names, requested, answered, ...words }: CodeWords & { readonly requested: string; readonly answered: string },
) {
  type Requested = Readonly<Record<Name, readonly string[]>>;
  return {
    kind: 'letters' as const,
    ...comparing(name, source),
    names,
    memberName,
    unset: keyed<Name, readonly string[]>(name, []),
    members: keyed(memberName, {
      form: 'letters',
      unset: null,
      requested,
      answered,
      names,
    } satisfies Member<'letters'>),
    isSet: (criteria: Requested) => criteria[name].length > 0,
    holds: (criteria: Requested, considered: Considered) =>
      isMet(source, considered, (value) => value !== null && criteria[name].includes(value)),
    expected: (criteria: Requested) => criteria[name],
    reason: codeReason(words),
  };
}

const NONE: readonly never[] = [];

export function listOf<Value extends number | string>(sent: Value | readonly Value[] | null): readonly Value[] {
  if (sent === null) return NONE;
  return typeof sent === 'object' ? sent : [sent];
}

interface FlagWords<Words> {
  readonly requested: string;
  readonly answered: string;
  readonly words: InLanguages<Words>;
}

/** Parts of a sentence: one for each state of the property, and a suffix for a state that was requested. */
interface FlagStates {
  readonly yes: string;
  readonly no: string;
  readonly unknown: string;
  readonly asRequested: string;
  /** The texts that lists of a search's criteria show for false and for true. */
  readonly requested: readonly [no: string, yes: string];
}

/** Requires true or false; null requires nothing. */
export function flag<Name extends string, const S extends Source<boolean | null>>(
  name: Name,
  source: S,
  { requested, answered, words }: FlagWords<FlagStates>,
) {
  type Requested = Readonly<Record<Name, boolean | null>>;
  return {
    kind: 'flag' as const,
    ...comparing(name, source),
    words,
    unset: keyed<Name, boolean | null>(name, null),
    members: keyed(name, member('flag', null, requested, answered)),
    isSet: (criteria: Requested) => criteria[name] !== null,
    holds: (criteria: Requested, considered: Considered) =>
      isMet(source, considered, (value) => value === criteria[name]),
    expected: (criteria: Requested) => criteria[name],
    reason: ({ holds, expected, actual }: Evaluated, language: Language) => {
      const { yes, no, unknown, asRequested } = words[language];
      if (holds) return `${expected === true ? yes : no}${asRequested}.`;
      const known = [actual].flat().filter((value) => value !== null);
      return `${known.length === 0 ? unknown : expected === true ? no : yes}.`;
    },
  };
}

interface RequirementWords extends FlagWords<Verdict> {
  readonly unset?: boolean | null;
  /** Set if the value may be unknown. */
  readonly unknown?: InLanguages<string>;
}

/** True requires that the fact be true; false and null require nothing. */
export function requirement<Name extends string, const S extends Source<boolean | null>>(
  name: Name,
  source: S,
  { requested, answered, words, unknown, unset = null }: RequirementWords,
) {
  type Requested = Readonly<Record<Name, boolean>>;
  const verdict = verdictReason(words);
  return {
    kind: 'requirement' as const,
    ...comparing(name, source),
    isAlwaysKnown: unknown === undefined,
    unset: keyed<Name, boolean>(name, false),
    members: keyed(name, member('flag', unset, requested, answered)),
    isSet: (criteria: Requested) => criteria[name],
    holds: (_: Requested, considered: Considered) => isMet(source, considered, (value) => value === true),
    expected: () => true,
    reason: (evaluated: Evaluated, language: Language) =>
      unknown !== undefined && evaluated.actual === null ? unknown[language] : verdict(evaluated, language),
  };
}
