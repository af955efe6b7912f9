/**
 * The median comparable price of every market (decisions, section 3, `withCoherentPrice`). Each market keeps its prices
 * sorted in one typed array: eight bytes a property, a binary search and one memmove a change. The largest French
 * market holds some tens of thousands of prices, which move in a few microseconds.
 */

import { MARKET_SIZE_MIN, type Market } from '../domain/price-coherence.ts';

const CAPACITY_MIN = 16;
const GROWTH = 1.25;

export interface MarketMedians {
  /** Counts one property priced `price` (euros per m², finite). */
  add(market: Market, price: number): void;
  /** Forgets one property priced `price`; false when none is known at that price. */
  remove(market: Market, price: number): boolean;
  /** Null while fewer than `MARKET_SIZE_MIN` prices are known. The mean of the two middle ones when even. */
  median(market: Market): number | null;
  /** Of every market that has one. */
  all(): Iterable<{ readonly market: Market; readonly median: number }>;
  /** Forgets everything. */
  clear(): void;
}

interface SortedPrices {
  readonly market: Market;
  prices: Float64Array;
  count: number;
}

export function createMarketMedians(): MarketMedians {
  const markets = new Map<string, SortedPrices>();
  return {
    add(market, price) {
      if (!Number.isFinite(price)) throw new RangeError(`a price must be finite, not ${price}`);
      const key = keyOf(market);
      let sorted = markets.get(key);
      if (sorted === undefined) {
        sorted = { market, prices: new Float64Array(CAPACITY_MIN), count: 0 };
        markets.set(key, sorted);
      }
      insert(sorted, price);
    },
    remove(market, price) {
      const sorted = markets.get(keyOf(market));
      if (sorted === undefined) return false;
      const position = firstNotBelow(sorted, price);
      if (position === sorted.count || sorted.prices[position] !== price) return false;
      sorted.prices.copyWithin(position, position + 1, sorted.count);
      sorted.count -= 1;
      return true;
    },
    median(market) {
      const sorted = markets.get(keyOf(market));
      return sorted === undefined || sorted.count < MARKET_SIZE_MIN ? null : medianOf(sorted);
    },
    *all() {
      for (const sorted of markets.values()) {
        if (sorted.count >= MARKET_SIZE_MIN) yield { market: sorted.market, median: medianOf(sorted) };
      }
    },
    clear: () => markets.clear(),
  };
}

function keyOf(market: Market): string {
  return `${market.departmentCode}/${market.transactionType}/${market.isLand}`;
}

function insert(sorted: SortedPrices, price: number): void {
  const { count } = sorted;
  if (count === sorted.prices.length) {
    const larger = new Float64Array(Math.ceil(count * GROWTH));
    larger.set(sorted.prices);
    sorted.prices = larger;
  }
  const position = firstNotBelow(sorted, price);
  sorted.prices.copyWithin(position + 1, position, count);
  sorted.prices[position] = price;
  sorted.count = count + 1;
}

function medianOf({ prices, count }: SortedPrices): number {
  const upper = prices[count >> 1] as number;
  if (count % 2 === 1) return upper;
  return ((prices[(count >> 1) - 1] as number) + upper) / 2;
}

/** Position of the first price that is not below `price`; `count` when all are. */
function firstNotBelow({ prices, count }: SortedPrices, price: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((prices[middle] as number) < price) low = middle + 1;
    else high = middle;
  }
  return low;
}
