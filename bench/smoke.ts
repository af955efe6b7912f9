/** `--smoke`: every benchmark in seconds, by which a test sees that it still runs and prints its figures. */

const isSmoke = process.argv.includes('--smoke');

/** A size of the load, and what it is with `--smoke`. */
export function sized(usual: string, tiny: string): string;
export function sized(usual: number, tiny: number): number;
export function sized(usual: string | number, tiny: string | number): string | number {
  return isSmoke ? tiny : usual;
}

/** Among the options of each. */
export const SMOKE = { smoke: { type: 'boolean', default: false } } as const;
