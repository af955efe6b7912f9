/** The criterion `marketDifference`: the price per m² compared with the median of the property's market. */

import { type Considered, type Evaluated, type Range, range } from './criterion-kinds.ts';
import { type InLanguages, inCity, type Language, shownNumber, shownQuantity } from './criterion-words.ts';
import { type MarketDifference, marketDifferenceOf, marketPercent } from './market-prices.ts';
import type { PropertyFacts } from './property-facts.ts';

const SOURCE = {
  of: 'property',
  fact: 'markets',
  read: (facts: PropertyFacts): number | null => marketPercent(facts),
} as const;

const PERCENT = range('marketDifference', SOURCE, 'percent', {
  what: { fr: "L'écart avec le prix du marché", en: 'The difference from the market price' },
  unit: 'percent',
  min:
    'Lowest difference of the price per m² from the median of its market, per cent: -20 is 20 % below it. The market ' +
    'has at least 50 priced live properties of the same transaction and type in the commune, else in the department.',
  max: 'Highest difference of the price per m² from the median of its market, per cent. See marketDifferenceMin.',
  answered: 'Per cent from the median price per m² of its market.',
});

type MarketEvaluated = Evaluated<Range, MarketDifference | null>;

export const MARKET_DIFFERENCE = {
  ...PERCENT,
  actual: ({ facts }: Considered) => marketDifferenceOf(facts),
  reason: marketReason,
  shown: ({ expected, actual }: MarketEvaluated) => ({ expected, actual: actual && shownDifference(actual) }),
} as const;

function shownDifference({ percent, market: { median, count, name } }: MarketDifference) {
  return { percent: Number(percent.toFixed(2)), median: Number(median.toFixed(2)), count, market: name };
}

interface Words {
  readonly unknown: string;
  readonly is: string;
  readonly position: (percent: string, sign: number) => string;
  /** By code, in the plural. */
  readonly propertyTypes: readonly string[];
  readonly transactions: readonly string[];
  readonly place: (name: string, isDepartment: boolean) => string;
  readonly accepted: (min: string | null, max: string | null) => string;
}

const WORDS: InLanguages<Words> = {
  fr: {
    unknown: 'On ne connaît pas assez de prix, ou pas assez le bien, pour le comparer à son marché.',
    is: 'Le prix au m² est',
    position: (percent, sign) =>
      sign === 0 ? 'égal à la médiane de' : `${percent} ${sign < 0 ? 'en dessous' : 'au-dessus'} de la médiane de`,
    propertyTypes: ['appartements', 'maisons', 'immeubles', 'parkings', 'bureaux', 'terrains', 'commerces'],
    transactions: ['à vendre', 'à louer'],
    place: (name, isDepartment) => (isDepartment ? `dans le département ${name}` : inCity(name).fr),
    accepted: (min, max) =>
      `La recherche accepte ${min === null ? `au plus ${max}` : max === null ? `au moins ${min}` : `de ${min} à ${max}`}.`,
  },
  en: {
    unknown: 'Too few prices are known, or too little of the property, to compare it with its market.',
    is: 'The price per m² is',
    position: (percent, sign) =>
      sign === 0 ? 'equal to the median of' : `${percent} ${sign < 0 ? 'below' : 'above'} the median of`,
    propertyTypes: ['flats', 'houses', 'buildings', 'parking spaces', 'offices', 'plots of land', 'shops'],
    transactions: ['for sale', 'to rent'],
    place: (name, isDepartment) => (isDepartment ? `in the department ${name}` : inCity(name).en),
    accepted: (min, max) =>
      `The search accepts ${min === null ? `at most ${max}` : max === null ? `at least ${min}` : `${min} to ${max}`}.`,
  },
};

/** `The price per m² is 14 % below the median of 83 flats for sale in Toulon (4,200 €/m²).` */
function marketReason({ holds, expected, actual }: MarketEvaluated, language: Language): string {
  const words = WORDS[language];
  if (actual === null) return words.unknown;
  const { median, count, name, isDepartment, transactionType, propertyType } = actual.market;
  const percent = Math.round(actual.percent * 10) / 10;
  const show = (value: number | null): string | null =>
    value === null ? null : shownQuantity(value, 'percent', language);
  const properties = [
    shownNumber(count, language),
    words.propertyTypes[propertyType],
    words.transactions[transactionType],
    words.place(name, isDepartment),
  ];
  const position = words.position(shownQuantity(Math.abs(percent), 'percent', language), Math.sign(percent));
  const amount = shownQuantity(median, 'eurosPerMeter', language);
  const sentence = `${words.is} ${position} ${properties.join(' ')} (${amount}).`;
  return holds ? sentence : `${sentence} ${words.accepted(show(expected.min), show(expected.max))}`;
}
