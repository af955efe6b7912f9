/** How many random cases a test tries: all of them in the long tests (`TEST_RUNS=all`), a quarter in `npm test`. */

const SHARE = process.env.TEST_RUNS === 'all' ? 1 : 1 / 4;

export function runsOf(all: number): number {
  return Math.ceil(all * SHARE);
}
