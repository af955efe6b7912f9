/** How much a value changed, exactly as events report it (decisions, section 4). */

/** Prices and surfaces are compared to four decimals, so that halves are decided in whole numbers, not in binary fractions. */
const SCALE = 10_000;
const HUNDREDTHS_OF_PERCENT = 10_000n;

/**
 * (new − old) / old × 100 with two decimals, half away from zero. Null when either value is unknown or the old one
 * is 0. Both values must lie within ±9 × 10¹¹, the range that four exact decimals leave.
 */
export function percentVariation(oldValue: number | null, newValue: number | null): number | null {
  if (oldValue === null || newValue === null) return null;
  const before = BigInt(Math.round(oldValue * SCALE));
  const after = BigInt(Math.round(newValue * SCALE));
  if (before === 0n) return null;
  return Number(divideHalfAwayFromZero((after - before) * HUNDREDTHS_OF_PERCENT, before)) / 100;
}

function divideHalfAwayFromZero(dividend: bigint, divisor: bigint): bigint {
  const isNegative = dividend < 0n !== divisor < 0n;
  const [n, d] = [abs(dividend), abs(divisor)];
  const rounded = (2n * n + d) / (2n * d);
  return isNegative ? -rounded : rounded;
}

function abs(value: bigint): bigint {
  return value < 0n ? -value : value;
}
