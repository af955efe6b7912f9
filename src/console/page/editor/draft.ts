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

export interface Draft
  extends Readonly<
    Record<RangeMember | FlagMember, string> &
      Record<RequirementMember, boolean> &
      Record<LetterMember, readonly string[]>
  > {
  readonly title: string;
  readonly transactionType: string;
  readonly propertyTypes: readonly number[];
  readonly publisherTypes: readonly number[];
  readonly includedFeatures: readonly FeatureName[];
  readonly excludedFeatures: readonly FeatureName[];
  readonly orMissing: SearchDocument['orMissing'];
  readonly hidePropertyContact: boolean;
  readonly lat: string;
  readonly lon: string;
  readonly radius: string;
  readonly includedCities: readonly ChosenPlace[];
  readonly excludedCities: readonly ChosenPlace[];
  readonly includedDepartments: readonly ChosenPlace[];
  readonly includedZipcodes: readonly ChosenPlace[];
  readonly includedInseeCodes: string;
  readonly includedSiteCategories: readonly string[];
  readonly excludedSiteCategories: readonly string[];
  readonly shapes: readonly (readonly Ring[])[];
  /** Groups are alternatives; the words of one must all hold. */
  readonly groups: readonly (readonly Word[])[];
  readonly notificationEnabled: boolean;
  readonly notificationRecipient: string;
  readonly notificationConsent: SearchDocument['notificationConsent'];
  readonly notificationFrequency: string;
  readonly endpointRecipient: string;
  readonly eventEndpoint: string;
  readonly subscribedEvents: readonly string[];
  readonly eventThresholds: SearchDocument['eventThresholds'];
  /** JSON. */
  readonly context: string;
}

/** Members of a search that are not edited here; a member that is in neither list does not compile. */
type Shown =
  | ('@context' | '@id' | '@type' | 'token' | 'user' | 'createdAt' | 'updatedAt' | 'lastAlertAt' | 'emailStatus')
  | ('geoShapes' | 'expressions');
type Forgotten = Exclude<keyof SearchDocument, keyof Draft | Shown>;
true satisfies [Forgotten] extends [never] ? true : Forgotten;

export type ChangeDraft = (change: Partial<Draft>) => void;

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
] as const satisfies Draft['orMissing'];
export type HomeCriterion = (typeof HOME_CRITERIA)[number];

export const NEW_DRAFT: Draft = {
  ...each([...RANGE_MEMBERS, ...FLAG_CRITERIA], () => ''),
  ...each(REQUIREMENTS, (name) => name === 'withCoherentPrice'),
  ...each(LETTER_MEMBERS, () => []),
  title: '',
  transactionType: '0',
  propertyTypes: [],
  publisherTypes: [],
  includedFeatures: [],
  excludedFeatures: [],
  orMissing: HOME_CRITERIA,
  hidePropertyContact: false,
  lat: '',
  lon: '',
  radius: '',
  includedCities: [],
  excludedCities: [],
  includedDepartments: [],
  includedZipcodes: [],
  includedInseeCodes: '',
  includedSiteCategories: [],
  excludedSiteCategories: [],
  shapes: [],
  groups: [],
  notificationEnabled: true,
  notificationRecipient: '',
  notificationConsent: null,
  notificationFrequency: 'instant',
  endpointRecipient: '',
  eventEndpoint: '',
  subscribedEvents: [],
  eventThresholds: null,
  context: '',
};

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
  const text = (name: keyof SearchDocument): string => `${(search[name] ?? '') as string | number | boolean}`;
  const iris = (list: readonly { readonly '@id': string }[]): readonly string[] => list.map((one) => one['@id']);
  const cities = (list: SearchDocument['includedCities']): readonly ChosenPlace[] =>
    list.map((city) => ({ value: city['@id'], label: cityLabel(city), code: city.insee }));
  return {
    ...each([...RANGE_MEMBERS, ...FLAG_CRITERIA], text),
    ...each(REQUIREMENTS, (name) => search[name] === true),
    ...each(LETTER_MEMBERS, (name) => codesOf(search[name]).map(String)),
    title: search.title,
    transactionType: text('transactionType'),
    propertyTypes: codesOf(search.propertyTypes),
    publisherTypes: codesOf(search.publisherTypes),
    includedFeatures: search.includedFeatures,
    excludedFeatures: search.excludedFeatures,
    orMissing: search.orMissing,
    hidePropertyContact: search.hidePropertyContact,
    lat: text('lat'),
    lon: text('lon'),
    radius: text('radius'),
    includedCities: cities(search.includedCities),
    excludedCities: cities(search.excludedCities),
    includedDepartments: search.includedDepartments.map(({ '@id': value, name, departmentCode }) => ({
      value,
      label: `${name} (${departmentCode})`,
      code: departmentCode,
    })),
    includedZipcodes: search.includedZipcodes.map((code) => ({ value: code, label: code, code })),
    includedInseeCodes: search.includedInseeCodes.join(', '),
    includedSiteCategories: iris(search.includedSiteCategories),
    excludedSiteCategories: iris(search.excludedSiteCategories),
    shapes: search.geoShapes,
    groups: groupsOf(search.expressions),
    notificationEnabled: search.notificationEnabled,
    notificationRecipient: text('notificationRecipient'),
    notificationConsent: search.notificationConsent,
    notificationFrequency: text('notificationFrequency'),
    endpointRecipient: text('endpointRecipient'),
    eventEndpoint: text('eventEndpoint'),
    subscribedEvents: search.subscribedEvents,
    eventThresholds: search.eventThresholds,
    context: search.context === null || search.context === undefined ? '' : JSON.stringify(search.context),
  };
}

/** Paris, Lyon and Marseille have a zip code for each arrondissement, and none for the whole. */
/** Reads the bracketed query string of an answer (decisions, section 2). */
function groupsOf(expressions: string | null): readonly (readonly Word[])[] {
  const groups: { word: string; includes: boolean; strict: boolean }[][] = [];
  for (const [path, value] of new URLSearchParams((expressions ?? '').replaceAll('+', '%2B'))) {
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

/** Empty fields are null. Invalid numbers are sent unchanged: the violation of the service is shown at the field. */
export function bodyOf(draft: Draft): Body {
  const textOrNull = (text: string): string | null => (text.trim() === '' ? null : text.trim());
  const numberOrNull = (text: string): number | string | null => {
    const written = numeral(text);
    return written === '' ? null : Number.isNaN(Number(written)) ? written : Number(written);
  };
  const decimalOrNull = (text: string): string | null => textOrNull(numeral(text));
  const oneOrSeveral = <Value>(list: readonly Value[]): Value | readonly Value[] | null =>
    list.length === 0 ? null : list.length === 1 ? (list[0] as Value) : list;
  const values = (list: readonly ChosenPlace[]): readonly string[] => list.map(({ value }) => value);
  const words = draft.groups
    .map((group) => group.filter(({ word }) => word.trim() !== ''))
    .filter((group) => group.length > 0);
  return {
    ...each(RANGE_MEMBERS, (name) => numberOrNull(draft[name])),
    ...each(FLAG_CRITERIA, (name) => (draft[name] === '' ? null : draft[name] === 'true')),
    ...each(REQUIREMENTS, (name) => draft[name] || null),
    ...each(LETTER_MEMBERS, (name) => oneOrSeveral(draft[name])),
    title: draft.title,
    transactionType: textOrNull(draft.transactionType),
    propertyTypes: oneOrSeveral(draft.propertyTypes),
    publisherTypes: oneOrSeveral(draft.publisherTypes),
    includedFeatures: draft.includedFeatures,
    excludedFeatures: draft.excludedFeatures,
    orMissing: draft.orMissing.filter((name) => isAsked(draft, name)),
    hidePropertyContact: draft.hidePropertyContact,
    lat: decimalOrNull(draft.lat),
    lon: decimalOrNull(draft.lon),
    radius: decimalOrNull(draft.radius),
    includedCities: values(draft.includedCities),
    excludedCities: values(draft.excludedCities),
    includedDepartments: values(draft.includedDepartments),
    includedZipcodes: values(draft.includedZipcodes),
    includedInseeCodes: inseeCodesOf(draft),
    includedSiteCategories: draft.includedSiteCategories,
    excludedSiteCategories: draft.excludedSiteCategories,
    geoShapes: draft.shapes.length === 0 ? [] : { type: 'MultiPolygon', coordinates: draft.shapes },
    expressions: words.map((group) =>
      group.map(({ word, includes, strict }) => ({ word, options: { includes, strict } })),
    ),
    notificationEnabled: draft.notificationEnabled,
    notificationRecipient: textOrNull(draft.notificationRecipient),
    notificationConsent: draft.notificationConsent,
    notificationFrequency: textOrNull(draft.notificationFrequency),
    endpointRecipient: textOrNull(draft.endpointRecipient),
    eventEndpoint: textOrNull(draft.eventEndpoint),
    subscribedEvents: draft.subscribedEvents,
    eventThresholds: draft.eventThresholds,
    context: contextOf(draft.context),
  };
}

export function inseeCodesOf({ includedInseeCodes }: Pick<Draft, 'includedInseeCodes'>): readonly string[] {
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
