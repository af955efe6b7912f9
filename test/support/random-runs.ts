/** Number of random cases of a test: all in the long tests (`TEST_RUNS=all`), an eighth in `npm test`. */

const SHARE = process.env.TEST_RUNS === 'all' ? 1 : 1 / 8;

export function runsOf(all: number): number {
  return Math.ceil(all * SHARE);
}
