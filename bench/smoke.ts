/** `--smoke` runs a benchmark in seconds, so that a test can check that it works and prints its figures. */

const isSmoke = process.argv.includes('--smoke');

/** A size of the load: `usual`, or `tiny` with `--smoke`. */
export function sized(usual: string, tiny: string): string;
export function sized(usual: number, tiny: number): number;
export function sized(usual: string | number, tiny: string | number): string | number {
  return isSmoke ? tiny : usual;
}

/** Several times the duration of the longest smoke run on two busy cores. */
const SMOKE_MAX_MS = 900_000;
if (isSmoke) setTimeout(giveUp, SMOKE_MAX_MS).unref();

/** Reports open resources when a wait without its own timeout does not end. */
function giveUp(): never {
  const open = process.getActiveResourcesInfo().join(', ');
  console.error(`The smoke run has not ended after ${SMOKE_MAX_MS} ms. Open resources: ${open}`);
  process.exit(1);
}

/** The option that every benchmark has. */
export const SMOKE = { smoke: { type: 'boolean', default: false } } as const;
