/** Limits the size of a statement's parameters. */

/** Approximate maximum length of a statement's parameters, in characters. A longer item gets its own statement. */
const STATEMENT_LENGTH_MAX = 4 * 1_024 * 1_024;

/** Divides `items`, in the same order, into shares of at most `STATEMENT_LENGTH_MAX`. */
export function statementShares<T>(items: readonly T[], lengthOf: (item: T) => number): readonly (readonly T[])[] {
  const shares: T[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const itemLength = lengthOf(item);
    if (length + itemLength > STATEMENT_LENGTH_MAX) {
      shares.push([]);
      length = 0;
    }
    shares.at(-1)?.push(item);
    length += itemLength;
  }
  return shares;
}
