/**
 * Random numbers that are the same for a seed on every machine: sfc32 (C. Doty-Humphrey, PractRand; passes BigCrush),
 * its state filled from the seed by splitmix32. For samples, tests and benchmarks; never for secrets.
 */

import { type Uuid, uuidOfHex } from '../../domain/ids.ts';

export interface Random {
  /** Uniform in [0, 1), 32 bits. */
  uniform(): number;
  /** Uniform whole number, both ends included. */
  integer(min: number, max: number): number;
  /** About normal, mean 0 and deviation 1, never beyond ±3.5: four uniforms added, the same bits on every machine. */
  normal(): number;
  chance(probability: number): boolean;
  /** Throws on an empty list. */
  pick<T>(list: readonly T[]): T;
  /** One of `choices` with a probability proportional to its weight. */
  weighted<T>(choices: readonly (readonly [choice: T, weight: number])[]): T;
  /** In the form of version 4 (RFC 9562). */
  uuid(): Uuid;
}

/** `seed` is any number; its low 32 bits count. */
export function createRandom(seed: number): Random {
  const next = sfc32(seed);
  const uniform = () => next() / 0x1_0000_0000;
  return {
    uniform,
    integer: (min, max) => min + Math.floor(uniform() * (max - min + 1)),
    // Variance of one uniform is 1/12, of four 1/3.
    normal: () => (uniform() + uniform() + uniform() + uniform() - 2) * Math.sqrt(3),
    chance: (probability) => uniform() < probability,
    pick(list) {
      if (list.length === 0) throw new Error('nothing to pick from');
      return list[Math.floor(uniform() * list.length)] as (typeof list)[number];
    },
    weighted: (choices) => pickWeighted(choices, uniform()),
    uuid: () => uuidOfWords(next(), next(), next(), next()),
  };
}

function pickWeighted<T>(choices: readonly (readonly [T, number])[], uniform: number): T {
  let total = 0;
  for (const [, weight] of choices) total += weight;
  let rest = uniform * total;
  for (const [choice, weight] of choices) {
    rest -= weight;
    if (rest < 0) return choice;
  }
  throw new Error('no choice has a weight');
}

function sfc32(seed: number): () => number {
  let mixed = seed | 0;
  const mix = () => {
    mixed = (mixed + 0x9e37_79b9) | 0;
    let t = mixed ^ (mixed >>> 16);
    t = Math.imul(t, 0x21f0_aaad);
    t ^= t >>> 15;
    t = Math.imul(t, 0x735a_2d97);
    return t ^ (t >>> 15);
  };
  let a = mix();
  let b = mix();
  let c = mix();
  let counter = 1;
  const next = () => {
    const t = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + t) | 0;
    return t >>> 0;
  };
  for (let i = 0; i < 12; i++) next();
  return next;
}

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function hex16(word: number): string {
  return `${HEX[(word >>> 8) & 0xff]}${HEX[word & 0xff]}`;
}

function uuidOfWords(a: number, b: number, c: number, d: number): Uuid {
  const version = (b & 0x0fff) | 0x4000;
  const variant = ((c >>> 16) & 0x3fff) | 0x8000;
  const head = `${hex16(a >>> 16)}${hex16(a)}${hex16(b >>> 16)}${hex16(version)}${hex16(variant)}`;
  return uuidOfHex(`${head}${hex16(c)}${hex16(d >>> 16)}${hex16(d)}`);
}
