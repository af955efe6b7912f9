/** A price is incoherent outside the bounds of its kind, or more than a factor of five from a known median. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  comparablePrice,
  isPriceCoherent,
  marketOf,
  type PricedProperty,
} from '../src/engine/domain/price-coherence.ts';

const FLAT: PricedProperty = {
  transactionType: 0,
  propertyType: 0,
  departmentCode: '75',
  price: 500_000,
  surface: 50,
  landSurface: null,
};

test('sale, rent and land have separate limits, which are inclusive', () => {
  const at = (property: Partial<PricedProperty>) =>
    isPriceCoherent({ ...FLAT, surface: 1, landSurface: 1, ...property }, null);
  assert.ok(at({ price: 100 }) && !at({ price: 99.99 }) && at({ price: 100_000 }) && !at({ price: 100_001 }));
  const rent = { transactionType: 1 };
  assert.ok(at({ ...rent, price: 1 }) && !at({ ...rent, price: 0.99 }));
  assert.ok(at({ ...rent, price: 300 }) && !at({ ...rent, price: 301 }));
  const land = { propertyType: 5 };
  assert.ok(at({ ...land, price: 0.1 }) && !at({ ...land, price: 0.09 }) && !at({ ...land, price: 100_001 }));
});

test('a price without a kind of transaction is incoherent only if it would be as a sale and as a rent', () => {
  const at = (price: number) => isPriceCoherent({ ...FLAT, transactionType: null, surface: 1, price }, null);
  assert.ok(at(1) && at(15) && at(100_000));
  assert.ok(!at(0.99) && !at(100_001));
});

test('a fifth and five times the median are still coherent', () => {
  assert.equal(comparablePrice(FLAT), 10_000);
  assert.ok(isPriceCoherent(FLAT, 50_000) && !isPriceCoherent(FLAT, 50_001));
  assert.ok(isPriceCoherent(FLAT, 2000) && !isPriceCoherent(FLAT, 1999));
});

test('the limit is exact however the quotients are rounded', () => {
  for (let surface = 20; surface <= 150; surface += 0.37) {
    for (let price = 100_000; price < 300_000; price += 5_000) {
      const median = comparablePrice({ ...FLAT, price, surface });
      const at = (other: number) => isPriceCoherent({ ...FLAT, price: other, surface }, median);
      assert.ok(at(price / 5) && !at(price / 5 - 0.01), `${price} for ${surface} m²`);
      assert.ok(at(price * 5) && !at(price * 5 + 0.01), `${price} for ${surface} m²`);
    }
  }
});

test('an unknown price or surface is not incoherent', () => {
  assert.ok(isPriceCoherent({ ...FLAT, price: null }, 1));
  assert.ok(isPriceCoherent({ ...FLAT, surface: null }, 1));
  assert.ok(isPriceCoherent({ ...FLAT, surface: 0 }, 1));
});

test('land is a separate market, based on the land surface', () => {
  const land = { ...FLAT, propertyType: 5, landSurface: 1000 };
  assert.equal(comparablePrice(land), 500);
  assert.deepEqual(marketOf(land), { departmentCode: '75', transactionType: 0, isLand: true });
  assert.equal(marketOf({ ...FLAT, departmentCode: null }), null);
});
