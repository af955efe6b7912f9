/**
 * Makes `french.graph`, the inflected forms of French with their lemmas, from the hunspell dictionary in the package
 * `dictionary-fr`, so that nothing but this script needs the dictionary. `--check` writes nothing and fails when the
 * committed file is not what the dictionary gives.
 */

import { readFile, writeFile } from 'node:fs/promises';
import dictionary from 'dictionary-fr';
import { encodeLemma, writeGraphFile } from './graph-file.ts';
import { formsOf, readSuffixRules, type SuffixRules } from './suffix-rules.ts';
import { buildWordGraph } from './word-graph.ts';

/** MPL 2.0, exhibit A, and section 3.2: where the source is. */
const NOTICE = `French words and their inflected forms, in the layout of word-graph.ts.
Made by build.ts from the npm package dictionary-fr 3.0.0, the French spelling dictionary "Classique" 7.5
by Olivier R. (https://grammalecte.net/), which is the source form of this file.
This file is subject to the terms of the Mozilla Public License, v. 2.0. If a copy of the MPL was not
distributed with this file, You can obtain one at http://mozilla.org/MPL/2.0/.
`;

/** Irregular pairs that the dictionary lists as words of their own. */
const IRREGULAR = ['oeil yeux', 'ciel ciels cieux', 'favori favoris favorite favorites', 'tout tous toute toutes']
  .concat([
    'franc francs franche franches',
    'tiers tierce tierces',
    'monsieur messieurs',
    'madame mesdames',
    'mademoiselle mesdemoiselles',
  ])
  .map((forms) => new Set(forms.split(' ')));

const SINGLE_WORD = /^[a-z0-9]+$/;

/** One set of folded forms a lemma, the lemma first. */
function readLemmas(dic: string, rules: SuffixRules): ReadonlySet<string>[] {
  const [, ...entries] = dic.split('\n').filter((line) => line !== '');
  const lemmas = entries.map((entry) => formsOf(entry, rules));
  return [...lemmas, ...IRREGULAR].filter((forms) => [...forms].every((form) => SINGLE_WORD.test(form)));
}

/** *Visite* is a form of *visiter* as well: a lemma all of whose forms are those of another one says nothing. */
function withoutContained(lemmas: readonly ReadonlySet<string>[]): ReadonlySet<string>[] {
  const lemmasOfForm = new Map<string, number[]>();
  for (const [i, forms] of lemmas.entries()) {
    for (const form of forms) lemmasOfForm.set(form, [...(lemmasOfForm.get(form) ?? []), i]);
  }
  return lemmas.filter((forms, i) => {
    const [headword] = forms as ReadonlySet<string> & [string];
    return !(lemmasOfForm.get(headword) ?? []).some((other) => {
      const others = lemmas[other] as ReadonlySet<string>;
      const isLarger = others.size > forms.size || (others.size === forms.size && other < i);
      return isLarger && [...forms].every((form) => others.has(form));
    });
  });
}

/** The words of the graph: each form with each of its lemmas. */
function graphWords(lemmas: readonly ReadonlySet<string>[]): readonly string[] {
  const homographs = new Map<string, number>();
  return lemmas
    .flatMap((forms) => {
      const [headword] = forms as ReadonlySet<string> & [string];
      const homograph = homographs.get(headword) ?? 0;
      homographs.set(headword, homograph + 1);
      return Array.from(forms, (form) => encodeLemma(form, headword, homograph));
    })
    .sort(byCode);
}

function byCode(a: string, b: string): number {
  return a < b ? -1 : 1;
}

const TARGET = new URL('french.graph', import.meta.url);
const rules = readSuffixRules(Buffer.from(dictionary.aff).toString());
const lemmas = withoutContained(readLemmas(Buffer.from(dictionary.dic).toString(), rules));
const bytes = writeGraphFile(NOTICE, buildWordGraph(graphWords(lemmas)));
if (process.argv.includes('--check')) {
  if (!bytes.equals(await readFile(TARGET)))
    throw new Error('french.graph is not built from the dictionary: run build.ts');
} else {
  await writeFile(TARGET, bytes);
}
