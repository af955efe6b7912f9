/** A median is that of the prices a market knows now, whatever came and went before. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MARKET_SIZE_MIN, type Market } from '../src/engine/domain/price-coherence.ts';
import { createMarketMedians } from '../src/engine/matching/market-medians.ts';

const PARIS: Market = { departmentCode: '75', transactionType: 0, isLand: false };
const MARKETS: readonly Market[] = [
  PARIS,
  { ...PARIS, isLand: true },
  { ...PARIS, transactionType: 1 },
  { ...PARIS, departmentCode: '2A' },
];

function naiveMedian(prices: readonly number[]): number | null {
  if (prices.length < MARKET_SIZE_MIN) return null;
  const sorted = prices.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] as number) + (sorted[Math.floor(middle)] as number)) / 2;
}

test('the median agrees with sorting everything, through additions and removals in every market', () => {
  const change = fc.record({
    market: fc.nat({ max: MARKETS.length - 1 }),
    price: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.double({ min: 0.01, max: 1e6, noNaN: true })),
    isRemoval: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 600, size: 'max' }), (changes) => {
      const medians = createMarketMedians();
      const known = MARKETS.map((): number[] => []);
      for (const { market, price, isRemoval } of changes) {
        const prices = known[market] as number[];
        if (isRemoval) {
          const position = prices.indexOf(price);
          if (position !== -1) prices.splice(position, 1);
          assert.equal(medians.remove(MARKETS[market] as Market, price), position !== -1);
        } else {
          prices.push(price);
          medians.add(MARKETS[market] as Market, price);
        }
        assert.equal(medians.median(MARKETS[market] as Market), naiveMedian(prices));
      }
    }),
    { numRuns: 50 },
  );
});

test('a market speaks from its fiftieth price on', () => {
  const medians = createMarketMedians();
  for (let price = 1; price < MARKET_SIZE_MIN; price++) medians.add(PARIS, price);
  assert.equal(medians.median(PARIS), null);
  medians.add(PARIS, 1000);
  assert.equal(medians.median(PARIS), 25.5);
  assert.ok(medians.remove(PARIS, 1000));
  assert.equal(medians.median(PARIS), null);
  assert.equal(medians.median({ ...PARIS, isLand: true }), null);
});

test('a price that is no number is refused, one that is unknown cannot be removed', () => {
  const medians = createMarketMedians();
  assert.throws(() => medians.add(PARIS, Number.NaN), RangeError);
  assert.equal(medians.remove(PARIS, 1), false);
});
