/** Limits the size of one statement: its parameters are strings of bounded length. */

/** Approximate maximum characters of one statement's parameters. A larger item gets a statement of its own. */
const STATEMENT_LENGTH_MAX = 4 * 1_024 * 1_024;

/** Divides `items`, in their order, into shares of at most `STATEMENT_LENGTH_MAX`. */
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
