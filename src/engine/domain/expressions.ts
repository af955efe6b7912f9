/**
 * Text conditions of a search (specification, section 2.1; decisions, section 2). At least one group must hold. A group
 * holds if all its entries hold. Clients may send three forms; answers always have the bracketed query string.
 */

import { LRUCache } from 'lru-cache';
import qs from 'qs';
import type { InLanguages } from './criterion-words.ts';
import { foldWords, isStorable } from './text.ts';
import { type FoldedText, hasPhrase, phrasesOf } from './word-phrases.ts';

export interface ExpressionEntry {
  readonly word: string;
  /** False if the text must not contain the word. */
  readonly includes: boolean;
  /** True requires the exact words, adjacent and in order. For false, see `word-phrases.ts`. */
  readonly strict: boolean;
}

export type ExpressionGroup = readonly ExpressionEntry[];
/** Empty if there is no condition. No group is empty. */
export type Expressions = readonly ExpressionGroup[];

/** These limits prevent one search from slowing the matching of every advert. They are far above what people write. */
export const EXPRESSION_GROUPS_MAX = 50;
export const EXPRESSION_ENTRIES_MAX = 200;
export const EXPRESSION_WORD_LENGTH_MAX = 200;
/** Maximum length of the query string, in UTF-16 units. */
export const EXPRESSIONS_LENGTH_MAX = 64 * 1024;

export class ExpressionsError extends Error {
  readonly code = 'EXPRESSIONS_INVALID';
}

/** An error at one position in an input. */
export interface ExpressionFault {
  readonly path: readonly (string | number)[];
  /** The error or, if `known` is set, the kind of name that the last step of `path` should be. */
  readonly message: InLanguages<string>;
  /** The accepted names. Set only if the last step of `path` is an unknown name. */
  readonly known?: readonly string[];
  /** Number of further unknown names in the same object. */
  readonly more?: number;
  /** True if nothing is left of the entry's word after folding. */
  readonly isBlank?: boolean;
}

export type ReportFault = (fault: ExpressionFault) => void;

/**
 * Parses the expressions of a stored search. Their length is not checked again, because `readExpressions` checked it
 * when the client sent them. Ignores entries whose word is empty after folding (text.ts). Throws `ExpressionsError`.
 */
export function parseExpressions(input: unknown): Expressions {
  if (input === null || input === undefined || input === '') return [];
  const known = typeof input === 'string' ? parsed.get(input) : undefined;
  if (known !== undefined) return known;
  const expressions = readGroups(input, ({ path, message, isBlank = false }) => {
    if (!isBlank) throw new ExpressionsError(`${path.join('.')} ${message.en}`);
  });
  if (typeof input === 'string') parsed.set(input, expressions);
  return expressions;
}

const PARSED_BYTES_MAX = 16 * 1024 * 1024;

/**
 * A cache: searches share a few thousand expressions, and parsing a query string takes fifteen microseconds. Its limit
 * is in bytes: for each character, one byte of the query string and about three bytes of the parsed entries.
 */
const parsed = new LRUCache<string, Expressions>({
  maxSize: PARSED_BYTES_MAX,
  maxEntrySize: PARSED_BYTES_MAX >> 8,
  sizeCalculation: (_, query) => 4 * query.length,
});

/**
 * Reads expressions in any accepted form: the bracketed query string, the same structure as nested objects, or a flat
 * array of `{word, includes, strict}`. Each item of a flat array is a group. Calls `report` at least once if there are
 * errors; the result must then not be used.
 */
export function readExpressions(input: unknown, report: ReportFault): Expressions {
  if (input === null || input === undefined || input === '') return [];
  const isTooLong = (text: string): boolean => text.length > EXPRESSIONS_LENGTH_MAX;
  const refuse = (): Expressions => {
    report({ path: [], message: TOO_LONG });
    return [];
  };
  if (typeof input === 'string' && isTooLong(input)) return refuse();
  let isFaulty = false;
  const expressions = readGroups(input, (fault) => {
    isFaulty = true;
    report(fault);
  });
  return !isFaulty && isTooLong(formatExpressions(expressions) ?? '') ? refuse() : expressions;
}

/** The bracketed query string with percent-encoded values; null if there is no condition. */
export function formatExpressions(expressions: Expressions): string | null {
  if (expressions.length === 0) return null;
  const pairs = expressions.flatMap((group, g) =>
    group.flatMap((entry, i) => {
      const path = `expressions[${g}][${i}]`;
      return [
        `${path}[word]=${encodeURIComponent(entry.word)}`,
        `${path}[options][includes]=${entry.includes}`,
        `${path}[options][strict]=${entry.strict}`,
      ];
    }),
  );
  return pairs.join('&');
}

/** True if a group holds or if there are no groups. */
export function expressionsHold(expressions: Expressions, text: FoldedText): boolean {
  return expressions.length === 0 || expressions.some((group) => group.every((entry) => entryHolds(entry, text)));
}

/** Whether the word occurs and every occurrence is negated. Always false for strict entries, which ignore negations. */
export function isDenied({ word, strict }: ExpressionEntry, text: FoldedText): boolean {
  if (strict) return false;
  const phrases = phrasesOf(word);
  return (
    !phrases.some((phrase) => hasPhrase(text, phrase)) &&
    phrases.some(({ words }) => hasPhrase(text, { words, isNegation: true }))
  );
}

/** An entry whose word is empty after folding always holds. */
export function entryHolds({ word, includes, strict }: ExpressionEntry, text: FoldedText): boolean {
  const phrases = phrasesOf(word);
  if (phrases.length === 0) return true;
  if (!strict) return phrases.some((phrase) => hasPhrase(text, phrase)) === includes;
  const exact = ` ${foldWords(word).join(' ')} `;
  return text.phrases.some((candidate) => candidate.includes(exact)) === includes;
}

const QUERY_FORM = 'expressions[<group>][<index>][word]=<text>';
/** Three parameters per entry, and three more for superfluous ampersands. */
const PARAMETERS_MAX = 3 * EXPRESSION_ENTRIES_MAX + 3;
const NOT_GROUPS = {
  en: `must be an array, an object or ${QUERY_FORM}`,
  fr: `doit être une liste, un objet ou ${QUERY_FORM}`,
};
const NOT_A_GROUP = { en: 'a group must be an array or an object', fr: 'une possibilité est une liste ou un objet' };
const TOO_LONG = {
  en: `must have at most ${EXPRESSIONS_LENGTH_MAX} characters`,
  fr: `a au plus ${EXPRESSIONS_LENGTH_MAX.toLocaleString('fr')} caractères`,
};
const TOO_MANY = {
  en: `must have at most ${EXPRESSION_GROUPS_MAX} groups and ${EXPRESSION_ENTRIES_MAX} entries`,
  fr: `au plus ${EXPRESSION_GROUPS_MAX} possibilités et ${EXPRESSION_ENTRIES_MAX} mots`,
};
const ENTRY_MEMBERS: readonly string[] = ['word', 'options', 'includes', 'strict'];
const OPTIONS: readonly string[] = ['includes', 'strict'];

type Steps = readonly (string | number)[];

function readGroups(input: unknown, report: ReportFault): Expressions {
  const structure = typeof input === 'string' ? structureOf(input, report) : input;
  const outer = isRecord(structure) && 'expressions' in structure ? structure.expressions : structure;
  const groups: ExpressionGroup[] = [];
  let entryCount = 0;
  for (const [name, group] of itemsOf(outer, [], report)) {
    const entries = isEntryLike(group) ? [[null, group] as const] : itemsOf(group, [name], report);
    const read = entries.flatMap(([index, entry]) => readEntry(entry, index === null ? [name] : [name, index], report));
    if (read.length > 0) groups.push(read);
    entryCount += read.length;
    if (groups.length > EXPRESSION_GROUPS_MAX || entryCount > EXPRESSION_ENTRIES_MAX) {
      report({ path: [], message: TOO_MANY });
      return [];
    }
  }
  return groups;
}

function structureOf(query: string, report: ReportFault): unknown {
  // The parser silently drops names with `__proto__`.
  const isHarmless = ![...new URLSearchParams(query).keys()].some((name) => name.includes('__proto__'));
  if (query.split('&', PARAMETERS_MAX + 1).length > PARAMETERS_MAX) report({ path: [], message: TOO_MANY });
  else {
    const { expressions, ...others } = parseBrackets(query) ?? {};
    if (expressions !== undefined && Object.keys(others).length === 0 && isHarmless) return expressions;
    report({
      path: [],
      message: { en: `must be ${QUERY_FORM}, joined by &`, fr: `est attendu sous la forme ${QUERY_FORM}, avec &` },
    });
  }
  return [];
}

/** Null if a name has more than five bracketed steps. Valid names have at most four. */
function parseBrackets(query: string): qs.ParsedQs | null {
  try {
    const options = { depth: 5, strictDepth: true, ignoreQueryPrefix: true };
    return qs.parse(query, { ...options, arrayLimit: EXPRESSION_ENTRIES_MAX, parameterLimit: PARAMETERS_MAX });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The items of a list or an object, with their positions or names. Empty if an error was reported. */
function itemsOf(value: unknown, path: Steps, report: ReportFault): readonly (readonly [string | number, unknown])[] {
  const isList = Array.isArray(value);
  if (!isList && !isRecord(value)) {
    report({ path, message: path.length === 0 ? NOT_GROUPS : NOT_A_GROUP });
    return [];
  }
  const length = isList ? value.length : Object.keys(value).length;
  if (length <= EXPRESSION_ENTRIES_MAX) return isList ? [...value.entries()] : Object.entries(value);
  report({ path: [], message: TOO_MANY });
  return [];
}

/** Whether the value is an entry instead of a group: it has a member of an entry, or a member that is not an object. */
function isEntryLike(value: unknown): boolean {
  if (!isRecord(value)) return false;
  if (ENTRY_MEMBERS.some((name) => Object.hasOwn(value, name))) return true;
  for (const name in value) if (typeof value[name] !== 'object' || value[name] === null) return true;
  return false;
}

function readEntry(input: unknown, path: Steps, report: ReportFault): ExpressionEntry[] {
  if (!isRecord(input)) {
    report({ path, message: { en: 'an entry must be an object with a word', fr: 'il faut un objet avec word' } });
    return [];
  }
  reportUnknown(input, path, { en: 'a member of an entry', fr: 'un membre d’un mot' }, ENTRY_MEMBERS, report);
  const { word, options } = input;
  const areOptions = isRecord(options);
  if (areOptions)
    reportUnknown(
      options,
      [...path, 'options'],
      { en: 'an option of an entry', fr: 'une option d’un mot' },
      OPTIONS,
      report,
    );
  else if (options !== undefined && options !== null) {
    report({
      path: [...path, 'options'],
      message: {
        en: 'options must be an object with includes and strict',
        fr: 'les options doivent être un objet avec includes et strict',
      },
    });
  }
  const flag = (name: 'includes' | 'strict', fallback: boolean): boolean => {
    return areOptions && Object.hasOwn(options, name)
      ? readFlag(options[name], fallback, [...path, 'options', name], report)
      : readFlag(input[name], fallback, [...path, name], report);
  };
  const includes = flag('includes', true);
  const strict = flag('strict', false);
  if (word === undefined || word === null || word === '') return [];
  const message =
    typeof word === 'string' ? faultOfWord(word) : { en: 'word must be a string', fr: 'un mot doit être un texte' };
  if (message === null) return [{ word: word as string, includes, strict }];
  report({ path: [...path, 'word'], message, isBlank: message === BLANK });
  return [];
}

const BLANK = { en: 'word must have a letter or a digit', fr: 'un mot doit avoir une lettre ou un chiffre' };

function faultOfWord(word: string): InLanguages<string> | null {
  if (word.length > EXPRESSION_WORD_LENGTH_MAX) {
    return {
      en: `word must have at most ${EXPRESSION_WORD_LENGTH_MAX} characters`,
      fr: `un mot a au plus ${EXPRESSION_WORD_LENGTH_MAX} caractères`,
    };
  }
  // PostgreSQL cannot store U+0000, and half a surrogate pair cannot be encoded in a query string.
  if (!isStorable(word))
    return {
      en: 'word must not contain U+0000 or half a surrogate pair',
      fr: 'un mot ne doit contenir ni U+0000 ni la moitié d’une paire de substitution',
    };
  return foldWords(word).length === 0 ? BLANK : null;
}

/** Maximum number of unknown names that are reported for one object. The last report counts the others. */
const UNKNOWN_REPORTED_MAX = 50;

function reportUnknown(
  members: Readonly<Record<string, unknown>>,
  path: Steps,
  message: InLanguages<string>,
  known: readonly string[],
  report: ReportFault,
): void {
  const names = Object.keys(members);
  let left = names.length - known.filter((name) => Object.hasOwn(members, name)).length;
  for (let i = 0, reported = 0; left > 0; i++) {
    const name = names[i] as string;
    if (known.includes(name)) continue;
    reported += 1;
    const more = reported === UNKNOWN_REPORTED_MAX ? left - 1 : 0;
    report({ path: [...path, name], message, known, more });
    left = more > 0 ? 0 : left - 1;
  }
}

function readFlag(value: unknown, fallback: boolean, path: Steps, report: ReportFault): boolean {
  if (value === undefined || value === null || value === '') return fallback;
  if (value === true || value === 'true' || value === 1 || value === '1') return true;
  if (value === false || value === 'false' || value === 0 || value === '0') return false;
  report({ path, message: { en: 'must be true or false', fr: 'doit être true ou false' } });
  return fallback;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
