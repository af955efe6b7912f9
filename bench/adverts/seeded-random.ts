/**
 * Random choices that are the same for the same seed on every machine. For samples, tests and benchmarks, never for
 * secrets.
 */

import { mersenne } from 'pure-rand/generator/mersenne';
import { type Uuid, uuidOfHex } from '../../src/engine/domain/ids.ts';

export interface Random {
  /** Uniform in [0, 1), 32 bits. */
  uniform(): number;
  /** A uniform integer, both ends included. */
  integer(min: number, max: number): number;
  /**
   * About normal, mean 0, deviation 1, within ±3.5. As a sum of four uniforms it has the same bits on every machine.
   */
  normal(): number;
  chance(probability: number): boolean;
  /** Throws on an empty list. */
  pick<T>(list: readonly T[]): T;
  /** One of `choices` with a probability proportional to its weight. */
  weighted<T>(choices: readonly (readonly [choice: T, weight: number])[]): T;
  /** A UUID in the form of version 4 (RFC 9562). */
  uuid(): Uuid;
}

/** `seed` is any number; only its low 32 bits are used. */
export function createRandom(seed: number): Random {
  const generator = mersenne(seed);
  const next = () => generator.next() >>> 0;
  const uniform = () => next() / 2 ** 32;
  return {
    uniform,
    integer: (min, max) => min + Math.floor(uniform() * (max - min + 1)),
    // A uniform value has variance 1/12, the sum of four has 1/3.
    normal: () => (uniform() + uniform() + uniform() + uniform() - 2) * Math.sqrt(3),
    chance: (probability) => uniform() < probability,
    pick(list) {
      if (list.length === 0) throw new Error('cannot pick from an empty list');
      return list[Math.floor(uniform() * list.length)] as (typeof list)[number];
    },
    weighted: (choices) => pickWeighted(choices, uniform()),
    uuid: () => uuidOf(next),
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
  throw new Error('no choice has a positive weight');
}

function uuidOf(next: () => number): Uuid {
  const bytes = Buffer.alloc(16);
  for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32BE(next(), at);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  return uuidOfHex(bytes.toString('hex'));
}
