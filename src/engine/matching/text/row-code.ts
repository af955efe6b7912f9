/**
 * Expressions of one or two words as one negative integer, which a row holds: they are decided without reading their
 * record. Most are of that kind; all others are a positive integer, their id.
 */

import type { AdvertText } from './advert-text.ts';

/** `codes`: of one phrase, or of terms. */
export interface CompiledEntry {
  readonly includes: boolean;
  readonly strict: boolean;
  /** Any of them will do: terms, or of a strict entry its phrase; complements are loose phrases. */
  readonly codes: readonly number[];
}

/** The bits of the complement. Of a single term or phrase, its code above these. */
const IS_PAIR = 1;
const INCLUDES = 2;
const IS_STRICT = 4;
const IS_LOOSE = 8;
const CODE_SHIFT = 4;
/** Layout of a code of two terms: whether one suffices, whether each must occur, and two codes. */
const IS_ANY = 2;
const INCLUDES_FIRST = 4;
const INCLUDES_SECOND = 8;
const FIRST_SHIFT = 4;
const SECOND_SHIFT = 17;
const PAIR_CODES_END = 2 ** (SECOND_SHIFT - FIRST_SHIFT);

interface Term {
  readonly includes: boolean;
  readonly code: number;
}

export function rowCodeOf(id: number, groups: readonly (readonly CompiledEntry[])[]): number {
  const entries = groups.flat();
  const [entry] = entries;
  if (entry === undefined || groups.some(({ length }) => length === 0)) return id;
  const [code] = entry.codes;
  if (entries.length === 1 && entry.codes.length === 1 && code !== undefined) {
    const flags = (entry.includes ? INCLUDES : 0) | (entry.strict ? IS_STRICT : 0) | (code < 0 ? IS_LOOSE : 0);
    return ~(flags | ((code < 0 ? ~code : code) << CODE_SHIFT));
  }
  const isPlain = groups.every((group) => groups.length === 1 || group.length === 1);
  if (!isPlain || entries.some(({ strict, codes }) => strict || codes.length !== 1)) return id;
  const terms = entries.map(({ includes, codes }): Term => ({ includes, code: codes[0] as number }));
  return pairCodeOf(terms, groups.length > 1) ?? id;
}

function pairCodeOf([first, second, ...others]: readonly Term[], isAny: boolean): number | null {
  if (first === undefined || second === undefined || others.length > 0) return null;
  if (first.code < 0 || second.code < 0) return null;
  if (first.code >= PAIR_CODES_END || second.code >= PAIR_CODES_END) return null;
  const flags = IS_PAIR | (isAny ? IS_ANY : 0);
  const includes = (first.includes ? INCLUDES_FIRST : 0) | (second.includes ? INCLUDES_SECOND : 0);
  return ~(flags | includes | (first.code << FIRST_SHIFT) | (second.code << SECOND_SHIFT));
}

/** `rowCode`: negative. */
export function holdsByRowCode(rowCode: number, text: AdvertText): boolean {
  const bits = ~rowCode;
  if ((bits & IS_PAIR) === 0) {
    const code = bits >> CODE_SHIFT;
    let occurs: boolean;
    if ((bits & IS_STRICT) !== 0) occurs = text.hasPhrase(code);
    else occurs = (bits & IS_LOOSE) === 0 ? text.hasTerm(code) : text.hasLoosePhrase(code);
    return occurs === ((bits & INCLUDES) !== 0);
  }
  const firstHolds = text.hasTerm((bits >> FIRST_SHIFT) & (PAIR_CODES_END - 1)) === ((bits & INCLUDES_FIRST) !== 0);
  if (firstHolds === ((bits & IS_ANY) !== 0)) return firstHolds;
  return text.hasTerm(bits >> SECOND_SHIFT) === ((bits & INCLUDES_SECOND) !== 0);
}
