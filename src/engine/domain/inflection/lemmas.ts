/**
 * What a folded word is a form of. Two words are inflected forms of one another where they share a lemma (decisions,
 * section 2). A word that the French dictionary does not have stands for itself and, where it may be a plural, for its
 * singular: with -s or -x, with -es as in Spanish, with -en as in Dutch.
 */

import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { LRUCache } from 'lru-cache';

/** Of a form, on its line; few forms share one. */
export const BEGINNING_LENGTH = 5;

/** The lines of `build.ts` by the beginning of their forms. */
let french: ReadonlyMap<string, string> | null = null;

/**
 * Reads the table, which holds the event loop for a tenth of a second: call it before requests are answered. Without that
 * the first look-up reads it.
 */
export function readFrenchForms(): ReadonlyMap<string, string> {
  if (french !== null) return french;
  const text = brotliDecompressSync(readFileSync(new URL('french.tsv.br', import.meta.url))).toString('latin1');
  french = new Map(text.split('\n').map((line) => [line.slice(0, line.indexOf('\t')), line]));
  return french;
}

/** Adverts draw on some ten thousand words; looking one up anew costs as much as ten of them. */
const KNOWN_MAX_BYTES = 8 * 1024 ** 2;
/** The size of an entry beside its texts. */
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

/** Null for a word that the dictionary does not have. */
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

/** See `encodeLemma` of build.ts: one digit is enough. */
function decodeLemma(form: string, code: string): string {
  return form.slice(0, form.length - Number.parseInt(code[0] as string, 36)) + code.slice(1);
}

/** What precedes keeps three letters, or four where other words end like that plural too. */
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
