/** An edited search: the values of its fields, and the body of its request. */

import { cityLabel, type LocationDocument, type Ring, type SearchDocument } from '../documents.ts';
import {
  CRITERION_MEMBERS,
  FEATURE_LABELS,
  FLAG_CRITERIA,
  LETTER_MEMBERS,
  RANGE_MEMBERS,
  type RANGE_UNITS,
  REQUIREMENTS,
} from '../generated/documents.ts';
import { type NearbyPoint, pointBody, pointOf } from './nearby-points.ts';

export interface ChosenPlace {
  /** As requests contain it: an IRI or a zip code. */
  readonly value: string;
  readonly label: string;
  /** The INSEE code of a commune or a department, or a zip code. */
  readonly code: string;
}

export interface Word {
  readonly word: string;
  readonly includes: boolean;
  readonly strict: boolean;
}

export type RangeCriterion = keyof typeof RANGE_UNITS;
export type RangeMember = (typeof RANGE_MEMBERS)[number];
export type FeatureName = keyof typeof FEATURE_LABELS;
export const FEATURE_NAMES = Object.keys(FEATURE_LABELS) as readonly FeatureName[];
export type LetterMember = (typeof LETTER_MEMBERS)[number];
export type FlagMember = (typeof FLAG_CRITERIA)[number];
export type RequirementMember = (typeof REQUIREMENTS)[number];

function each<Name extends string, Value>(names: readonly Name[], valueOf: (name: Name) => Value): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<Name, Value>;
}

/** Criteria for which a new search accepts unknown values, because few adverts state all of them. */
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

/** How a member is edited: its value in a new search, and its conversion from an answer and for a body. */
interface Editing<Value> {
  readonly unset: Value;
  readonly read: (answered: unknown) => Value;
  readonly write: (value: Value) => unknown;
}

function textOrNull(text: string): string | null {
  return text.trim() === '' ? null : text.trim();
}

/** Invalid numbers are sent unchanged, so that the service's violation is shown at the field. */
function numberOrNull(text: string): number | string | null {
  const written = numeral(text);
  return written === '' ? null : Number.isNaN(Number(written)) ? written : Number(written);
}

function asIs<Value>(unset: Value): Editing<Value> {
  return { unset, read: (answered) => answered as Value, write: (value) => value };
}

/** A single item is sent without a list. */
function several(itemOf: (text: string) => unknown): Editing<readonly string[]> {
  return {
    unset: [],
    read: (answered) => codesOf(answered).map(String),
    write: (list) => (list.length === 0 ? null : list.length === 1 ? itemOf(list[0] as string) : list.map(itemOf)),
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
const DEPARTMENTS = places((department: SearchDocument['includedDepartments'][number]) => {
  const { '@id': value, name, departmentCode: code } = department;
  return { value, label: `${name} (${code})`, code };
});
const ZIPCODES = places((code: string) => ({ value: code, label: code, code }));
const INSEE_CODES: Editing<string> = {
  ...TEXT,
  read: (answered) => (answered as readonly string[]).join(', '),
  write: inseeCodesOf,
};
const SHAPES: Editing<readonly (readonly Ring[])[]> = {
  ...asIs<readonly (readonly Ring[])[]>([]),
  write: (shapes) => (shapes.length === 0 ? [] : { type: 'MultiPolygon', coordinates: shapes }),
};
const CATEGORIES: Editing<readonly string[]> = {
  ...asIs<readonly string[]>([]),
  read: (answered) => (answered as SearchDocument['includedSiteCategories']).map((category) => category['@id']),
};

const POINTS: Editing<readonly NearbyPoint[]> = {
  unset: [],
  read: (answered) => (answered as readonly never[]).map(pointOf),
  write: (points) => (points.length === 0 ? undefined : points.map((point) => pointBody(point, numberOrNull))),
};
/** An alternative is edited with the fields of a search. An alternative without a criterion is not sent. */
const ALTERNATIVES: Editing<readonly AlternativeDraft[]> = {
  unset: [],
  read: (answered) =>
    (answered as readonly Answered[]).map((one) => draftOf(one, { ...NEW_ALTERNATIVE, orMissing: [] })),
  write: (alternatives) => alternatives.map(alternativeBody).filter((body) => Object.keys(body).length > 0),
};

const EDITED = {
  ...each(RANGE_MEMBERS, () => NUMBER),
  ...each(FLAG_CRITERIA, () => FLAG),
  ...each(REQUIREMENTS, (name) => ({ ...REQUIREMENT, unset: name === 'withCoherentPrice' })),
  ...each(LETTER_MEMBERS, () => several(String)),
  title: { ...TEXT, write: (title: string) => title },
  publicTitle: TEXT,
  transactionType: { ...TEXT, unset: '0' },
  propertyTypes: several(Number),
  publisherTypes: several(Number),
  includedFeatures: asIs<readonly FeatureName[]>([]),
  excludedFeatures: asIs<readonly FeatureName[]>([]),
  orMissing: asIs<SearchDocument['orMissing']>(HOME_CRITERIA),
  hidePropertyContact: asIs<boolean>(false),
  alternatives: ALTERNATIVES,
  pointsOfInterest: POINTS,
  lat: DECIMAL,
  lon: DECIMAL,
  radius: DECIMAL,
  includedCities: CITIES,
  excludedCities: CITIES,
  includedDepartments: DEPARTMENTS,
  excludedDepartments: DEPARTMENTS,
  includedZipcodes: ZIPCODES,
  excludedZipcodes: ZIPCODES,
  includedInseeCodes: INSEE_CODES,
  excludedInseeCodes: INSEE_CODES,
  includedSiteCategories: CATEGORIES,
  excludedSiteCategories: CATEGORIES,
  includedPublishers: asIs<readonly string[]>([]),
  excludedPublishers: asIs<readonly string[]>([]),
  shapes: SHAPES,
  excludedShapes: SHAPES,
  /** Groups are alternatives; all conditions of a group must be met. */
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
  /** The text of the JSON. */
  context: {
    ...TEXT,
    read: (answered: unknown) => (answered === null || answered === undefined ? '' : JSON.stringify(answered)),
    write: contextOf,
  },
};

export type Draft = {
  readonly [Member in keyof typeof EDITED]: (typeof EDITED)[Member]['unset'];
};

/** An interface, because a type alias would refer to itself: drafts contain alternatives. */
interface AlternativeDraft extends Draft {}

/** Members of a search that are not edited here. If a member is in neither list, the compiler reports it. */
type Shown =
  | ('@context' | '@id' | '@type' | 'token' | 'user' | 'createdAt' | 'updatedAt' | 'lastAlertAt')
  | ('emailStatus' | 'emailFrequencyChosen')
  | ('seenAt' | 'newSinceSeen' | 'matchedLast7Days')
  | RenamedMember;
type Forgotten = Exclude<keyof SearchDocument, keyof Draft | Shown>;
true satisfies [Forgotten] extends [never] ? true : Forgotten;

export type ChangeDraft = (change: Partial<Draft>) => void;

const MEMBERS = Object.keys(EDITED) as (keyof Draft)[];
type RenamedMember = 'geoShapes' | 'excludedGeoShapes' | 'expressions';
/** The members of a search whose fields have other names. */
const MEMBER_OF: Partial<Record<keyof Draft, RenamedMember>> = {
  shapes: 'geoShapes',
  excludedShapes: 'excludedGeoShapes',
  groups: 'expressions',
};

export const NEW_DRAFT = each(MEMBERS, (name) => EDITED[name].unset) as Draft;
export const NEW_ALTERNATIVE: Draft = { ...NEW_DRAFT, transactionType: '' };
export const ALTERNATIVES_MAX = 10;

/** Sets the smallest price change in percent, by default since the last notified price. NaN removes it. */
export function withPricePercent(
  thresholds: SearchDocument['eventThresholds'],
  percent: number,
): SearchDocument['eventThresholds'] {
  const { price: { percent: _former, ...price } = { since: 'told' as const }, ...others } = thresholds ?? {};
  if (!Number.isNaN(percent)) return { ...others, price: { ...price, percent } };
  const isLeft = price.amount !== undefined || price.direction !== undefined;
  return isLeft ? { ...others, price } : others.surface === undefined ? null : others;
}

/** True if these members have the values of a new search. */
export function isUnset(draft: Draft, members: readonly (keyof Draft)[]): boolean {
  return members.every((member) => isSame(draft[member], NEW_DRAFT[member]));
}

function isSame(some: unknown, other: unknown): boolean {
  return JSON.stringify(some) === JSON.stringify(other);
}

/** True if the search sets the criterion. A limit of 0 does not count, except where values may be negative. */
export function isRequested(draft: Draft, criterion: Draft['orMissing'][number]): boolean {
  const members: readonly string[] = CRITERION_MEMBERS[criterion];
  return MEMBERS.some((name) => {
    if (!members.includes(MEMBER_OF[name] ?? name)) return false;
    const value = draft[name];
    if (typeof value !== 'string') return Array.isArray(value) ? value.length > 0 : value === true;
    return (
      value.trim() !== '' && (criterion === 'floor' || criterion === 'marketDifference' || Number(numeral(value)) !== 0)
    );
  });
}

export function differingMembers(some: Draft, others: Draft): readonly (keyof Draft)[] {
  return MEMBERS.filter((member) => !isSame(some[member], others[member]));
}

/** A single code that was sent without a list is also answered without one. */
export function codesOf(answered: unknown): readonly number[] {
  return Array.isArray(answered) ? answered : [answered as number].filter((code) => code !== null);
}

type Answered = Readonly<Record<string, unknown>>;

/** `unset`: the values of members that are not answered. */
export function draftOf(search: SearchDocument | Answered, unset = NEW_DRAFT): Draft {
  return each(MEMBERS, (name) => {
    const answered = (search as Answered)[MEMBER_OF[name] ?? name];
    return answered === undefined ? unset[name] : EDITED[name].read(answered);
  }) as Draft;
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

/** The context is not valid JSON. */
export class ContextError extends Error {}

/** Empty words are left out. */
function expressionsOf(groups: readonly (readonly Word[])[]) {
  return groups
    .map((group) => group.filter(({ word }) => word.trim() !== ''))
    .filter((group) => group.length > 0)
    .map((group) => group.map(({ word, includes, strict }) => ({ word, options: { includes, strict } })));
}

/** Empty text is sent as null, except for the title. */
export function bodyOf(draft: Draft): Body {
  const written = MEMBERS.map((name) => {
    const { write } = EDITED[name] as Editing<unknown>;
    return [MEMBER_OF[name] ?? name, write(draft[name])] as const;
  });
  return { ...Object.fromEntries(written), orMissing: draft.orMissing.filter((name) => isRequested(draft, name)) };
}

const NO_CRITERIA = bodyOf(NEW_ALTERNATIVE);

/** The criteria that the alternative sets; empty if there are none. */
function alternativeBody(alternative: Draft): Body {
  return changesOf(NO_CRITERIA, bodyOf(alternative));
}

/** The position in the body's `alternatives` of the one at `at` in the draft; -1 if it is not sent. */
export function sentPosition({ alternatives }: Draft, at: number): number {
  const isSent = alternatives.map((one) => Object.keys(alternativeBody(one)).length > 0);
  return isSent[at] === true ? isSent.slice(0, at).filter(Boolean).length : -1;
}

export function inseeCodesOf(text: string): readonly string[] {
  return text.split(/[\s,;]+/).filter(Boolean);
}

/** Converts `250 000 €` and `2,5`, as people in France type numbers, to `250000` and `2.5`. */
export function numeral(text: string): string {
  const trimmed = text
    .trim()
    .replace(/(?:€|m²|m2|euros?)$/i, '')
    .trim();
  if (/^\d{1,3}(?:\s\d{3})+(?:,\d+)?$/.test(trimmed)) return trimmed.replaceAll(/\s/g, '').replace(',', '.');
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

/** The members that differ, so that other users' changes to the remaining members are kept. Null clears a member. */
export function changesOf(before: Body, after: Body): Body {
  const changed = Object.entries(after).filter(([name, value]) => !isSame(value, before[name]));
  return Object.fromEntries(changed.map(([name, value = null]) => [name, value]));
}

/** The members that a preview depends on. */
export function criteriaOf(body: Body): Body {
  const { title: _title, publicTitle: _publicTitle, context: _context, ...others } = body;
  const isCriterion = ([name]: [string, unknown]): boolean =>
    !/^(?:notification|endpoint|event|subscribed|hide)/.test(name);
  return Object.fromEntries(Object.entries(others).filter(isCriterion));
}

/** The body of a preview of the words alone; null if there are none. */
export function wordCriteriaOf({ groups }: Draft): Body | null {
  const expressions = expressionsOf(groups);
  return expressions.length > 0 ? { expressions, withCoherentPrice: null } : null;
}

/** The members of a draft that store completed places. */
export const PLACE_MEMBERS = {
  included: { city: 'includedCities', department: 'includedDepartments', zipcode: 'includedZipcodes' },
  excluded: { city: 'excludedCities', department: 'excludedDepartments', zipcode: 'excludedZipcodes' },
} as const satisfies Record<string, Readonly<Record<LocationDocument['type'], keyof Draft>>>;
