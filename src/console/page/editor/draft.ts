/** An edited search: fields as the text of their controls, and the body for the interface. */

import { cityLabel, type LocationDocument, type Ring, type SearchDocument } from '../documents.ts';
import {
  CRITERION_MEMBERS,
  FEATURE_LABELS,
  FLAG_CRITERIA,
  LETTER_MEMBERS,
  type RANGE_CRITERIA,
  RANGE_MEMBERS,
  REQUIREMENTS,
} from '../generated/documents.ts';

export interface ChosenPlace {
  /** As the interface expects it: an IRI or a zip code. */
  readonly value: string;
  readonly label: string;
  /** INSEE's code of a commune or a department; a zip code. */
  readonly code: string;
}

export interface Word {
  readonly word: string;
  readonly includes: boolean;
  readonly strict: boolean;
}

export type RangeCriterion = (typeof RANGE_CRITERIA)[number];
export type RangeMember = (typeof RANGE_MEMBERS)[number];
export type FeatureName = keyof typeof FEATURE_LABELS.fr;
export const FEATURE_NAMES = Object.keys(FEATURE_LABELS.fr) as readonly FeatureName[];
export type LetterMember = (typeof LETTER_MEMBERS)[number];
export type FlagMember = (typeof FLAG_CRITERIA)[number];
export type RequirementMember = (typeof REQUIREMENTS)[number];

function each<Name extends string, Value>(names: readonly Name[], valueOf: (name: Name) => Value): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<Name, Value>;
}

/** Criteria that a new search accepts unknown values of: few adverts state all of them. */
export const HOME_CRITERIA = [
  'landSurface',
  ...FLAG_CRITERIA,
  'floor',
  'lastFloor',
  'energy',
  'greenHouseGas',
  'includedFeatures',
  'constructionYear',
  'condominiumFees',
  'rentalCharges',
] as const satisfies SearchDocument['orMissing'];
export type HomeCriterion = (typeof HOME_CRITERIA)[number];

/** How a member is edited: its value in a new search, from an answer, and for a body. */
interface Editing<Value> {
  readonly unset: Value;
  readonly read: (answered: unknown) => Value;
  readonly write: (value: Value) => unknown;
}

function textOrNull(text: string): string | null {
  return text.trim() === '' ? null : text.trim();
}

/** Invalid numbers are sent unchanged: the violation of the service is shown at the field. */
function numberOrNull(text: string): number | string | null {
  const written = numeral(text);
  return written === '' ? null : Number.isNaN(Number(written)) ? written : Number(written);
}

function asIs<Value>(unset: Value): Editing<Value> {
  return { unset, read: (answered) => answered as Value, write: (value) => value };
}

/** One is sent by itself. */
function several<Value>(itemOf: (answered: unknown) => Value): Editing<readonly Value[]> {
  return {
    unset: [],
    read: (answered) => codesOf(answered).map(itemOf),
    write: (list) => (list.length === 0 ? null : list.length === 1 ? list[0] : list),
  };
}

function places(placeOf: (item: never) => ChosenPlace): Editing<readonly ChosenPlace[]> {
  return {
    unset: [],
    read: (answered) => (answered as readonly never[]).map(placeOf),
    write: (list) => list.map(({ value }) => value),
  };
}

const TEXT: Editing<string> = {
  unset: '',
  read: (answered) => `${(answered ?? '') as string | number | boolean}`,
  write: textOrNull,
};
const NUMBER: Editing<string> = { ...TEXT, write: numberOrNull };
const DECIMAL: Editing<string> = { ...TEXT, write: (text) => textOrNull(numeral(text)) };
const FLAG: Editing<string> = { ...TEXT, write: (text) => (text === '' ? null : text === 'true') };
const REQUIREMENT: Editing<boolean> = {
  unset: false,
  read: (value) => value === true,
  write: (value) => value || null,
};
const CITIES = places((city: SearchDocument['includedCities'][number]) => {
  return { value: city['@id'], label: cityLabel(city), code: city.insee };
});
const CATEGORIES: Editing<readonly string[]> = {
  ...asIs<readonly string[]>([]),
  read: (answered) => (answered as SearchDocument['includedSiteCategories']).map((category) => category['@id']),
};

const EDITED = {
  ...each(RANGE_MEMBERS, () => NUMBER),
  ...each(FLAG_CRITERIA, () => FLAG),
  ...each(REQUIREMENTS, (name) => ({ ...REQUIREMENT, unset: name === 'withCoherentPrice' })),
  ...each(LETTER_MEMBERS, () => several(String)),
  title: { ...TEXT, write: (title: string) => title },
  transactionType: { ...TEXT, unset: '0' },
  propertyTypes: several(Number),
  publisherTypes: several(Number),
  includedFeatures: asIs<readonly FeatureName[]>([]),
  excludedFeatures: asIs<readonly FeatureName[]>([]),
  orMissing: asIs<SearchDocument['orMissing']>(HOME_CRITERIA),
  hidePropertyContact: asIs<boolean>(false),
  lat: DECIMAL,
  lon: DECIMAL,
  radius: DECIMAL,
  includedCities: CITIES,
  excludedCities: CITIES,
  includedDepartments: places((department: SearchDocument['includedDepartments'][number]) => {
    const { '@id': value, name, departmentCode: code } = department;
    return { value, label: `${name} (${code})`, code };
  }),
  includedZipcodes: places((code: string) => ({ value: code, label: code, code })),
  includedInseeCodes: {
    ...TEXT,
    read: (answered: unknown) => (answered as readonly string[]).join(', '),
    write: (includedInseeCodes: string): unknown => inseeCodesOf({ includedInseeCodes }),
  },
  includedSiteCategories: CATEGORIES,
  excludedSiteCategories: CATEGORIES,
  shapes: {
    ...asIs<readonly (readonly Ring[])[]>([]),
    write: (shapes: readonly (readonly Ring[])[]): unknown =>
      shapes.length === 0 ? [] : { type: 'MultiPolygon', coordinates: shapes },
  },
  /** Groups are alternatives; the words of one must all hold. */
  groups: { unset: [], read: groupsOf, write: expressionsOf } as Editing<readonly (readonly Word[])[]>,
  notificationEnabled: asIs<boolean>(true),
  notificationRecipient: TEXT,
  notificationConsent: asIs<SearchDocument['notificationConsent']>(null),
  notificationReplyTo: TEXT,
  notificationFrequency: { ...TEXT, unset: 'instant' },
  endpointRecipient: TEXT,
  eventEndpoint: TEXT,
  subscribedEvents: asIs<readonly string[]>([]),
  eventThresholds: asIs<SearchDocument['eventThresholds']>(null),
  /** JSON. */
  context: {
    ...TEXT,
    read: (answered: unknown) => (answered === null || answered === undefined ? '' : JSON.stringify(answered)),
    write: contextOf,
  },
};

export type Draft = {
  readonly [Member in keyof typeof EDITED]: (typeof EDITED)[Member]['unset'];
};

/** Members of a search that are not edited here; a member that is in neither list does not compile. */
type Shown =
  | ('@context' | '@id' | '@type' | 'token' | 'user' | 'createdAt' | 'updatedAt' | 'lastAlertAt' | 'emailStatus')
  | ('geoShapes' | 'expressions');
type Forgotten = Exclude<keyof SearchDocument, keyof Draft | Shown>;
true satisfies [Forgotten] extends [never] ? true : Forgotten;

export type ChangeDraft = (change: Partial<Draft>) => void;

const MEMBERS = Object.keys(EDITED) as (keyof Draft)[];
/** The members of a search whose fields have other names. */
const MEMBER_OF: Partial<Record<keyof Draft, 'geoShapes' | 'expressions'>> = {
  shapes: 'geoShapes',
  groups: 'expressions',
};

export const NEW_DRAFT = each(MEMBERS, (name) => EDITED[name].unset) as Draft;

/** The thresholds with a percentage of the price, none where that is not a number; compared with the last notified one. */
export function withPricePercent(
  thresholds: SearchDocument['eventThresholds'],
  percent: number,
): SearchDocument['eventThresholds'] {
  const { price: { percent: _former, ...price } = { since: 'told' as const }, ...others } = thresholds ?? {};
  if (!Number.isNaN(percent)) return { ...others, price: { ...price, percent } };
  const isLeft = price.amount !== undefined || price.direction !== undefined;
  return isLeft ? { ...others, price } : others.surface === undefined ? null : others;
}

/** Whether these members are as in a new search. */
export function isUnset(draft: Draft, members: readonly (keyof Draft)[]): boolean {
  return members.every((member) => JSON.stringify(draft[member]) === JSON.stringify(NEW_DRAFT[member]));
}

const FIELD_OF: Readonly<Record<string, keyof Draft>> = { geoShapes: 'shapes', expressions: 'groups' };

/** Whether the search sets the criterion. A bound of 0 is none, except of floors. */
export function isAsked(draft: Draft, criterion: Draft['orMissing'][number]): boolean {
  return CRITERION_MEMBERS[criterion].some((member) => {
    const value = draft[FIELD_OF[member] ?? (member as keyof Draft)];
    if (typeof value !== 'string') return Array.isArray(value) ? value.length > 0 : value === true;
    return value.trim() !== '' && (criterion === 'floor' || Number(numeral(value)) !== 0);
  });
}

/** The members that differ. */
export function differingMembers(some: Draft, others: Draft): readonly (keyof Draft)[] {
  return (Object.keys(NEW_DRAFT) as (keyof Draft)[]).filter(
    (member) => JSON.stringify(some[member]) !== JSON.stringify(others[member]),
  );
}

/** A code is answered by itself where it was sent so. */
export function codesOf(answered: unknown): readonly number[] {
  return Array.isArray(answered) ? answered : [answered as number].filter((code) => code !== null);
}

export function draftOf(search: SearchDocument): Draft {
  return each(MEMBERS, (name) => EDITED[name].read(search[(MEMBER_OF[name] ?? name) as keyof SearchDocument])) as Draft;
}

/** Reads the bracketed query string of an answer (decisions, section 2). */
function groupsOf(answered: unknown): readonly (readonly Word[])[] {
  const expressions = (answered ?? '') as string;
  const groups: { word: string; includes: boolean; strict: boolean }[][] = [];
  for (const [path, value] of new URLSearchParams(expressions.replaceAll('+', '%2B'))) {
    const [, group, index, member] = /^expressions\[(\d+)\]\[(\d+)\](?:\[options\])?\[(\w+)\]$/.exec(path) ?? [];
    if (group === undefined || index === undefined) continue;
    groups[Number(group)] ??= [];
    const words = groups[Number(group)] as (typeof groups)[number];
    words[Number(index)] ??= { word: '', includes: true, strict: false };
    const entry = words[Number(index)] as (typeof words)[number];
    if (member === 'word') entry.word = value;
    else if (member === 'includes' || member === 'strict') entry[member] = value === 'true';
  }
  return groups;
}

export type Body = Readonly<Record<string, unknown>>;

/** The context is no JSON. */
export class ContextError extends Error {}

/** Words that were left empty are none. */
function expressionsOf(groups: readonly (readonly Word[])[]) {
  return groups
    .map((group) => group.filter(({ word }) => word.trim() !== ''))
    .filter((group) => group.length > 0)
    .map((group) => group.map(({ word, includes, strict }) => ({ word, options: { includes, strict } })));
}

/** Empty fields are null. */
export function bodyOf(draft: Draft): Body {
  const written = MEMBERS.map((name) => {
    const { write } = EDITED[name] as Editing<unknown>;
    return [MEMBER_OF[name] ?? name, write(draft[name])] as const;
  });
  return { ...Object.fromEntries(written), orMissing: draft.orMissing.filter((name) => isAsked(draft, name)) };
}

export function inseeCodesOf({ includedInseeCodes }: { readonly includedInseeCodes: string }): readonly string[] {
  return includedInseeCodes.split(/[\s,;]+/).filter(Boolean);
}

/** Converts `250 000` and `2,5`, as people in France type numbers. */
export function numeral(text: string): string {
  const trimmed = text.trim();
  if (/^\d{1,3}(?:\s\d{3})+$/.test(trimmed)) return trimmed.replaceAll(/\s/g, '');
  return /^-?\d+,\d+$/.test(trimmed) ? trimmed.replace(',', '.') : trimmed;
}

function contextOf(text: string): unknown {
  if (text.trim() === '') return null;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new ContextError('no JSON', { cause: error });
  }
}

/** The members that differ: the changes of others stay. */
export function changesOf(before: Body, after: Body): Body {
  return Object.fromEntries(
    Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
  );
}

/** The members that a preview depends on. */
export function criteriaOf(body: Body): Body {
  const { title: _title, context: _context, ...others } = body;
  const isCriterion = ([name]: [string, unknown]): boolean =>
    !/^(?:notification|endpoint|event|subscribed|hide)/.test(name);
  return Object.fromEntries(Object.entries(others).filter(isCriterion));
}

/** The body of a preview by the words alone; null without a word. */
export function wordCriteriaOf({ expressions }: Body): Body | null {
  return Array.isArray(expressions) && expressions.length > 0 ? { expressions, withCoherentPrice: null } : null;
}

/** The member of a draft that stores a completed place. */
export const PLACE_MEMBERS: Readonly<
  Record<LocationDocument['type'], 'includedCities' | 'includedDepartments' | 'includedZipcodes'>
> = {
  city: 'includedCities',
  department: 'includedDepartments',
  zipcode: 'includedZipcodes',
};
