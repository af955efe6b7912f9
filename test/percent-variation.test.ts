/** `percentVariation` is (new − old) / old × 100 with two decimals, halves away from zero, despite binary fractions. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { percentVariation } from '../src/engine/domain/change.ts';

const EXAMPLES: readonly [oldValue: number | null, newValue: number | null, percent: number | null][] = [
  [250_000, 240_000, -4],
  [240_000, 250_000, 4.17],
  [260_000, 250_000, -3.85],
  [100_000, 100_000, 0],
  [100_000, 0, -100],
  [1, 3, 200],
  [3, 1, -66.67],
  [0, 250_000, null],
  [0, 0, null],
  [null, 250_000, null],
  [250_000, null, null],
  [null, null, null],
  // Halves: 0.005, 0.015 and 1.005 % have no exact binary fraction.
  [20_000, 20_001, 0.01],
  [20_000, 19_999, -0.01],
  [20_000, 20_003, 0.02],
  [20_000, 20_201, 1.01],
  [20_000, 19_799, -1.01],
  [200_000, 200_009, 0],
  [45.5, 46.5, 2.2],
  [0.1, 0.3, 200],
];

for (const [oldValue, newValue, percent] of EXAMPLES) {
  test(`${oldValue} to ${newValue} is ${percent} %`, () => {
    assert.equal(percentVariation(oldValue, newValue), percent);
  });
}

test('a tie is rounded away from zero even if the values have more than four decimals', () => {
  assert.equal(percentVariation(0.00002, 0.00003), 50);
  assert.equal(percentVariation(1.23456, 1.2345661728), 0);
  assert.equal(percentVariation(1.23456, 1.234621728), 0.01);
});

const decimal = fc.record({
  digits: fc.bigInt({ min: -(10n ** 15n) + 1n, max: 10n ** 15n - 1n }),
  decimals: fc.nat({ max: 12 }),
});
const price = fc.record({ digits: fc.bigInt({ min: 0n, max: 10n ** 9n }), decimals: fc.nat({ max: 2 }) });

test('the variation is the hundredth nearest to the exact quotient, and of two the one farther from zero', () => {
  const numberOf = ({ digits, decimals }: { digits: bigint; decimals: number }) => Number(`${digits}e-${decimals}`);
  fc.assert(
    fc.property(fc.oneof(price, decimal), fc.oneof(price, decimal), (before, after) => {
      const percent = percentVariation(numberOf(before), numberOf(after));
      if (before.digits === 0n) return assert.equal(percent, null);
      // Scaled to integers: `dividend / divisor` is the quotient in hundredths of a percent.
      const divisor = before.digits * 10n ** BigInt(after.decimals);
      const dividend = (after.digits * 10n ** BigInt(before.decimals) - divisor) * 10_000n;
      const hundredths = BigInt(Math.round((percent as number) * 100));
      // A double distinguishes hundredths up to 2⁵³; converting a quotient back to hundredths costs some bits.
      if (absolute(hundredths) >= 2n ** 49n) return;
      const error = absolute(hundredths * divisor - dividend) * 2n;
      assert.ok(error <= absolute(divisor), `${percent} is not the nearest`);
      if (error === absolute(divisor)) {
        assert.ok(absolute(hundredths * divisor) > absolute(dividend), `${percent} is a tie rounded towards zero`);
      }
    }),
    { numRuns: 3_000 },
  );
});

function absolute(value: bigint): bigint {
  return value < 0n ? -value : value;
}
