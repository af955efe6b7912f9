/** What the kernel of texts asks about a unit of UTF-16 that it has not met, or cannot tell alone. */

import { IRREGULAR, isSeparatorPair, LIGATURE, letterOf, lettersOf, SEPARATOR, SILENT } from '../../domain/text.ts';
import { ENDS_WORD, LEAVES_TEXT, LETTERS, WORD_LENGTH_MAX } from '../kernel/text-layout.ts';
import type { SharedMemory } from '../rows/shared-memory.ts';

const HIGH_SURROGATES = 0xd800;
const LOW_SURROGATES = 0xdc00;
const SURROGATES_END = 0xe000;

type ReadLetter = (unit: number, next: number, spelling: number, length: number) => number;

/** Writes the letters that the unit becomes behind those of the word so far. */
export function createLetterReader(memory: SharedMemory): ReadLetter {
  return (unit, next, spelling, length) => {
    const letter = letterOf(unit);
    const { bytes } = memory;
    bytes[LETTERS + unit] = letter;
    if (letter === SEPARATOR) return ENDS_WORD;
    if (letter === SILENT) return length;
    if (letter === IRREGULAR) {
      // Half a character on its own ends a word like any other sign.
      if (unit < HIGH_SURROGATES || unit >= SURROGATES_END) return LEAVES_TEXT;
      const isPair = unit < LOW_SURROGATES && next >= LOW_SURROGATES && next < SURROGATES_END;
      return isPair && !isSeparatorPair(unit, next) ? LEAVES_TEXT : ENDS_WORD;
    }
    const letters = letter === LIGATURE ? lettersOf(unit) : String.fromCharCode(letter);
    if (length + letters.length > WORD_LENGTH_MAX) return LEAVES_TEXT;
    for (let i = 0; i < letters.length; i++) bytes[spelling + length + i] = letters.charCodeAt(i);
    return length + letters.length;
  };
}
