/** Numbers as clients write them in texts and query strings: a sign and an exponent are as good as none. */

/** A plus sign that nobody has encoded reaches us as a blank. */
export const NUMBER = /^[-+ ]?\d+(\.\d+)?(e[-+]?\d{1,3})?$/i;
const DECIMAL = /^-?\d+(\.\d+)?$/;

/** Without plus sign and exponent: `String(1e-7)` is no decimal. Every digit of a decimal is kept. */
export function decimalOf(value: number | string): string {
  const text = String(value).replace(/^[+ ]/, '');
  return DECIMAL.test(text)
    ? text
    : Number(text)
        .toFixed(20)
        .replace(/\.?0+$/, '');
}
