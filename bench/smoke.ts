/** `--smoke` runs a benchmark in seconds, so that a test sees that it still works and prints its figures. */

const isSmoke = process.argv.includes('--smoke');

/** A size of the load: `usual`, or `tiny` with `--smoke`. */
export function sized(usual: string, tiny: string): string;
export function sized(usual: number, tiny: number): number;
export function sized(usual: string | number, tiny: string | number): string | number {
  return isSmoke ? tiny : usual;
}

/** Several times what the longest takes on two cores. */
const SMOKE_MAX_MS = 300_000;
if (isSmoke) setTimeout(giveUp, SMOKE_MAX_MS).unref();

/** Says what is still open, for a wait that has no bound of its own. */
function giveUp(): never {
  console.error(`not over after ${SMOKE_MAX_MS} ms; still open: ${process.getActiveResourcesInfo().join(', ')}`);
  process.exit(1);
}

/** The option that every benchmark has. */
export const SMOKE = { smoke: { type: 'boolean', default: false } } as const;
