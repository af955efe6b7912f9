/**
 * Finds the lemmas of folded words. Two words are forms of one another if they share a lemma (decisions, section 2). A
 * word that is not in the French dictionary is its own lemma. If it ends like a plural (-s, -x, Spanish -es, Dutch
 * -en), it also has the lemmas of its singular.
 */

import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { LRUCache } from 'lru-cache';

/** Number of first letters by which a line is found. On average, ten forms share a line. */
export const BEGINNING_LENGTH = 5;

/** The lines written by `build.ts`, by the beginning of their forms. */
let french: ReadonlyMap<string, string> | null = null;

/**
 * Reads the table, which blocks the event loop for up to a tenth of a second. Call this before the process answers
 * requests; otherwise the first lookup reads the table.
 */
export function readFrenchForms(): ReadonlyMap<string, string> {
  if (french !== null) return french;
  const text = brotliDecompressSync(readFileSync(new URL('french.tsv.br', import.meta.url))).toString('latin1');
  french = new Map(text.split('\n').map((line) => [line.slice(0, line.indexOf('\t')), line]));
  return french;
}

/** Cache size. Adverts use about ten thousand words, and an uncached lookup costs as much as ten cached lookups. */
const KNOWN_MAX_BYTES = 8 * 1024 ** 2;
/** Size of a cache entry without its texts. */
const ENTRY_BYTES = 128;
const known = new LRUCache<string, readonly string[]>({
  maxSize: KNOWN_MAX_BYTES,
  sizeCalculation: (lemmas, word) =>
    ENTRY_BYTES + 2 * lemmas.reduce((length, lemma) => length + lemma.length, word.length),
});

/** Names of the lemmas, at least one. */
export function lemmasOf(foldedWord: string): readonly string[] {
  let lemmas = known.get(foldedWord);
  if (lemmas === undefined) {
    lemmas = frenchLemmasOf(foldedWord) ?? foreignLemmasOf(foldedWord);
    known.set(foldedWord, lemmas);
  }
  return lemmas;
}

/** Null if the word is not in the dictionary. */
function frenchLemmasOf(form: string): readonly string[] | null {
  const codes = codesOf(form);
  return codes === null ? null : codes.split(' ').map((code) => decodeLemma(form, code));
}

function codesOf(form: string): string | null {
  const line = readFrenchForms().get(form.slice(0, BEGINNING_LENGTH)) ?? '';
  const entry = `\t${form.slice(BEGINNING_LENGTH)} `;
  const start = line.indexOf(entry);
  return start === -1 ? null : (line.slice(start + entry.length).split('\t', 1)[0] as string);
}

/** See `encodeLemma` in build.ts. One digit suffices for the count. */
function decodeLemma(form: string, code: string): string {
  return form.slice(0, form.length - Number.parseInt(code[0] as string, 36)) + code.slice(1);
}

/** The singular must have at least three letters, or four if the ending is also common in other words. */
const PLURALS = [/(?<=...)[sx]$/, /(?<=...[dljnrsxz])es$/, /(?<=....)en$/];

function foreignLemmasOf(word: string): readonly string[] {
  const lemmas = new Set([word]);
  for (const plural of PLURALS) {
    if (!plural.test(word)) continue;
    const singular = word.replace(plural, '');
    for (const lemma of frenchLemmasOf(singular) ?? [singular]) lemmas.add(lemma);
  }
  return [...lemmas];
}
