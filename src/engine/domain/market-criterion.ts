/** The criterion `marketDifference`, which compares the price per m² with the median of the property's market. */

import { type Considered, type Evaluated, type Range, range } from './criterion-kinds.ts';
import { inCity, type Language, shownNumber, shownQuantity } from './criterion-words.ts';
import { isDepartment, type MarketDifference, marketDifferenceOf, marketPercent } from './market-prices.ts';
import type { PropertyFacts } from './property-facts.ts';

const SOURCE = { of: 'property', fact: 'markets', read: (facts: PropertyFacts) => marketPercent(facts) } as const;

const PERCENT = range('marketDifference', SOURCE, 'percent', {
  what: { fr: "L'écart avec le prix du marché", en: 'The difference from the market price' },
  unit: 'percent',
  min:
    'Lowest difference of the price per m² from the median of its market, per cent: -20 is 20 % below it. The market ' +
    'has at least 50 priced live properties of its transaction and type: in its commune or arrondissement, else in ' +
    'its department.',
  max: 'Highest difference, per cent; see marketDifferenceMin.',
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

const WORDS = {
  fr: {
    is: (percent: string, sign: number) =>
      `Le prix au m² est ${sign === 0 ? 'égal à' : `${percent} ${sign < 0 ? 'en dessous' : 'au-dessus'} de`} la médiane de`,
    propertyTypes: ['appartements', 'maisons', 'immeubles', 'parkings', 'bureaux', 'terrains', 'commerces'],
    transactions: ['à vendre', 'à louer'],
    inDepartment: (name: string) => `dans le département ${name}`,
  },
  en: {
    is: (percent: string, sign: number) =>
      `The price per m² is ${sign === 0 ? 'equal to' : `${percent} ${sign < 0 ? 'below' : 'above'}`} the median of`,
    propertyTypes: ['flats', 'houses', 'buildings', 'parking spaces', 'offices', 'plots of land', 'shops'],
    transactions: ['for sale', 'to rent'],
    inDepartment: (name: string) => `in the department ${name}`,
  },
};

/** `The price per m² is 14 % below the median of 83 flats for sale in Toulon (4,200 €/m²).` */
function marketReason({ holds, expected, actual }: MarketEvaluated, language: Language): string {
  const bounds = PERCENT.reason({ holds, expected, actual: [actual?.percent ?? null] }, language);
  if (actual === null) return bounds;
  const { is, propertyTypes, transactions, inDepartment } = WORDS[language];
  const { median, count, name, transactionType, propertyType } = actual.market;
  const percent = Math.round(actual.percent * 10) / 10;
  const position = is(shownQuantity(Math.abs(percent), 'percent', language), Math.sign(percent));
  const properties = `${shownNumber(count, language)} ${propertyTypes[propertyType]} ${transactions[transactionType]}`;
  const place = isDepartment(actual.market) ? inDepartment(name) : inCity(name)[language];
  const sentence = `${position} ${properties} ${place} (${shownQuantity(median, 'eurosPerMeter', language)}).`;
  return holds ? sentence : `${sentence} ${bounds}`;
}
