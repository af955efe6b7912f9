/**
 * The markets with which a search compares a property's price (decisions, section 3, *Market difference*). A market is
 * the live properties of one place, transaction and type.
 */

import { comparablePrice, type Market, type PricedProperty } from './price-coherence.ts';

export interface MarketPrice {
  /** INSEE code of a commune or arrondissement, or code of a department. */
  readonly code: string;
  readonly name: string;
  readonly transactionType: number;
  readonly propertyType: number;
  /** In euros per m² (of land, for land). Null, like the count, while fewer than `MARKET_SIZE_MIN` prices are known. */
  readonly median: number | null;
  readonly count: number | null;
  /** When the median last changed. */
  readonly changedAt: Date;
}

export type KnownMarket = MarketPrice & { readonly median: number; readonly count: number };

/** The rows by `marketKey`. Every change makes a new map, so that one map always has the same prices. */
export type MarketPrices = ReadonlyMap<string, MarketPrice>;

/** The stored medians at a moment. */
export interface Medians {
  /** The median that decides whether a price is coherent, in euros per m²; null if too few prices are known. */
  readonly median: (market: Market) => number | null;
  /** When the result of `median` last changed; null if the market never had a median. */
  readonly changedAt: (market: Market) => Date | null;
  readonly markets: MarketPrices;
}

export const NO_MARKETS: MarketPrices = new Map();
export const NO_MEDIANS: Medians = { median: () => null, changedAt: () => null, markets: NO_MARKETS };

/** `kind`: the type of property or, for the coherence of prices, whether it is land. */
export function marketKey(code: string, transactionType: number, kind: number | boolean): string {
  return `${code}/${transactionType}/${kind}`;
}

export function isDepartment({ code }: MarketPrice): boolean {
  return code.length < '83137'.length;
}

export interface MarketPlace extends Pick<PricedProperty, 'transactionType' | 'propertyType' | 'departmentCode'> {
  /** The code of the commune or arrondissement is first (see `ResolvedPlace`). */
  readonly inseeCodes: readonly string[];
}

/**
 * The rows that decide the market of a property (decisions, section 3). The row of its commune or arrondissement is the
 * first. The row of its department follows if the first lacks a median.
 */
function decisiveRows(place: MarketPlace, markets: MarketPrices): readonly MarketPrice[] {
  const { inseeCodes, departmentCode, transactionType, propertyType } = place;
  const [commune = null] = inseeCodes;
  if (transactionType === null || propertyType === null) return [];
  const codes = [commune, departmentCode].filter((code) => code !== null);
  const rows = codes.flatMap((code) => markets.get(marketKey(code, transactionType, propertyType)) ?? []);
  const known = rows.findIndex(({ median }) => median !== null);
  return known === -1 ? rows : rows.slice(0, known + 1);
}

/** Returns null if too few prices are known, or if the place, the transaction or the type is unknown. */
export function marketOfPlace(place: MarketPlace, markets: MarketPrices): KnownMarket | null {
  const market = decisiveRows(place, markets).at(-1);
  return market === undefined || market.median === null ? null : (market as KnownMarket);
}

/** When a median that decides the property's market last changed; null if no row decides. */
export function marketChangedAt(place: MarketPlace, markets: MarketPrices): Date | null {
  const times = decisiveRows(place, markets).map(({ changedAt }) => changedAt.getTime());
  return times.length === 0 ? null : new Date(Math.max(...times));
}

type ComparedProperty = PricedProperty & MarketPlace & { readonly markets: MarketPrices };

export interface MarketDifference {
  /** Difference of the property's price per m² from the median, unrounded; negative if the property is cheaper. */
  readonly percent: number;
  readonly market: KnownMarket;
}

/** Returns null if the property has no market, price or surface. */
export function marketDifferenceOf(property: ComparedProperty): MarketDifference | null {
  const price = comparablePrice(property);
  const market = price === null ? null : marketOfPlace(property, property.markets);
  if (price === null || market === null) return null;
  return { percent: ((price - market.median) / market.median) * 100, market };
}

export function marketPercent(property: ComparedProperty): number | null {
  return marketDifferenceOf(property)?.percent ?? null;
}
