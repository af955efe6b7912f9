/** `--smoke` runs a benchmark in seconds, so that a test sees that it still works and prints its figures. */

const isSmoke = process.argv.includes('--smoke');

/** A size of the load: `usual`, or `tiny` with `--smoke`. */
export function sized(usual: string, tiny: string): string;
export function sized(usual: number, tiny: number): number;
export function sized(usual: string | number, tiny: string | number): string | number {
  return isSmoke ? tiny : usual;
}

/** The option that every benchmark has. */
export const SMOKE = { smoke: { type: 'boolean', default: false } } as const;
