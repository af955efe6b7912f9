/**
 * What a folded word is a form of. Two words are inflected forms of one another where they share a lemma (decisions,
 * section 2). A word that the French dictionary does not have stands for itself and, where it may be a plural, for its
 * singular: with -s or -x, with -es as in Spanish, with -en as in Dutch.
 */

import { readFileSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import { decodeLemma, endingsFrom, follow, LEMMAS, readGraphFile } from './word-graph.ts';

const french = readGraphFile(readFileSync(new URL('french.graph', import.meta.url)));

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
  const lemmas = follow(french, 0, form + LEMMAS);
  return lemmas === 0 ? null : endingsFrom(french, lemmas).map((code) => decodeLemma(form, code));
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
