/** Seeded randomness: a stream for each (seed, subject, position), so that search 5 is independent of earlier draws. */

export interface Random {
  /** In [0, 1). */
  next(): number;
  integer(min: number, max: number): number;
  chance(share: number): boolean;
  /** Normally distributed: mean 0, deviation 1. */
  normal(): number;
  /** One of `values`, weighted by the number at the same position. */
  pick<T>(values: readonly T[], weights: readonly number[]): T;
  one<T>(values: readonly T[]): T;
}

/** sfc32 (C. Doty-Humphrey, PractRand), seeded by a mixing function similar to splitmix. */
export function randomOf(seed: number, subject: number, position: number): Random {
  let a = mix(seed ^ 0x9e3779b9);
  let b = mix(subject + a);
  let c = mix(position ^ b);
  let d = 1;
  function next(): number {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    c |= 0;
    return (sum >>> 0) / 2 ** 32;
  }
  for (let i = 0; i < 8; i++) next();
  return {
    next,
    integer: (min, max) => min + Math.floor(next() * (max - min + 1)),
    chance: (share) => next() < share,
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
    pick: (values, weights) => {
      let left = next() * weights.reduce((sum, weight) => sum + weight, 0);
      for (const [i, weight] of weights.entries()) {
        left -= weight;
        if (left < 0) return values[i] as (typeof values)[number];
      }
      return values[values.length - 1] as (typeof values)[number];
    },
    one: (values) => values[Math.floor(next() * values.length)] as (typeof values)[number],
  };
}

function mix(value: number): number {
  let mixed = value | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return mixed ^ (mixed >>> 15);
}
