/**
 * The criteria of a search (decisions, section 3), one row each, in the order of evaluation and reports. A row has all
 * that is specific to its criterion: its members and defaults, the facts that it reads, its rule and its words. The
 * rows determine evaluation, stored members, contracts, the index and the tests' random searches.
 */

import { ALTERNATIVES } from './alternatives-criterion.ts';
import { AREAS, EXCLUDED_AREAS } from './areas.ts';
import { ENERGY_CATEGORIES, PROPERTY_TYPE_NAMES, PUBLISHER_TYPE_NAMES, TRANSACTION_TYPE_NAMES } from './codes.ts';
import {
  type Considered,
  code,
  codes,
  type Evaluated,
  type Form,
  type Forms,
  flag,
  letters,
  type Member,
  maximum,
  ofAdverts,
  ofProperty,
  type Range,
  range,
  rangeOf,
  requirement,
  type Source,
  signedRangeOf,
  verdictReason,
} from './criterion-kinds.ts';
import type { Language } from './criterion-words.ts';
import { EXPRESSIONS } from './expression-criterion.ts';
import { EXCLUDED_FEATURES, INCLUDED_FEATURES } from './feature-criteria.ts';
import { MARKET_DIFFERENCE } from './market-criterion.ts';
import { type CriterionSet, OR_MISSING } from './or-missing.ts';
import { POINTS_OF_INTEREST } from './points-criterion.ts';
import type { AdvertFacts, PropertyFacts } from './property-facts.ts';
import { INCLUDED_PUBLISHERS } from './publisher-criteria.ts';
import { EXCLUDED_ADVERTS, INCLUDED_SITE_CATEGORIES } from './site-category-criteria.ts';

/** A criterion of every search, without a member that sets it. */
const LIVE_ADVERT = {
  kind: 'liveAdvert',
  name: 'liveAdvert',
  key: null,
  unset: {},
  members: {},
  reads: ['adverts'],
  isSet: () => true,
  holds: (_: unknown, { adverts }: Considered) => adverts.length > 0,
  expected: () => 'at least one outside the excluded site categories and publishers',
  actual: ({ adverts }: Considered) => adverts.length,
  reason: verdictReason({
    fr: ['Au moins une annonce est en ligne.', "Aucune annonce n'est en ligne, hormis celles que la recherche exclut."],
    en: ['At least one advert is online.', 'No advert is online, apart from those that the search excludes.'],
  }),
  shown: ({ actual }: Evaluated) => ({ expected: { min: 1 }, actual }),
} as const;

const EVALUATED = [
  LIVE_ADVERT,
  code('transactionType', ofProperty('transactionType'), {
    names: TRANSACTION_TYPE_NAMES,
    unknown: { fr: "Le type de transaction n'est pas connu.", en: 'The type of transaction is unknown.' },
    words: {
      fr: ['Le type de transaction est celui demandé.', "Le type de transaction n'est pas celui demandé."],
      en: ['The type of transaction is the one requested.', 'The type of transaction is not the one requested.'],
    },
  }),
  codes('propertyTypes', ofProperty('propertyType'), {
    names: PROPERTY_TYPE_NAMES,
    unknown: { fr: "Le type de bien n'est pas connu.", en: 'The type of property is unknown.' },
    words: {
      fr: ['Le type de bien est parmi ceux demandés.', "Le type de bien n'est pas parmi ceux demandés."],
      en: ['The type of property is one of those requested.', 'The type of property is not one of those requested.'],
    },
  }),
  range('budget', ofProperty('price'), 'bound', {
    what: { fr: 'Le prix', en: 'The price' },
    unit: 'euros',
    min: 'Lowest price, euros.',
    max: 'Highest price, euros.',
    answered: 'Euros.',
  }),
  range('pricePerMeter', ofProperty('pricePerMeter'), 'bound', {
    what: { fr: 'Le prix au m²', en: 'The price per m²' },
    unit: 'eurosPerMeter',
    min: 'Lowest price per m², euros.',
    max: 'Highest price per m², euros.',
    answered: 'Euros per m².',
  }),
  range('surface', ofProperty('surface'), 'bound', {
    what: { fr: 'La surface', en: 'The surface' },
    unit: 'meters',
    min: 'Smallest surface, m².',
    max: 'Largest surface, m².',
    answered: 'm².',
  }),
  range('landSurface', ofProperty('landSurface'), 'bound', {
    what: { fr: 'La surface du terrain', en: 'The land surface' },
    unit: 'meters',
    min: 'Smallest land surface, m².',
    max: 'Largest land surface, m².',
    answered: 'm².',
  }),
  range('room', ofProperty('room'), 'bound', {
    what: { fr: 'Le nombre de pièces', en: 'The number of rooms' },
    unit: 'none',
    min: 'Fewest rooms.',
    max: 'Most rooms.',
    answered: 'Rooms.',
  }),
  range('bedroom', ofProperty('bedroom'), 'bound', {
    what: { fr: 'Le nombre de chambres', en: 'The number of bedrooms' },
    unit: 'none',
    min: 'Fewest bedrooms.',
    max: 'Most bedrooms.',
    answered: 'Bedrooms.',
  }),
  range('advertPrice', ofAdverts('price'), 'bound', {
    what: { fr: "Le prix de l'annonce", en: 'The price of the advert' },
    unit: 'euros',
    min: 'Lowest price, euros; one live advert within both limits is enough.',
    max: 'Highest price, euros; see advertPriceMin.',
    answered: 'Euros, of any live advert.',
  }),
  flag('furnished', ofProperty('furnished'), {
    requested: 'Furnished or not; null accepts both.',
    answered: 'Furnished or not.',
    words: {
      fr: {
        yes: 'Le bien est meublé',
        no: 'Le bien est non meublé',
        asRequested: ', comme demandé',
        unknown: 'On ne sait pas si le bien est meublé',
        requested: ['Non meublé', 'Meublé'],
      },
      en: {
        yes: 'The property is furnished',
        no: 'The property is unfurnished',
        asRequested: ', as requested',
        unknown: 'It is not known whether the property is furnished',
        requested: ['Unfurnished', 'Furnished'],
      },
    },
  }),
  codes('publisherTypes', ofAdverts('publisherType'), {
    names: PUBLISHER_TYPE_NAMES,
    unknown: { fr: "Le type d'annonceur n'est pas connu.", en: 'The type of publisher is unknown.' },
    words: {
      fr: ["L'un des annonceurs est du type demandé.", "Aucun annonceur n'est du type demandé."],
      en: ['A publisher is of a requested type.', 'No publisher is of a requested type.'],
    },
  }),
  INCLUDED_SITE_CATEGORIES,
  requirement('withVirtualTour', ofAdverts('hasVirtualTour'), {
    requested: 'True requires a live advert with a virtual tour.',
    answered: 'Has a virtual tour.',
    words: {
      fr: ['Une visite virtuelle est proposée.', "Aucune visite virtuelle n'est proposée."],
      en: ['There is a virtual tour.', 'There is no virtual tour.'],
    },
  }),
  requirement('withCoherentPrice', ofProperty('isPriceCoherent'), {
    unset: true,
    requested: 'True (default) excludes properties with an incoherent price; false and null disable the criterion.',
    answered: 'Leaves out incoherent prices.',
    words: {
      fr: ["Rien n'indique que le prix s'écarte du marché.", "Le prix au m² s'écarte trop de celui du marché."],
      en: ['Nothing shows that the price is far from the market.', 'The price per m² is too far from the market.'],
    },
  }),
  range('floor', ofProperty('floor'), 'floor', {
    what: { fr: "L'étage", en: 'The floor' },
    unit: 'floor',
    min: 'Lowest floor; 0 is the ground floor.',
    max: 'Highest floor; 0 is the ground floor.',
    answered: 'Floor; 0 is the ground floor.',
  }),
  requirement('lastFloor', ofProperty('isOnLastFloor'), {
    requested: 'True requires the last floor or the floor below it, because some sources count the ground floor.',
    answered: 'On the last floor.',
    words: {
      fr: ['Le bien est au dernier étage.', "Le bien n'est pas au dernier étage."],
      en: ['The property is on the last floor.', 'The property is not on the last floor.'],
    },
    unknown: {
      fr: 'On ne sait pas si le bien est au dernier étage.',
      en: 'It is not known whether the property is on the last floor.',
    },
  }),
  flag('elevator', ofProperty('elevator'), {
    requested: 'With an elevator or without; null accepts both.',
    answered: 'With an elevator or without.',
    words: {
      fr: {
        yes: 'Il y a un ascenseur',
        no: "Il n'y a pas d'ascenseur",
        asRequested: ', comme demandé',
        unknown: "On ne sait pas s'il y a un ascenseur",
        requested: ['Sans ascenseur', 'Avec ascenseur'],
      },
      en: {
        yes: 'There is an elevator',
        no: 'There is no elevator',
        asRequested: ', as requested',
        unknown: 'It is not known whether there is an elevator',
        requested: ['Without an elevator', 'With an elevator'],
      },
    },
  }),
  range('constructionYear', ofAdverts('constructionYear'), 'bound', {
    what: { fr: "L'année de construction", en: 'The year of construction' },
    unit: 'year',
    min: 'Earliest year of construction.',
    max: 'Latest year of construction.',
    answered: 'Year of construction, of any live advert.',
  }),
  maximum('condominiumFees', ofAdverts('condominiumFees'), {
    what: { fr: 'Le montant annuel des charges de copropriété', en: 'The yearly amount of condominium fees' },
    unit: 'euros',
    max: 'Highest condominium fees a year, euros.',
    answered: 'Euros a year, of any live advert.',
  }),
  maximum('rentalCharges', ofAdverts('rentalCharges'), {
    what: { fr: 'Le montant mensuel des charges locatives', en: 'The monthly amount of rental charges' },
    unit: 'euros',
    max: 'Highest rental charges a month, euros.',
    answered: 'Euros a month, of any live advert.',
  }),
  letters('energy', 'energyCategories', ofAdverts('energy'), {
    names: ENERGY_CATEGORIES,
    requested: 'Energy classes; a live advert must state one of them.',
    answered: 'Energy classes.',
    unknown: { fr: "La classe énergie n'est pas connue.", en: 'The energy class is unknown.' },
    words: {
      fr: [
        "La classe énergie d'une annonce est parmi celles demandées.",
        'La classe énergie ne fait pas partie de celles demandées.',
      ],
      en: [
        'The energy class of an advert is one of those requested.',
        'The energy class is not one of those requested.',
      ],
    },
  }),
  letters('greenHouseGas', 'greenHouseGasCategories', ofAdverts('greenHouseGas'), {
    names: ENERGY_CATEGORIES,
    requested: 'Greenhouse gas classes; a live advert must state one of them.',
    answered: 'Greenhouse gas classes.',
    unknown: {
      fr: "La classe des gaz à effet de serre n'est pas connue.",
      en: 'The greenhouse gas class is unknown.',
    },
    words: {
      fr: [
        "La classe des gaz à effet de serre d'une annonce est parmi celles demandées.",
        'La classe des gaz à effet de serre ne fait pas partie de celles demandées.',
      ],
      en: [
        'The greenhouse gas class of an advert is one of those requested.',
        'The greenhouse gas class is not one of those requested.',
      ],
    },
  }),
  INCLUDED_FEATURES,
  EXCLUDED_FEATURES,
  INCLUDED_PUBLISHERS,
  MARKET_DIFFERENCE,
  POINTS_OF_INTEREST,
  AREAS,
  EXCLUDED_AREAS,
  EXPRESSIONS,
] as const;

const ROWS = [...EVALUATED, ALTERNATIVES, EXCLUDED_ADVERTS, OR_MISSING] as const;
type Row = (typeof ROWS)[number];

export type CriterionName = (typeof EVALUATED)[number]['name'] | 'alternatives';
export type RemovableCriterion = Extract<Row, { readonly key: string }>['name'];

export type PlainRow = Extract<Row, { readonly kind: 'range' | 'code' | 'codes' | 'letters' | 'flag' | 'requirement' }>;
export type RowOf<Kind extends PlainRow['kind']> = Extract<PlainRow, { readonly kind: Kind }>;

type All<Union> = (Union extends unknown ? (_: Union) => void : never) extends (_: infer Each) => void ? Each : never;
type Flat<Type> = { readonly [Name in keyof Type]: Type[Name] };

type OwnCriteria = Flat<All<Exclude<Row, typeof ALTERNATIVES>['unset']>>;

/** The conditions of a search. An empty list, a null or a range without limits is no condition. */
export interface Criteria extends OwnCriteria {
  /** If there are alternatives, at least one must hold. They set only criteria that the search does not set. */
  readonly alternatives: readonly Criteria[];
}

type Members = All<Row['members']>;
export type CriterionMemberName = keyof Members;
/** The members of a search that set its criteria, in their stored form. */
export type CriterionMembers = { readonly [Name in keyof Members]: Forms[FormOf<Name>] };
export type MemberOf<F extends Form> = {
  [Name in CriterionMemberName]: FormOf<Name> extends F ? Name : never;
}[CriterionMemberName];
export type FormOf<Name extends CriterionMemberName> = Members[Name] extends { readonly form: infer F extends Form }
  ? F
  : never;

/** These types make the compilation fail if no criterion reads a fact, because such a fact is useless. */
type FactRead = PlainRow['source']['fact'] | Extract<Row, { readonly reads: unknown }>['reads'][number];
type FactUnread = Exclude<keyof PropertyFacts | keyof AdvertFacts, FactRead>;
true satisfies [FactUnread] extends [never] ? true : FactUnread;

export type { CriterionSet };

/** A row of any kind, for generic code. Such code passes an evaluation only to the row that made it. */
export interface Criterion {
  readonly name: CriterionName;
  isSet(criteria: Criteria): boolean;
  holds(criteria: Criteria, considered: Considered): boolean;
  /** For a criterion that compares several facts and fails: whether it fails because they are unknown. */
  isUnknown?(considered: Considered, requested: Pick<Criteria, 'includedFeatures' | 'pointsOfInterest'>): boolean;
  readonly source?: Source<unknown>;
  /** True if `orMissing` has no effect on this criterion, as on every criterion without `source` and `isUnknown`. */
  readonly isAlwaysKnown?: boolean;
  expected(criteria: Criteria): unknown;
  actual(considered: Considered): unknown;
  reason(evaluated: Evaluated, language: Language): string;
  /** Values for display, if the compared values are not suitable. */
  shown?(evaluated: Evaluated): { readonly expected: unknown; readonly actual: unknown };
  /** The actual value for the event that ends a match, if explanations show more than the search requests. */
  endValue?(evaluated: Evaluated): unknown;
}

/** A row that members of a search can set. */
interface RequestedCriterion {
  readonly name: RemovableCriterion;
  readonly unset: unknown;
  readonly members: Readonly<Record<string, unknown>>;
  isSet(criteria: Criteria): boolean;
}

/** All evaluated criteria except `alternatives`, which criteria.ts evaluates with these rows. */
export const CRITERIA: readonly Criterion[] = EVALUATED;
export const CRITERION_NAMES: readonly CriterionName[] = [...EVALUATED, ALTERNATIVES].map(({ name }) => name);
export const ASKED_CRITERIA: readonly RequestedCriterion[] = ROWS.filter((row) => row.key !== null);
export const REQUESTED_CRITERION_NAMES = ASKED_CRITERIA.map(({ name }) => name);
export const PLAIN_CRITERIA: readonly PlainRow[] = EVALUATED.filter((row) => 'source' in row);

export function plainCriteria<Kind extends PlainRow['kind']>(kind: Kind): readonly RowOf<Kind>[] {
  return PLAIN_CRITERIA.filter((row): row is RowOf<Kind> => row.kind === kind);
}

export type OfProperty<Row extends PlainRow> = Extract<Row, { readonly source: { readonly of: 'property' } }>;
export type OfAdverts<Row extends PlainRow> = Extract<Row, { readonly source: { readonly of: 'adverts' } }>;

export function isOfProperty<Row extends PlainRow>(row: Row): row is OfProperty<Row> {
  return row.source.of === 'property';
}

export function isOfAdverts<Row extends PlainRow>(row: Row): row is OfAdverts<Row> {
  return row.source.of === 'adverts';
}

/** The criteria of a search without any condition. */
export const ANYTHING: Criteria = Object.assign({}, ...ROWS.map(({ unset }) => unset));

export const CRITERION_MEMBERS: { readonly [Name in CriterionMemberName]: Member<FormOf<Name>> } = Object.assign(
  {},
  ...ROWS.map(({ members }) => members),
);

export function membersOf<F extends Form>(form: F): readonly MemberOf<F>[] {
  const names = Object.keys(CRITERION_MEMBERS) as CriterionMemberName[];
  return names.filter((name): name is MemberOf<F> => CRITERION_MEMBERS[name].form === form);
}

/** The default of every criterion member. */
export const UNASKED: CriterionMembers = Object.fromEntries(
  Object.entries(CRITERION_MEMBERS).map(([name, { unset }]) => [name, unset]),
) as CriterionMembers;

/** The limits set by the members of a search. */
export function requestedRange({ minName, maxName }: RowOf<'range'>, members: CriterionMembers): Range {
  const min = minName === null ? null : members[minName];
  const max = members[maxName];
  return CRITERION_MEMBERS[maxName].form === 'bound' ? rangeOf(min, max) : signedRangeOf(min, max);
}
