/** How much a value changed, exactly as events report it (decisions, section 4). */

const HUNDREDTHS_OF_PERCENT = 10_000n;

/**
 * (new − old) / old × 100 with two decimals, half away from zero. Null when either value is unknown or the old one is
 * 0. Reckons with the decimal numbers that were written, in whole numbers: as binary fractions, halves would be lost.
 */
export function percentVariation(oldValue: number | null, newValue: number | null): number | null {
  if (oldValue === null || newValue === null || oldValue === 0) return null;
  const [before, after] = onOneScale(decimalOf(oldValue), decimalOf(newValue));
  return Number(divideHalfAwayFromZero((after - before) * HUNDREDTHS_OF_PERCENT, before)) / 100;
}

/** `digits` × 10^`exponent`. */
interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/** The shortest decimal number that reads as `value`: the one that was written, up to 15 digits. */
function decimalOf(value: number): Decimal {
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

function onOneScale(a: Decimal, b: Decimal): [a: bigint, b: bigint] {
  const exponent = Math.min(a.exponent, b.exponent);
  return [a.digits * 10n ** BigInt(a.exponent - exponent), b.digits * 10n ** BigInt(b.exponent - exponent)];
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
