/** What a search asks for, in words for the recipient of its e-mails, who has no key to read it with. */

import { RENT } from '../../engine/domain/codes.ts';
import { listOf, rangeOf } from '../../engine/domain/criterion-kinds.ts';
import { plainCriteria, type RowOf } from '../../engine/domain/criterion-table.ts';
import { type InLanguages, type Language, shownQuantity } from '../../engine/domain/criterion-words.ts';
import { type ExpressionEntry, parseExpressions } from '../../engine/domain/expressions.ts';
import type { SearchMembers } from '../../engine/domain/search.ts';
import { cleanText, MAIL_WORDS } from './mail-words.ts';

/** Null: nothing has the code any more. */
export interface PlaceNames {
  readonly city: (insee: string) => string | null;
  readonly department: (code: string) => string | null;
  readonly siteCategory: (id: number) => string | null;
}

type Label =
  | RowOf<'range'>['name']
  | 'areas'
  | 'excludedCities'
  | 'publishers'
  | 'categories'
  | 'noCategories'
  | 'texts';

interface SearchWords {
  readonly labels: Readonly<Record<Label, string>>;
  readonly publisherTypes: readonly string[];
  readonly furnished: readonly [no: string, yes: string];
  readonly virtualTour: string;
  readonly coherentPrice: string;
  readonly anything: string;
  readonly or: string;
  readonly and: string;
  readonly without: string;
  readonly exactly: string;
  readonly quote: (text: string) => string;
  readonly from: (min: string) => string;
  readonly upTo: (max: string) => string;
  readonly between: (min: string, max: string) => string;
  readonly around: (km: string, place: string) => string;
  readonly drawn: (count: number) => string;
  readonly more: (count: number) => string;
}

const WORDS: InLanguages<SearchWords> = {
  fr: {
    labels: {
      ...{ budget: 'Prix', advertPrice: "Prix d'une annonce", pricePerMeter: 'Prix au m²', surface: 'Surface' },
      ...{ landSurface: 'Terrain', room: 'Pièces', bedroom: 'Chambres', areas: 'Lieu', excludedCities: 'Sauf à' },
      ...{ publishers: 'Annonceur', categories: 'Sites', noCategories: 'Sauf les sites', texts: "Texte de l'annonce" },
    },
    publisherTypes: ['particulier', 'professionnel'],
    furnished: ['Non meublé', 'Meublé'],
    virtualTour: 'Avec visite virtuelle',
    coherentPrice: 'Sans les prix très éloignés du marché',
    anything: 'Tous les biens',
    ...{ or: 'ou', and: 'et', without: 'sans', exactly: 'exactement' },
    quote: (text) => `« ${text} »`,
    from: (min) => `à partir de ${min}`,
    upTo: (max) => `jusqu'à ${max}`,
    between: (min, max) => `de ${min} à ${max}`,
    around: (km, place) => `à ${km} km autour de ${place}`,
    drawn: (count) => (count === 1 ? 'une zone dessinée' : `${count} zones dessinées`),
    more: (count) => (count === 1 ? '1 autre' : `${count} autres`),
  },
  en: {
    labels: {
      ...{ budget: 'Price', advertPrice: 'Price of an advert', pricePerMeter: 'Price per m²', surface: 'Surface' },
      ...{ landSurface: 'Land', room: 'Rooms', bedroom: 'Bedrooms', areas: 'Place', excludedCities: 'Not in' },
      ...{ publishers: 'Publisher', categories: 'Sites', noCategories: 'Not on sites', texts: 'Text of the advert' },
    },
    publisherTypes: ['individual', 'professional'],
    furnished: ['Unfurnished', 'Furnished'],
    virtualTour: 'With a virtual tour',
    coherentPrice: 'Without prices far from the market',
    anything: 'Any property',
    ...{ or: 'or', and: 'and', without: 'without', exactly: 'exactly' },
    quote: (text) => `“${text}”`,
    from: (min) => `from ${min}`,
    upTo: (max) => `up to ${max}`,
    between: (min, max) => `${min} to ${max}`,
    around: (km, place) => `within ${km} km of ${place}`,
    drawn: (count) => (count === 1 ? 'a drawn area' : `${count} drawn areas`),
    more: (count) => (count === 1 ? '1 more' : `${count} more`),
  },
};

/** Of a list: a search may name every commune. */
const LISTED_MAX = 20;

/** A line for each criterion that is set. */
export function searchWords(members: SearchMembers, names: PlaceNames, language: Language): readonly string[] {
  const words = WORDS[language];
  const { colon } = MAIL_WORDS[language];
  const labelled = (label: Label, text: string): string => (text === '' ? '' : `${words.labels[label]}${colon}${text}`);
  const list = (texts: readonly (string | null)[], last = words.or): string => listed(texts, last, words);
  const categories = (ids: readonly number[]): string => list(ids.map(names.siteCategory));
  const { furnished, withVirtualTour, withCoherentPrice } = members;
  const lines = [
    kindOf(members, list, language),
    labelled('areas', areasOf(members, names, words, list)),
    labelled('excludedCities', list(members.excludedCities.map(names.city))),
    ...plainCriteria('range').map((row) => labelled(row.name, boundsOf(row, members, language))),
    furnished === null ? '' : words.furnished[furnished ? 1 : 0],
    withVirtualTour === true ? words.virtualTour : '',
    labelled('publishers', list(listOf(members.publisherTypes).map((type) => words.publisherTypes[type] ?? null))),
    labelled('categories', categories(members.includedSiteCategories)),
    labelled('noCategories', categories(members.excludedSiteCategories)),
    labelled('texts', textsOf(members, words)),
    withCoherentPrice === true ? words.coherentPrice : '',
  ];
  return lines.filter((line) => line !== '').map(cleanText);
}

type List = (texts: readonly (string | null)[], last?: string) => string;

function listed(texts: readonly (string | null)[], last: string, words: SearchWords): string {
  const known = texts.filter((text) => text !== null && text !== '');
  const shown = known.slice(0, LISTED_MAX);
  if (known.length > shown.length) return `${shown.join(', ')} ${last} ${words.more(known.length - shown.length)}`;
  return [shown.slice(0, -1).join(', '), shown.at(-1) ?? ''].filter((part) => part !== '').join(` ${last} `);
}

function kindOf({ propertyTypes, transactionType }: SearchMembers, list: List, language: Language): string {
  const words = MAIL_WORDS[language];
  const types = list(listOf(propertyTypes).map((type) => words.propertyTypes[type] ?? null));
  if (transactionType === null) return types || WORDS[language].anything;
  return `${types || WORDS[language].anything} ${transactionType === RENT ? words.toRent : words.toSell}`;
}

function areasOf(members: SearchMembers, names: PlaceNames, words: SearchWords, list: List): string {
  const { lat, lon, radius, geoShapes } = members;
  return list([
    lat === null || lon === null || radius === null ? null : words.around(radius, `${lat}, ${lon}`),
    geoShapes.length === 0 ? null : words.drawn(geoShapes.length),
    ...members.includedDepartments.map(names.department),
    ...[...new Set([...members.includedCities, ...members.includedInseeCodes])].map(names.city),
    ...members.includedZipcodes,
  ]);
}

function boundsOf(row: RowOf<'range'>, members: SearchMembers, language: Language): string {
  const words = WORDS[language];
  const { min, max } = rangeOf(members[row.minName], members[row.maxName]);
  const show = (value: number): string => shownQuantity(value, row.unit, language);
  if (min === null) return max === null ? '' : words.upTo(show(max));
  return max === null ? words.from(show(min)) : words.between(show(min), show(max));
}

function textsOf({ expressions }: SearchMembers, words: SearchWords): string {
  const entryOf = ({ word, includes, strict }: ExpressionEntry): string =>
    [includes ? '' : words.without, strict ? words.exactly : '', words.quote(word)]
      .filter((part) => part !== '')
      .join(' ');
  const groups = parseExpressions(expressions).map((group) => listed(group.map(entryOf), words.and, words));
  return listed(groups, `, ${words.or}`, words).replaceAll(' , ', ', ');
}
