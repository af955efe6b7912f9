/** Work that several want at the same time and that is done once for all of them. */

/** What it returns begins `work`, or shares the end of the one that is under way. */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | null = null;
  return () => {
    underWay ??= work().finally(() => {
      underWay = null;
    });
    return underWay;
  };
}
