/** Expressions as sixteen-bit units, the same for equal ones and for no others: they are distinguished without a string. */

import { randomInt } from 'node:crypto';
import {
  EXPRESSION_ENTRIES_MAX,
  EXPRESSION_GROUPS_MAX,
  EXPRESSION_WORD_LENGTH_MAX,
  type Expressions,
} from '../../domain/expressions.ts';

const UNITS_MAX = 1 + EXPRESSION_GROUPS_MAX + EXPRESSION_ENTRIES_MAX * (1 + EXPRESSION_WORD_LENGTH_MAX);
/** Random in this process: an attacker who knew them could create thousands of expressions that share one chain. */
const HASH_START = randomInt(2 ** 32) | 0;
const HASH_FACTOR = (2 * randomInt(2 ** 31) + 1) | 0;

export class ExpressionSpelling {
  /** How many they are; for each group the number of entries; for each its length and flags, then its characters. */
  readonly #units = new Uint16Array(UNITS_MAX);
  #hash = 0;

  get length(): number {
    return this.#units[0] as number;
  }

  get hash(): number {
    return this.#hash;
  }

  /** `expressions`: within the limits of `parseExpressions`. */
  write(expressions: Expressions): void {
    const units = this.#units;
    let end = 1;
    for (const group of expressions) {
      units[end++] = group.length;
      for (const { word, includes, strict } of group) {
        units[end++] = 4 * word.length + (strict ? 2 : 0) + (includes ? 1 : 0);
        for (let i = 0; i < word.length; i++) units[end++] = word.charCodeAt(i);
      }
    }
    units[0] = end;
    let hash = HASH_START;
    for (let i = 0; i < end; i++) hash = Math.imul(hash ^ (units[i] as number), HASH_FACTOR);
    this.#hash = hash ^ (hash >>> 15);
  }

  copyTo(units: Uint16Array, start: number): void {
    for (let i = 0; i < this.length; i++) units[start + i] = this.#units[i] as number;
  }

  /** Whether these expressions were copied there. */
  isAt(units: Uint16Array, start: number): boolean {
    for (let i = 0; i < this.length; i++) if (units[start + i] !== this.#units[i]) return false;
    return true;
  }
}

/** The length of what was copied there, in units. */
export function spellingLengthAt(units: Uint16Array, start: number): number {
  return units[start] as number;
}
