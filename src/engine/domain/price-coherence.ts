/** Decides whether a price is incoherent (decisions, section 3, `withCoherentPrice`). Prices are in euros per m². */

import { LAND, RENT } from './codes.ts';

/** The median of a market with fewer priced properties is not used. */
export const MARKET_SIZE_MIN = 50;
const MEDIAN_FACTOR = 5;
/** Tolerance at the limits, because median and price are rounded quotients whose last bits may differ. */
const ROUNDING = 1 + 4 * Number.EPSILON;

const BOUNDS = {
  sale: { min: 100, max: 100_000 },
  rent: { min: 1, max: 300 },
} as const;
const LAND_MIN = 0.1;

/** If the transaction is unknown, only a price outside the limits of both transactions is incoherent. */
function boundsOf(transactionType: number | null): { readonly min: number; readonly max: number } {
  if (transactionType === null) return { min: BOUNDS.rent.min, max: BOUNDS.sale.max };
  return transactionType === RENT ? BOUNDS.rent : BOUNDS.sale;
}

export interface PricedProperty {
  readonly transactionType: number | null;
  readonly propertyType: number | null;
  readonly departmentCode: string | null;
  readonly price: number | null;
  readonly surface: number | null;
  readonly landSurface: number | null;
}

/** Properties with comparable prices. They have the same department and transaction. Land is a market of its own. */
export interface Market {
  readonly departmentCode: string;
  readonly transactionType: number;
  readonly isLand: boolean;
}

/** Price per m² of surface or, for land, of land surface. Null if a value is unknown or the surface is 0. */
export function comparablePrice(property: PricedProperty): number | null {
  const surface = property.propertyType === LAND ? property.landSurface : property.surface;
  return property.price === null || surface === null || surface === 0 ? null : property.price / surface;
}

export function marketOf(property: PricedProperty): Market | null {
  const { departmentCode, transactionType } = property;
  if (departmentCode === null || transactionType === null) return null;
  return { departmentCode, transactionType, isLand: property.propertyType === LAND };
}

/** `median`: the median of the property's market; null if the market has fewer than `MARKET_SIZE_MIN` known prices. */
export function isPriceCoherent(property: PricedProperty, median: number | null): boolean {
  const price = comparablePrice(property);
  if (price === null) return true;
  const bounds = boundsOf(property.transactionType);
  const min = property.propertyType === LAND ? LAND_MIN : bounds.min;
  if (price < min || price > bounds.max) return false;
  const factor = MEDIAN_FACTOR * ROUNDING;
  return median === null || (price >= median / factor && price <= median * factor);
}
