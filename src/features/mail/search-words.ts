/**
 * The criteria of a search in words, for the recipients of its e-mails, who have no API key to read the search.
 * `searchWords` lists all criteria; `namedSearch` names the search.
 */

import { alternativesOf } from '../../engine/domain/alternatives.ts';
import { RENT } from '../../engine/domain/codes.ts';
import { listOf, type Range } from '../../engine/domain/criterion-kinds.ts';
import {
  type CriterionMembers,
  plainCriteria,
  type RowOf,
  requestedRange,
} from '../../engine/domain/criterion-table.ts';
import { inCity, type Language, shownQuantity } from '../../engine/domain/criterion-words.ts';
import { type ExpressionEntry, parseExpressions } from '../../engine/domain/expressions.ts';
import { featureLabels } from '../../engine/domain/feature-criteria.ts';
import { requestedText } from '../../engine/domain/points-criterion.ts';
import { type SearchMembers } from '../../engine/domain/search.ts';
import { cut } from '../../engine/domain/text.ts';
import { mayBeUnknown } from '../../engine/domain/unknown-criteria.ts';
import type { Reference } from '../../engine/reference/communes.ts';
import { both, counted, inLanguage } from '../../languages.ts';
import type { MailSearch } from './mail-contents.ts';
import { cleanText, MAIL_WORDS } from './mail-words.ts';

/** Each name is null if the code is no longer in use. */
export interface PlaceNames {
  readonly city: (insee: string) => string | null;
  readonly department: (code: string) => string | null;
  readonly siteCategory: (id: number) => string | null;
}

const TEXTS = {
  /** An empty text is left out: nearly every search requires coherent prices. */
  requirements: {
    withVirtualTour: both('With a virtual tour', 'Avec visite virtuelle'),
    withCoherentPrice: '',
    lastFloor: both('On the last floor', 'Au dernier étage'),
  } satisfies Readonly<Record<RowOf<'requirement'>['name'], unknown>>,
  labels: {
    energy: both('Energy class', 'Classe énergie'),
    greenHouseGas: both('Greenhouse gas class', 'Classe gaz à effet de serre'),
    includedFeatures: both('With', 'Avec'),
    excludedFeatures: both('Without', 'Sans'),
    areas: both('Location', 'Lieu'),
    excludedAreas: both('Outside', 'En dehors de'),
    publisherTypes: both('Publisher', 'Annonceur'),
    includedSiteCategories: 'Sites',
    excludedSiteCategories: both('Not on sites', 'Sauf les sites'),
    pointsOfInterest: both('Nearby', 'À proximité'),
    includedPublishers: both('By', 'Annonces de'),
    excludedPublishers: both('Not by', 'Sauf les annonces de'),
    expressions: both('Text of the advert', "Texte de l'annonce"),
  },
  publisherTypes: [both('individual', 'particulier'), both('professional', 'professionnel')],
  anything: both('Any property', 'Tous les biens'),
  or: both('or', 'ou'),
  alternative: (number: number) => `Alternative ${number}`,
  without: both('without', 'sans'),
  orUnknown: both('(or not stated)', '(ou non précisé)'),
  exactly: both('exactly', 'exactement'),
  quote: (text: string) => both(`“${text}”`, `« ${text} »`),
  from: (min: string) => both(`from ${min}`, `à partir de ${min}`),
  upTo: (max: string) => both(`up to ${max}`, `jusqu'à ${max}`),
  /** For limits that may be negative. */
  signed: {
    from: (min: string) => both(`at least ${min}`, `au moins ${min}`),
    upTo: (max: string) => both(`at most ${max}`, `au plus ${max}`),
  },
  between: (min: string, max: string) => both(`${min} to ${max}`, `de ${min} à ${max}`),
  inCity,
  around: (km: string, place: string) =>
    both(`within ${km} km of ${place}`, `à ${km.replace('.', ',')} km autour de ${place}`),
  drawn: (count: number) =>
    both(
      count === 1 ? 'a drawn area' : `${count} drawn areas`,
      count === 1 ? 'une zone dessinée' : `${count} zones dessinées`,
    ),
  more: counted(['more', 'more'], ['autre', 'autres']),
};

const WORDS = { fr: inLanguage(TEXTS, 'fr'), en: inLanguage(TEXTS, 'en') };

type SearchWords = (typeof WORDS)[Language];
type Label = keyof SearchWords['labels'];

/** Maximum items of a list: a search may name every commune. */
const LISTED_MAX = 20;

/** A line for each criterion that is set, and one for each alternative. */
export function searchWords(members: SearchMembers, names: PlaceNames, language: Language): readonly string[] {
  const { alternative, anything } = WORDS[language];
  const { colon, semicolon } = MAIL_WORDS[language];
  const alternatives = alternativesOf(members).map((one, index) => {
    const lines = criterionWords(one, names, language).filter((line) => line !== anything);
    return `${alternative(index + 1)}${colon}${lines.join(semicolon)}`;
  });
  return [...criterionWords(members, names, language), ...alternatives];
}

function criterionWords(members: CriterionMembers, names: PlaceNames, language: Language): readonly string[] {
  const words = WORDS[language];
  const { colon } = MAIL_WORDS[language];
  const accepted = members.orMissing.filter(mayBeUnknown);
  const accepting = (line: string, ...criteria: readonly string[]): string =>
    line !== '' && criteria.some((name) => accepted.includes(name)) ? `${line} ${words.orUnknown}` : line;
  const labelled = (label: Label, text: string): string =>
    text === '' ? '' : accepting(`${words.labels[label]}${colon}${text}`, label);
  const list: List = (texts) => listed(texts, 'disjunction', language);
  const categories = (ids: readonly number[]): string => list(ids.map(names.siteCategory));
  const lines = [
    accepting(kindOf(members, list, language), 'transactionType', 'propertyTypes'),
    labelled('areas', areasOf(members, 'included', names, words, list)),
    labelled('excludedAreas', areasOf(members, 'excluded', names, words, list)),
    ...plainCriteria('range').map((row) => {
      const { unit } = row.words;
      const phrases = unit === 'percent' ? { ...words, ...words.signed } : words;
      const bounds = boundsOf(requestedRange(row, members), phrases, (value) => shownQuantity(value, unit, language));
      return bounds === '' ? '' : accepting(`${labelOf(row.words.what[language])}${colon}${bounds}`, row.name);
    }),
    ...plainCriteria('flag').map((row) => {
      const requested = members[row.name];
      return requested === null ? '' : accepting(row.words[language].requested[requested ? 1 : 0], row.name);
    }),
    ...plainCriteria('requirement').map(({ name }) =>
      members[name] === true ? accepting(words.requirements[name], name) : '',
    ),
    ...plainCriteria('letters').map((row) => labelled(row.name, list(listOf(members[row.memberName])))),
    labelled('includedFeatures', featureLabels(members.includedFeatures, language)),
    labelled('excludedFeatures', featureLabels(members.excludedFeatures, language)),
    labelled('publisherTypes', list(listOf(members.publisherTypes).map((type) => words.publisherTypes[type] ?? null))),
    labelled('includedSiteCategories', categories(members.includedSiteCategories)),
    labelled('excludedSiteCategories', categories(members.excludedSiteCategories)),
    labelled('pointsOfInterest', members.pointsOfInterest.map((term) => requestedText(term, language)).join(', ')),
    labelled('includedPublishers', list(members.includedPublishers)),
    labelled('excludedPublishers', list(members.excludedPublishers)),
    labelled('expressions', textsOf(members, words, language)),
  ];
  return lines.filter((line) => line !== '').map(cleanText);
}

const SENTENCE_LENGTH_MAX = 120;
/** Maximum number of places that a sentence names. */
const SENTENCE_PLACES_MAX = 3;

/**
 * `Appartement à Toulon, 3 pièces, jusqu'à 300 000 €`: the type, place, size and price that a search asks for. If it
 * asks for none of these, its other criteria, so that recipients can tell their searches apart.
 */
function searchSentence(members: SearchMembers, names: CityNames, language: Language): string {
  const partsOf = (one: CriterionMembers) => sentenceParts(one, members, names, language);
  const either = alternativesOf(members).map((one) => partsOf(one).join(', '));
  // If one alternative has no words here, the words of the others would mislead: a property may satisfy only this one.
  const parts = [...partsOf(members), either.includes('') ? '' : either.join(` ${WORDS[language].or} `)];
  const named = parts.filter((part) => part !== '').join(', ');
  const isGeneral = named === WORDS[language].anything;
  const others = isGeneral ? searchWords(members, { ...names, siteCategory: () => null }, language).slice(1) : [];
  return cut(cleanText(others.join(MAIL_WORDS[language].semicolon) || named), SENTENCE_LENGTH_MAX);
}

/** `members`: those of the search, or of an alternative. */
function sentenceParts(
  members: CriterionMembers,
  search: SearchMembers,
  names: CityNames,
  language: Language,
): readonly string[] {
  const [words, mailWords] = [WORDS[language], MAIL_WORDS[language]];
  const isRent = members.transactionType === RENT || search.transactionType === RENT;
  const list: List = (texts) => listed(texts, 'disjunction', language, SENTENCE_PLACES_MAX);
  const transactionType = members.transactionType === RENT ? RENT : null;
  const hasKind = members === search || transactionType !== null || members.propertyTypes !== null;
  const kind = hasKind ? kindOf({ ...members, transactionType }, list, language) : '';
  const cities = citiesOf(members, 'included', names).flatMap((name) => (name === null ? [] : words.inCity(name)));
  const others = areasOf({ ...members, includedCities: [], includedInseeCodes: [] }, 'included', names, words, list);
  const sizes: readonly (readonly [RangeName, Show])[] = [
    ['room', mailWords.rooms],
    ['bedroom', mailWords.bedrooms],
    ['surface', (value) => shownQuantity(value, 'meters', language)],
    ['landSurface', (value) => mailWords.land(shownQuantity(value, 'meters', language))],
    ['budget', (value) => shownQuantity(value, 'euros', language) + (isRent ? mailWords.perMonth(null) : '')],
  ];
  const bounds = sizes.map(([name, show]) => {
    const row = plainCriteria('range').find((each) => each.name === name) as RowOf<'range'>;
    return boundsOf(requestedRange(row, members), words, show, (value) => shownQuantity(value, 'none', language));
  });
  return [`${kind} ${list(cities)}`.trim(), others, ...bounds].filter((part) => part !== '');
}

/** A search as its recipient sees it: with its public title, or else its criteria. */
export function namedSearch(members: SearchMembers, names: CityNames, language: Language): MailSearch {
  const criteria = searchSentence(members, names, language);
  const title = cleanText(members.publicTitle ?? '');
  return title === '' || title === criteria ? { name: criteria, criteria: null } : { name: title, criteria };
}

type RangeName = RowOf<'range'>['name'];
type Show = (value: number) => string;

/** A label without an article: `Le prix` becomes `Prix`. */
function labelOf(what: string): string {
  const label = what.replace(/^(?:Les? |La |L'|The )/, '');
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
}

type Texts = readonly (string | null)[];
type List = (texts: Texts) => string;

function listed(texts: Texts, type: 'conjunction' | 'disjunction', language: Language, max = LISTED_MAX): string {
  const known = texts.flatMap((text) => text || []);
  const shown = known.slice(0, max);
  if (known.length > shown.length) shown.push(WORDS[language].more(known.length - shown.length));
  return new Intl.ListFormat(MAIL_WORDS[language].locale, { type }).format(shown);
}

type Kind = Pick<CriterionMembers, 'propertyTypes' | 'transactionType'>;

function kindOf({ propertyTypes, transactionType }: Kind, list: List, language: Language): string {
  const words = MAIL_WORDS[language];
  const types = list(listOf(propertyTypes).map((type) => words.propertyTypes[type] ?? null));
  if (transactionType === null) return types || WORDS[language].anything;
  return `${types || WORDS[language].anything} ${transactionType === RENT ? words.toRent : words.toSell}`;
}

export type CityNames = Pick<PlaceNames, 'city' | 'department'>;

export function cityNamesOf(reference: Pick<Reference, 'city' | 'department'>): CityNames {
  return {
    city: (insee) => reference.city(insee)?.name ?? null,
    department: (code) => reference.department(code)?.name ?? null,
  };
}

type Side = 'included' | 'excluded';

function citiesOf(members: CriterionMembers, side: Side, names: CityNames): Texts {
  return [...new Set([...members[`${side}Cities`], ...members[`${side}InseeCodes`]])].map(names.city);
}

function areasOf(members: CriterionMembers, side: Side, names: CityNames, words: SearchWords, list: List): string {
  const { lat, lon, radius, geoShapes, excludedGeoShapes } = members;
  const hasCircle = side === 'included' && lat !== null && lon !== null && radius !== null;
  const shapes = side === 'included' ? geoShapes : excludedGeoShapes;
  return list([
    hasCircle ? words.around(radius, `${lat}, ${lon}`) : null,
    shapes.length === 0 ? null : words.drawn(shapes.length),
    ...members[`${side}Departments`].map(names.department),
    ...citiesOf(members, side, names),
    ...members[`${side}Zipcodes`],
  ]);
}

/** `showFirst` formats the lower of two limits. */
function boundsOf({ min, max }: Range, words: SearchWords, show: Show, showFirst = show): string {
  if (min === null) return max === null ? '' : words.upTo(show(max));
  if (min === max) return show(min);
  return max === null ? words.from(show(min)) : words.between(showFirst(min), show(max));
}

function textsOf({ expressions }: CriterionMembers, words: SearchWords, language: Language): string {
  const entryOf = ({ word, includes, strict }: ExpressionEntry): string =>
    [includes ? '' : words.without, strict ? words.exactly : '', words.quote(word)]
      .filter((part) => part !== '')
      .join(' ');
  const groups = parseExpressions(expressions).map((group) => listed(group.map(entryOf), 'conjunction', language));
  return groups.join(`, ${words.or} `);
}
