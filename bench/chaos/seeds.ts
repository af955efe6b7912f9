/** The seeds of the long run, and of the short one in the tests. */
export const CHAOS_SEEDS: readonly number[] = [20_261_121, 20_261_122, 20_261_123];
