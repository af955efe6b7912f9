/**
 * Text conditions of a search (specification, section 2.1; decisions, section 2). Groups are alternatives, the
 * entries of one group must all hold. Three input forms are read, one is written: the bracketed query string.
 */

import { LRUCache } from 'lru-cache';
import qs from 'qs';
import { type FoldedText, hasForm } from './folded-text.ts';
import { foldWords } from './text.ts';

export interface ExpressionEntry {
  readonly word: string;
  /** False: the text must not contain it. */
  readonly includes: boolean;
  /** True: the exact phrase, words adjacent and in order. False: every word occurs in one of its inflected forms. */
  readonly strict: boolean;
}

export type ExpressionGroup = readonly ExpressionEntry[];
/** Empty: no condition. No group is empty. */
export type Expressions = readonly ExpressionGroup[];

/** Limits that keep one search from costing every advert: far above anything a person writes. */
export const EXPRESSION_GROUPS_MAX = 50;
export const EXPRESSION_ENTRIES_MAX = 200;
export const EXPRESSION_WORD_LENGTH_MAX = 200;

export class ExpressionsError extends Error {
  readonly code = 'EXPRESSIONS_INVALID';
}

/**
 * Reads any accepted form: the bracketed query string, the same structure nested, or a flat array of
 * `{word, includes, strict}` with one group each. Throws `ExpressionsError` that says what to send instead.
 */
export function parseExpressions(input: unknown): Expressions {
  if (input === null || input === undefined || input === '') return [];
  if (typeof input !== 'string') return readExpressions(input);
  let expressions = parsed.get(input);
  if (expressions === undefined) {
    expressions = readExpressions(input);
    parsed.set(input, expressions);
  }
  return expressions;
}

/** Searches want the same few thousand things; a query string takes fifteen microseconds to parse. */
const parsed = new LRUCache<string, Expressions>({ max: 5000 });

function readExpressions(input: unknown): Expressions {
  const groups = typeof input === 'string' ? groupsOfQuery(input) : groupsOfStructure(input);
  const expressions = groups.map((group) => group.flatMap(readEntry)).filter((group) => group.length > 0);
  const entryCount = expressions.reduce((count, group) => count + group.length, 0);
  if (expressions.length > EXPRESSION_GROUPS_MAX || entryCount > EXPRESSION_ENTRIES_MAX) {
    throw new ExpressionsError(`at most ${EXPRESSION_GROUPS_MAX} groups and ${EXPRESSION_ENTRIES_MAX} entries`);
  }
  return expressions;
}

/** The bracketed query string, values percent-encoded; null when there is no condition. */
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

/** True when some group holds; true without any group. */
export function expressionsHold(expressions: Expressions, text: FoldedText): boolean {
  return expressions.length === 0 || expressions.some((group) => group.every((entry) => entryHolds(entry, text)));
}

/** An entry whose word folds to nothing is no condition. */
export function entryHolds(entry: ExpressionEntry, text: FoldedText): boolean {
  const words = foldWords(entry.word);
  return words.length === 0 || occurs(entry, words, text) === entry.includes;
}

function occurs(entry: ExpressionEntry, words: readonly string[], text: FoldedText): boolean {
  if (entry.strict) {
    const phrase = ` ${words.join(' ')} `;
    return text.phrases.some((candidate) => candidate.includes(phrase));
  }
  return words.every((word) => hasForm(text, word));
}

const QUERY_FORM = 'expressions[<group>][<index>][word]=<text>';

function groupsOfQuery(query: string): unknown[][] {
  const parsed = qs.parse(query, {
    depth: 5,
    arrayLimit: EXPRESSION_ENTRIES_MAX,
    parameterLimit: 3 * EXPRESSION_ENTRIES_MAX + 3,
    ignoreQueryPrefix: true,
  });
  const unknown = Object.keys(parsed).filter((key) => key !== 'expressions');
  if (parsed.expressions === undefined || unknown.length > 0) {
    throw new ExpressionsError(`expected ${QUERY_FORM}, joined by &`);
  }
  return groupsOfStructure(parsed.expressions);
}

function groupsOfStructure(input: unknown): unknown[][] {
  const outer = isRecord(input) && 'expressions' in input ? input.expressions : input;
  return listOf(outer, 'expressions').map((group) => (isEntryLike(group) ? [group] : listOf(group, 'a group')));
}

function listOf(value: unknown, what: string): unknown[] {
  if (Array.isArray(value)) return value;
  if (isRecord(value)) return Object.values(value);
  throw new ExpressionsError(`${what} must be an array, an object or ${QUERY_FORM}`);
}

function isEntryLike(value: unknown): boolean {
  return isRecord(value) && ('word' in value || 'options' in value || 'includes' in value || 'strict' in value);
}

function readEntry(input: unknown): ExpressionEntry[] {
  if (!isRecord(input)) throw new ExpressionsError('an entry must be an object with a word');
  const { word, options } = input;
  if (word === undefined || word === null || word === '') return [];
  if (typeof word !== 'string') throw new ExpressionsError('word must be a string');
  if (word.length > EXPRESSION_WORD_LENGTH_MAX) {
    throw new ExpressionsError(`word must have at most ${EXPRESSION_WORD_LENGTH_MAX} characters`);
  }
  if (options !== undefined && options !== null && !isRecord(options)) {
    throw new ExpressionsError('options must be an object with includes and strict');
  }
  const chosen = isRecord(options) ? { ...input, ...options } : input;
  // Punctuation alone folds to nothing: as little a condition as no word at all.
  if (foldWords(word).length === 0) return [];
  return [
    { word, includes: readFlag(chosen.includes, 'includes', true), strict: readFlag(chosen.strict, 'strict', false) },
  ];
}

function readFlag(value: unknown, name: string, fallback: boolean): boolean {
  if (value === undefined || value === null || value === '') return fallback;
  if (value === true || value === 'true' || value === 1 || value === '1') return true;
  if (value === false || value === 'false' || value === 0 || value === '0') return false;
  throw new ExpressionsError(`${name} must be true or false`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
