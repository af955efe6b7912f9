/**
 * Why a criterion of a search holds or fails, in one sentence for the person whose search it is. The same judgements that
 * decide a match are told here; nothing is judged again, but which words a text has.
 */

import type { Areas, Judgement, Range } from './criteria.ts';
import { isRangeName, type RangeName } from './criterion-names.ts';
import { type ExpressionEntry, type Expressions, entryHolds } from './expressions.ts';
import { foldTexts } from './folded-text.ts';
import type { Circle } from './geo.ts';
import { distanceKm } from './geo.ts';
import type { MailLanguage } from './mail.ts';

/** Of what is shown to people. */
export type Language = MailLanguage;

export function criterionReason(judgement: Judgement, language: Language): string {
  const { criterion } = judgement;
  const words = WORDS[language];
  if (isRangeName(criterion)) return rangeReason(criterion, judgement, language);
  if (criterion === 'areas') return areasReason(judgement, language);
  if (criterion === 'expressions') return expressionsReason(judgement, words);
  return words.plain[criterion][judgement.holds ? 'holds' : 'fails'];
}

type PlainCriterion = Exclude<Judgement['criterion'], RangeName | 'areas' | 'expressions'>;

interface Words {
  readonly locale: string;
  readonly plain: Readonly<Record<PlainCriterion, { readonly holds: string; readonly fails: string }>>;
  readonly ranges: Readonly<Record<RangeName, string>>;
  readonly units: Readonly<Record<'euros' | 'eurosPerMeter' | 'meters' | 'none', string>>;
  readonly unknown: (what: string) => string;
  readonly within: (what: string, value: string) => string;
  readonly below: (what: string, value: string, bound: string) => string;
  readonly above: (what: string, value: string, bound: string) => string;
  readonly outside: (what: string) => string;
  readonly inArea: string;
  readonly notInArea: string;
  readonly tooFar: (km: string, radius: string) => string;
  readonly placeUnknown: string;
  readonly textHolds: string;
  readonly textLacks: (words: string) => string;
  readonly textHas: (words: string) => string;
  readonly quote: (word: string) => string;
}

const FRENCH: Words = {
  locale: 'fr-FR',
  plain: {
    liveAdvert: {
      holds: 'Une annonce au moins est en ligne.',
      fails: "Aucune annonce n'est en ligne parmi les sites retenus.",
    },
    transactionType: {
      holds: 'Le type de transaction est celui demandé.',
      fails: "Le type de transaction n'est pas celui demandé.",
    },
    propertyTypes: { holds: 'Le type de bien est demandé.', fails: "Le type de bien n'est pas demandé." },
    furnished: {
      holds: "L'ameublement est celui demandé.",
      fails: "L'ameublement n'est pas celui demandé, ou n'est pas connu.",
    },
    publisherTypes: {
      holds: "Un annonceur est d'un type demandé.",
      fails: "Aucun annonceur n'est d'un type demandé.",
    },
    includedSiteCategories: {
      holds: "Une annonce vient d'une catégorie de sites demandée.",
      fails: "Aucune annonce ne vient d'une catégorie de sites demandée.",
    },
    withVirtualTour: {
      holds: 'Une visite virtuelle est proposée.',
      fails: "Aucune visite virtuelle n'est proposée.",
    },
    withCoherentPrice: {
      holds: 'Le prix est cohérent avec le marché.',
      fails: 'Le prix au m² est incohérent avec le marché.',
    },
    excludedCities: { holds: "La ville n'est pas exclue.", fails: 'La ville est exclue.' },
  },
  ranges: {
    budget: 'Le prix',
    pricePerMeter: 'Le prix au m²',
    surface: 'La surface',
    landSurface: 'La surface du terrain',
    room: 'Le nombre de pièces',
    bedroom: 'Le nombre de chambres',
    advertPrice: "Le prix de l'annonce",
  },
  units: { euros: '\u00a0€', eurosPerMeter: '\u00a0€/m²', meters: '\u00a0m²', none: '' },
  unknown: (what) => `${what} n'est pas connu${/surface/i.test(what) ? 'e' : ''}.`,
  within: (what, value) => `${what} (${value}) convient.`,
  below: (what, value, bound) => `${what} (${value}) est sous le minimum de ${bound}.`,
  above: (what, value, bound) => `${what} (${value}) dépasse le maximum de ${bound}.`,
  outside: (what) => `${what} est hors des limites demandées.`,
  inArea: 'Le bien est dans la zone recherchée.',
  notInArea: 'Le bien est hors de la zone recherchée.',
  tooFar: (km, radius) =>
    `Le bien est hors de la zone recherchée : à ${km} km du centre, pour un rayon de ${radius} km.`,
  placeUnknown: "L'emplacement du bien n'est pas connu.",
  textHolds: 'Le texte répond à ce qui est demandé.',
  textLacks: (words) => `Le texte ne contient pas ${words}.`,
  textHas: (words) => `Le texte contient ${words}, à exclure.`,
  quote: (word) => `«\u00a0${word}\u00a0»`,
};

const ENGLISH: Words = {
  locale: 'en-GB',
  plain: {
    liveAdvert: { holds: 'At least one advert is online.', fails: 'No advert is online on the sites that count.' },
    transactionType: {
      holds: 'The type of transaction is the one asked for.',
      fails: 'The type of transaction is not the one asked for.',
    },
    propertyTypes: { holds: 'The type of property is asked for.', fails: 'The type of property is not asked for.' },
    furnished: {
      holds: 'It is furnished, or not, as asked for.',
      fails: 'It is not furnished, or unfurnished, as asked for, or that is unknown.',
    },
    publisherTypes: { holds: 'A publisher is of a type asked for.', fails: 'No publisher is of a type asked for.' },
    includedSiteCategories: {
      holds: 'An advert is from a category of sites asked for.',
      fails: 'No advert is from a category of sites asked for.',
    },
    withVirtualTour: { holds: 'There is a virtual tour.', fails: 'There is no virtual tour.' },
    withCoherentPrice: {
      holds: 'The price is coherent with the market.',
      fails: 'The price per m² is incoherent with the market.',
    },
    excludedCities: { holds: 'The city is not excluded.', fails: 'The city is excluded.' },
  },
  ranges: {
    budget: 'The price',
    pricePerMeter: 'The price per m²',
    surface: 'The surface',
    landSurface: 'The land surface',
    room: 'The number of rooms',
    bedroom: 'The number of bedrooms',
    advertPrice: 'The price of the advert',
  },
  units: { euros: '\u00a0€', eurosPerMeter: '\u00a0€/m²', meters: '\u00a0m²', none: '' },
  unknown: (what) => `${what} is unknown.`,
  within: (what, value) => `${what} (${value}) fits.`,
  below: (what, value, bound) => `${what} (${value}) is below the minimum of ${bound}.`,
  above: (what, value, bound) => `${what} (${value}) is above the maximum of ${bound}.`,
  outside: (what) => `${what} is outside the bounds asked for.`,
  inArea: 'The property is in the area searched.',
  notInArea: 'The property is outside the area searched.',
  tooFar: (km, radius) =>
    `The property is outside the area searched: ${km} km from the centre, the radius is ${radius} km.`,
  placeUnknown: 'The place of the property is unknown.',
  textHolds: 'The text says what is asked for.',
  textLacks: (words) => `The text does not contain ${words}.`,
  textHas: (words) => `The text contains ${words}, which is excluded.`,
  quote: (word) => `“${word}”`,
};

const WORDS: Readonly<Record<Language, Words>> = { fr: FRENCH, en: ENGLISH };

const UNITS: Readonly<Record<RangeName, keyof Words['units']>> = {
  budget: 'euros',
  advertPrice: 'euros',
  pricePerMeter: 'eurosPerMeter',
  surface: 'meters',
  landSurface: 'meters',
  room: 'none',
  bedroom: 'none',
};

export function shownNumber(value: number, language: Language, digits = 2): string {
  return value.toLocaleString(WORDS[language].locale, { maximumFractionDigits: digits });
}

function rangeReason(name: RangeName, { holds, expected, actual }: Judgement, language: Language): string {
  const words = WORDS[language];
  const what = words.ranges[name];
  const show = (value: number): string => shownNumber(value, language) + words.units[UNITS[name]];
  const { min, max } = expected as Range;
  const known = (actual as readonly (number | null)[]).filter((value) => value !== null);
  const [value, ...others] = known;
  if (value === undefined) return words.unknown(what);
  if (holds) {
    const fitting = known.find((one) => (min === null || one >= min) && (max === null || one <= max));
    return words.within(what, show(fitting ?? value));
  }
  if (min !== null && known.every((one) => one < min)) return words.below(what, show(Math.max(...known)), show(min));
  if (max !== null && known.every((one) => one > max)) return words.above(what, show(Math.min(...known)), show(max));
  return others.length === 0 ? words.unknown(what) : words.outside(what);
}

interface Place {
  readonly lat: number | null;
  readonly lon: number | null;
  readonly inseeCodes: readonly string[];
}

function areasReason({ holds, expected, actual }: Judgement, language: Language): string {
  const words = WORDS[language];
  if (holds) return words.inArea;
  const { circle } = expected as Areas;
  const { lat, lon, inseeCodes } = actual as Place;
  if (lat === null || lon === null) return inseeCodes.length === 0 ? words.placeUnknown : words.notInArea;
  return circle === null ? words.notInArea : tooFar(circle, lat, lon, language);
}

function tooFar({ lat, lon, radiusKm }: Circle, toLat: number, toLon: number, language: Language): string {
  const km = distanceKm(lat, lon, toLat, toLon);
  return WORDS[language].tooFar(shownNumber(km, language, 1), shownNumber(radiusKm, language));
}

/** Enough to know what to change. */
const WORDS_SHOWN_MAX = 5;

function expressionsReason({ holds, expected, actual }: Judgement, words: Words): string {
  if (holds) return words.textHolds;
  const text = foldTexts(actual as readonly string[]);
  // Of the alternatives, the one that lacks least.
  const [nearest = []] = (expected as Expressions)
    .map((group) => group.filter((entry) => !entryHolds(entry, text)))
    .sort((a, b) => a.length - b.length);
  const quoted = (entries: readonly ExpressionEntry[]): string =>
    entries
      .slice(0, WORDS_SHOWN_MAX)
      .map(({ word }) => words.quote(word))
      .join(', ');
  const [lacking, excluded] = [nearest.filter((entry) => entry.includes), nearest.filter((entry) => !entry.includes)];
  return [
    ...(lacking.length === 0 ? [] : [words.textLacks(quoted(lacking))]),
    ...(excluded.length === 0 ? [] : [words.textHas(quoted(excluded))]),
  ].join(' ');
}
