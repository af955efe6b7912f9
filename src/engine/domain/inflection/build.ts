/**
 * Generates `french.tsv.br`: the inflected forms of French words with their lemmas. The sources are `own-words.tsv` and
 * the Debian package `hunspell-fr-classical`, which the script downloads. With `--check`, the script writes nothing and
 * fails if the committed file differs. If the package is not available, the script does nothing.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { BEGINNING_LENGTH } from './lemmas.ts';
import { type FormKind, type FormSet, formSetsOf, readSuffixRules } from './suffix-rules.ts';

const PACKAGE = 'hunspell-fr-classical';
const TARGET = new URL('french.tsv.br', import.meta.url);
const OWN_WORDS = new URL('own-words.tsv', import.meta.url);
/** First line of the file. MPL 2.0 requires this notice (exhibit A) and the location of the source (section 3.2). */
const NOTICE =
  '# French words and their inflected forms: a line for each beginning, with the rest of each form and its lemmas. ' +
  'Made by build.ts from Debian’s package hunspell-fr-classical 1:7.0-1, the French spelling dictionary "Classique" 7.0 ' +
  'by Olivier R. (https://grammalecte.net/), which is the source form of this file. ' +
  'This file is subject to the terms of the Mozilla Public License, v. 2.0. If a copy of the MPL was not ' +
  'distributed with this file, You can obtain one at http://mozilla.org/MPL/2.0/.';

/** A suffix of the lemma's name that no folded word has. */
const MARK_OF_KIND: Readonly<Record<FormKind, string>> = {
  word: '',
  name: 'N',
  participle: 'P',
  gerund: 'G',
  infinitive: 'V',
  indicative: 'I',
  conditional: 'C',
  imperative: 'M',
};

const SINGLE_WORD = /^[a-z0-9]+$/;

/** Null if the package is not available, for example without a network. */
function readDictionary(): { readonly aff: string; readonly dic: string } | null {
  const directory = mkdtempSync(join(tmpdir(), 'vigie-words-'));
  try {
    execFileSync('apt-get', ['download', PACKAGE], { cwd: directory, stdio: 'ignore' });
    const [archive = ''] = readdirSync(directory);
    execFileSync('dpkg-deb', ['-x', archive, '.'], { cwd: directory });
    const read = (name: string) => readFileSync(join(directory, 'usr/share/hunspell', name), 'utf8');
    return { aff: read('fr.aff'), dic: read('fr.dic') };
  } catch {
    return null;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Reads the lines of `own-words.tsv`: `own` or `also`, the forms, and a reason. */
function readOwnWords(): readonly { readonly isOwn: boolean; readonly forms: ReadonlySet<string> }[] {
  const lines = readFileSync(OWN_WORDS, 'utf8').split('\n');
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [how, forms = ''] = line.split('\t');
      return { isOwn: how === 'own', forms: new Set(forms.split(' ')) };
    });
}

/**
 * The sets that each form belongs to. If these are of several kinds, only the first kind counts. The order is: nouns,
 * adjectives and other words (*bus*, *porte*), with their own participle (*meublé*); participles (*loué* folds like
 * *loue*); other verb forms; names.
 */
function setsOfForms(sets: readonly FormSet[]): ReadonlyMap<string, readonly FormSet[]> {
  const all = new Map<string, FormSet[]>();
  for (const set of sets) {
    for (const form of set.forms) {
      const known = all.get(form);
      if (known === undefined) all.set(form, [set]);
      else known.push(set);
    }
  }
  const participles = new Set(sets.flatMap(({ kind, singulars }) => (kind === 'participle' ? [...singulars] : [])));
  return new Map([...all].map(([form, its]) => [form, meant(its, participles)]));
}

function meant(sets: readonly FormSet[], participles: ReadonlySet<string>): readonly FormSet[] {
  const words = sets.filter(({ kind }) => kind === 'word');
  const past = sets.filter(({ kind }) => kind === 'participle');
  const isParticipleToo = words.some(({ headword }) => participles.has(headword));
  const first = [...words, ...(words.length === 0 || isParticipleToo ? past : [])];
  if (first.length > 0) return first;
  const verbs = sets.filter(({ kind }) => kind !== 'name');
  return verbs.length > 0 ? verbs : sets;
}

/** One line per beginning of forms: the beginning, and then for each form a tab, its rest and its lemmas. */
function linesOf(sets: readonly FormSet[]): readonly string[] {
  const kept = new Map<FormSet, Set<string>>();
  for (const [form, its] of setsOfForms(sets)) {
    for (const set of its) kept.set(set, (kept.get(set) ?? new Set()).add(form));
  }
  const own = readOwnWords();
  const apart = new Set(own.flatMap(({ isOwn, forms }) => (isOwn ? [...forms] : [])));
  for (const forms of kept.values()) for (const form of apart) forms.delete(form);
  const named = [...kept].map(([{ headword, kind }, forms]) => ({ name: headword + MARK_OF_KIND[kind], forms }));
  const groups = [...named, ...own.map(({ forms }) => ({ name: [...forms][0] as string, forms }))];
  const homographs = new Map<string, number>();
  const codes = new Map<string, string[]>();
  for (const { name, forms } of withoutContained(groups.filter((group) => group.forms.size > 0))) {
    const homograph = homographs.get(name) ?? 0;
    homographs.set(name, homograph + 1);
    for (const form of forms) codes.set(form, [...(codes.get(form) ?? []), encodeLemma(form, name, homograph)]);
  }
  const lines = new Map<string, string>();
  for (const [form, ofForm] of [...codes].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const beginning = form.slice(0, BEGINNING_LENGTH);
    const entry = `\t${form.slice(BEGINNING_LENGTH)} ${ofForm.sort().join(' ')}`;
    lines.set(beginning, (lines.get(beginning) ?? beginning) + entry);
  }
  return [...lines.values()];
}

/**
 * The number of letters to remove from the end of the form, in base 36, and the letters to append to obtain the lemma.
 * Dots distinguish lemmas with the same spelling.
 */
function encodeLemma(form: string, lemma: string, homograph: number): string {
  let kept = 0;
  while (kept < form.length && form[kept] === lemma[kept]) kept += 1;
  return (form.length - kept).toString(36) + lemma.slice(kept) + '.'.repeat(homograph);
}

interface NamedForms {
  readonly name: string;
  readonly forms: ReadonlySet<string>;
}

/** Drops sets whose forms all belong to another set. */
function withoutContained(groups: readonly NamedForms[]): readonly NamedForms[] {
  const groupsOfForm = new Map<string, number[]>();
  for (const [i, { forms }] of groups.entries()) {
    for (const form of forms) groupsOfForm.set(form, [...(groupsOfForm.get(form) ?? []), i]);
  }
  return groups.filter(({ forms }, i) => {
    const [some] = forms;
    return !(groupsOfForm.get(some as string) ?? []).some((other) => {
      const others = (groups[other] as NamedForms).forms;
      const isLarger = others.size > forms.size || (others.size === forms.size && other < i);
      return isLarger && [...forms].every((form) => others.has(form));
    });
  });
}

const dictionary = readDictionary();
if (dictionary === null) {
  process.stdout.write(`words: skipped, because apt-get cannot download the package ${PACKAGE}\n`);
} else {
  const rules = readSuffixRules(dictionary.aff);
  const entries = dictionary.dic.split('\n').slice(1);
  const sets = entries.flatMap((entry) => (entry === '' ? [] : formSetsOf(entry, rules)));
  const plain = sets.filter(({ forms }) => [...forms].every((form) => SINGLE_WORD.test(form)));
  const text = `${[NOTICE, ...linesOf(plain)].join('\n')}\n`;
  const isSame = existsSync(TARGET) && brotliDecompressSync(readFileSync(TARGET)).toString() === text;
  if (!isSame && process.argv.includes('--check')) {
    throw new Error('french.tsv.br is outdated: run npm run generate');
  }
  const params = { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS };
  if (!isSame) writeFileSync(TARGET, brotliCompressSync(text, { params }));
}
