/**
 * Folds text so that names and expressions can be compared (decisions, section 2). Folding ignores case, accents,
 * ligatures, forms of apostrophes and hyphens, and invisible characters such as soft hyphens and zero-width spaces.
 */

import { LRUCache } from 'lru-cache';

const MARKS = /[\p{M}\p{Default_Ignorable_Code_Point}]+/gu;
const WORDS = /[\p{L}\p{N}]+/gu;
const NOT_ASCII = /[\u0080-\uffff]/;
/** Letters that Unicode does not decompose. */
const LIGATURES = /[œæßłøđ]/g;
const LIGATURE_LETTERS: Readonly<Record<string, string>> = { œ: 'oe', æ: 'ae', ß: 'ss', ł: 'l', ø: 'o', đ: 'd' };

/**
 * The words of `text`, folded: lower case, without diacritics and invisible characters, `œ` as `oe`. A word consists of
 * letters and digits, and all other characters separate words.
 */
export function foldWords(text: string): readonly string[] {
  return fold(text).match(WORDS) ?? [];
}

/** Drops marks even before normalization, which would take quadratic time to order a long run of them. */
function fold(text: string): string {
  if (!NOT_ASCII.test(text)) return text.toLowerCase();
  return text
    .replace(MARKS, '')
    .normalize('NFKD')
    .toLowerCase()
    .replace(MARKS, '')
    .replace(LIGATURES, (letter) => LIGATURE_LETTERS[letter] ?? letter);
}

/** Cuts a text to `lengthMax` UTF-16 code units, with an ellipsis, and splits no surrogate pair. */
export function cut(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Separators: none; one space; spaces or apostrophes; one hyphen, point or comma; a colon (with spaces); others. */
export const NOTHING = 0;
export const BLANK = 1;
export const BLANKS = 2;
export const HYPHEN = 3;
export const POINT = 4;
export const COMMA = 5;
export const COLON = 6;
/** Also used before the first word. */
export const BREAK = 7;

const BLANK_CHARACTER = /^[^\S\n\r\v\f\u2028\u2029]$/;
const CHARACTERS = [
  [/^['’‘‛′`]$/, BLANKS],
  [/^[\p{Pd}−]$/u, HYPHEN],
  [/^\.$/, POINT],
  [/^,$/, COMMA],
  [/^:$/, COLON],
] as const;

/** The separator that results when `next` follows `before`. */
export function joinAfter(before: number, next: number): number {
  if (before === NOTHING) return next;
  if (next === NOTHING) return before;
  const [less, more] = before < next ? [before, next] : [next, before];
  if (more <= BLANKS) return BLANKS;
  return less <= BLANKS && more === COLON ? COLON : BREAK;
}

function joinOf(separators: string): number {
  let join = NOTHING;
  for (const character of separators) {
    const isBlank = BLANK_CHARACTER.test(character);
    join = joinAfter(join, isBlank ? BLANK : (CHARACTERS.find(([form]) => form.test(character))?.[1] ?? BREAK));
  }
  return join;
}

/** The words as returned by `foldWords`, each with the separator before it. */
export function foldWordsJoined(text: string) {
  const words: string[] = [];
  const joins: number[] = [];
  const folded = fold(text);
  let end = 0;
  for (const { 0: word, index } of folded.matchAll(WORDS)) {
    joins.push(words.length === 0 ? BREAK : joinOf(folded.slice(end, index)));
    words.push(word);
    end = index + word.length;
  }
  return { words, joins };
}

/** Result of `letterOf` for a character that ends a word. */
export const SEPARATOR = 1;
/** Result for a character that folding removes, such as a combining accent. */
export const SILENT = 2;
/** Result for a character that folds to several letters (see `lettersOf`). */
export const LIGATURE = 3;
/** Result if folding depends on neighbours or is not ASCII: use `foldWords` or, for surrogates, `isSeparatorPair`. */
export const IRREGULAR = 4;

/** Results of `letterOf` by UTF-16 unit; 0 if it was not yet called for the unit. */
export const LETTERS = new Uint8Array(0x10000);
const expansions = new Map<number, string>();
const separatorPairs = new LRUCache<number, boolean>({ max: 2000 });

/**
 * How `foldWords` treats a UTF-16 unit in any position. The result is the code of the ASCII letter or digit that it
 * becomes, or one of the codes above. A reader of many adverts can thus fold them without creating strings.
 */
export function letterOf(unit: number): number {
  const known = LETTERS[unit] as number;
  if (known !== 0) return known;
  const letter = classify(unit);
  LETTERS[unit] = letter;
  return letter;
}

const knownJoins = new Uint8Array(0x10000);

/** The kind of separator that a unit is, if `letterOf` returns `SEPARATOR` for it. */
export function joinOfUnit(unit: number): number {
  const known = knownJoins[unit] as number;
  if (known !== NOTHING) return known;
  const join = joinOf(fold(String.fromCharCode(unit)));
  knownJoins[unit] = join;
  return join;
}

/** Whether `foldWords` treats the character of these two units, such as an emoji, as the end of a word. */
export function isSeparatorPair(high: number, low: number): boolean {
  const pair = (high << 16) | low;
  let isSeparator = separatorPairs.get(pair);
  if (isSeparator === undefined) {
    const words = foldWords(`a${String.fromCharCode(high, low)}b`);
    isSeparator = words.length === 2 && words[0] === 'a' && words[1] === 'b';
    separatorPairs.set(pair, isSeparator);
  }
  return isSeparator;
}

/** The ASCII letters of a `LIGATURE`. */
export function lettersOf(unit: number): string {
  return expansions.get(unit) as string;
}

function classify(unit: number): number {
  if (unit >= 0xd800 && unit <= 0xdfff) return IRREGULAR;
  const words = foldWords(`a${String.fromCharCode(unit)}b`);
  if (words.length === 2 && words[0] === 'a' && words[1] === 'b') return SEPARATOR;
  const [word] = words;
  if (words.length !== 1 || word === undefined || !/^[a-z0-9]*$/.test(word)) return IRREGULAR;
  if (word === 'ab') return SILENT;
  if (word.length === 3) return word.charCodeAt(1);
  expansions.set(unit, word.slice(1, -1));
  return LIGATURE;
}

/** The folded words, joined by one space. */
export function foldText(text: string): string {
  return foldWords(text).join(' ');
}

/** `rateLimitBurst` becomes `rate_limit_burst`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const VISIBLE = /[^\s\p{Default_Ignorable_Code_Point}]/u;

/** Whether the text has only white space and invisible characters. */
export function isBlank(text: string): boolean {
  return !VISIBLE.test(text);
}

/** PostgreSQL cannot store U+0000 or halves of surrogate pairs. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** Replaces U+0000 and halves of surrogate pairs with U+FFFD, for text that must be stored in any case. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
