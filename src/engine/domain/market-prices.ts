/**
 * The markets with which a search compares the price of a property (decisions, section 3, *Market difference*): the live
 * properties of one place, transaction and type. Properties carry the stored rows, and the difference is computed when
 * a criterion first needs it.
 */

import { comparablePrice, type Market, type PricedProperty } from './price-coherence.ts';

export interface MarketPrice {
  /** INSEE code of a commune or arrondissement (five characters), or code of a department. */
  readonly code: string;
  readonly name: string;
  readonly isDepartment: boolean;
  readonly transactionType: number;
  readonly propertyType: number;
  /** Euros per m², for land per m² of land; null while fewer than `MARKET_SIZE_MIN` prices are known. */
  readonly median: number | null;
  /** The number of priced live properties; null if the median is. */
  readonly count: number | null;
  /** When the median last changed. */
  readonly changedAt: Date;
}

export type KnownMarket = MarketPrice & { readonly median: number; readonly count: number };

/** By `marketKey`. A new object for each change, so that equal objects have equal prices. */
export type MarketPrices = ReadonlyMap<string, MarketPrice>;

/** The stored medians at a moment. */
export interface Medians {
  /** The median that decides whether a price is coherent; null if too few prices are known. Euros per m². */
  readonly median: (market: Market) => number | null;
  /** When that median last changed; null if the market never had one. */
  readonly changedAt: (market: Market) => Date | null;
  readonly markets: MarketPrices;
}

export const NO_MARKETS: MarketPrices = new Map();
export const NO_MEDIANS: Medians = { median: () => null, changedAt: () => null, markets: NO_MARKETS };

export function marketKey({
  code,
  transactionType,
  propertyType,
}: Pick<MarketPrice, 'code' | 'transactionType' | 'propertyType'>): string {
  return `${code}/${transactionType}/${propertyType}`;
}

export interface MarketPlace {
  /** Its commune's; for an arrondissement, its own before its city's. */
  readonly inseeCodes: readonly string[];
  readonly departmentCode: string | null;
  readonly transactionType: number | null;
  readonly propertyType: number | null;
}

/** The rows that decide the market of a property, the smallest place first. All but the last lack a median. */
function decisiveRows(
  { inseeCodes, departmentCode, transactionType, propertyType }: MarketPlace,
  markets: MarketPrices,
): readonly MarketPrice[] {
  const rows: MarketPrice[] = [];
  if (transactionType === null || propertyType === null) return rows;
  for (const code of departmentCode === null ? inseeCodes : [...inseeCodes, departmentCode]) {
    const row = markets.get(marketKey({ code, transactionType, propertyType }));
    if (row === undefined) continue;
    rows.push(row);
    if (row.median !== null) break;
  }
  return rows;
}

/** Null if too few prices are known, or if the transaction or the type is unknown. */
export function marketOfPlace(place: MarketPlace, markets: MarketPrices): KnownMarket | null {
  const market = decisiveRows(place, markets).at(-1);
  return market === undefined || market.median === null ? null : (market as KnownMarket);
}

/** When the median of the property's market last changed; null if no row decides. */
export function marketChangedAt(place: MarketPlace, markets: MarketPrices): Date | null {
  const times = decisiveRows(place, markets).map(({ changedAt }) => changedAt.getTime());
  return times.length === 0 ? null : new Date(Math.max(...times));
}

type ComparedProperty = PricedProperty & MarketPlace & { readonly markets: MarketPrices };

export interface MarketDifference {
  /** Of the property's price per m² from the median, unrounded; negative if the property is cheaper. */
  readonly percent: number;
  readonly market: KnownMarket;
}

/** Null if the property has no market, price or surface. */
export function marketDifferenceOf(property: ComparedProperty): MarketDifference | null {
  const { markets } = property;
  const price = markets.size === 0 ? null : comparablePrice(property);
  const market = price === null ? null : marketOfPlace(property, markets);
  if (price === null || market === null) return null;
  return { percent: ((price - market.median) / market.median) * 100, market };
}

export function marketPercent(property: ComparedProperty): number | null {
  return marketDifferenceOf(property)?.percent ?? null;
}
