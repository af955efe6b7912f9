/** A word matches its inflected forms and nothing else. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { brotliDecompressSync } from 'node:zlib';
import { lemmasOf } from '../src/engine/domain/inflection/lemmas.ts';
import { formSetsOf, readSuffixRules } from '../src/engine/domain/inflection/suffix-rules.ts';
import { foldText } from '../src/engine/domain/text.ts';
import { ROOT_URL } from './support/checkout.ts';
import { DIFFERENT_WORDS, FORMS_OF_ONE_WORD } from './support/inflection-pairs.ts';
import { assertNone } from './support/lists.ts';

function agree([a, b]: readonly [string, string]): boolean {
  const lemmas = lemmasOf(foldText(b));
  return lemmasOf(foldText(a)).some((lemma) => lemmas.includes(lemma));
}

function pairs(text: string): (readonly [string, string])[] {
  return text.split(', ').map((pair) => pair.split(' ') as [string, string]);
}

test('words of adverts match their inflected forms, and not similar words', () => {
  assert.ok(FORMS_OF_ONE_WORD.length + DIFFERENT_WORDS.length >= 300);
  assertNone(FORMS_OF_ONE_WORD.filter((pair) => !agree(pair)));
  assert.deepEqual(DIFFERENT_WORDS.filter(agree), []);
});

test('inflected forms are one word, including irregular ones', () => {
  const same = pairs(
    'neuf neuve, actif active, beau belle, vieux vieille, blanc blanche, long longue, public publique, bail baux, ' +
      'rénové rénovée, œil yeux, ciel cieux, frais fraîche, sec sèche, franc franche, favori favorite, tout toutes, ' +
      'contigu contiguë, construit construites, referait referaient, verrez voyez, sera sont, rénovés rénovée',
  );
  assertNone(same.filter((pair) => !agree(pair)));
});

test('words outside the dictionary match themselves and their plural', () => {
  const same = pairs(
    'rooftop rooftops, habitación habitaciones, piso pisos, woning woningen, slaapkamer slaapkamers, bungalow bungalows',
  );
  assertNone(same.filter((pair) => !agree(pair)));
  assert.deepEqual(pairs('immoweb immo, bienici bien, t2 t3, f2 2, gas ga').filter(agree), []);
  assert.deepEqual(lemmasOf('m2'), ['m2']);
});

test('each mood of a verb is a set of forms, without the simple past and the subjunctives', () => {
  const rules = readSuffixRules(`FLAG long
SFX a0 Y 9
SFX a0 er er/n'q' er po:infi
SFX a0 er ant/n'q' [^cg]er po:ppre
SFX a0 er e/j'n' [^y]er po:ipre po:spre po:1sg po:3sg
SFX a0 er ait/n'q' er po:iimp po:3sg
SFX a0 er a/n'q' er po:ipsi po:3sg
SFX a0 er era/n'q' er po:ifut po:3sg
SFX a0 er erait/n'q' er po:cond po:3sg
SFX a0 er asse/j'n' er po:simp po:1sg
SFX a0 er ons er po:impe po:1pl
SFX p+ Y 2
SFX p+ er é/q' er po:ppas is:mas is:sg
SFX p+ er ées er po:ppas is:fem is:pl
SFX S. Y 2
SFX S. 0 0/L'D'Q' [^sxz] is:sg
SFX S. 0 s/D'Q' [^sxz] is:pl
`);
  const formsOf = (entry: string) => formSetsOf(entry, rules).map(({ kind, forms }) => [kind, ...forms].join(' '));
  assert.deepEqual(formsOf('louer/a0p+() po:v1_it_q__a'), [
    'infinitive louer',
    'gerund louant',
    'indicative loue louait louera',
    'conditional louerait',
    'imperative louons',
    'participle loue louees',
  ]);
  assert.deepEqual(formsOf('cave/S.() po:nom is:fem'), ['word cave caves']);
  assert.deepEqual(formsOf("bus/L'D'Q' po:nom is:mas is:inv"), ['word bus']);
  assert.deepEqual(formsOf("Loué/L'D'Q' po:npr is:mas"), ['name loue']);
});

test('hand-made words are at most two hundred, each with a reason', () => {
  const file = readFileSync(new URL('src/engine/domain/inflection/own-words.tsv', ROOT_URL), 'utf8');
  const lines = file.trim().split('\n');
  const own = lines.filter((line) => line.startsWith('own\t'));
  assert.ok(own.length >= 6 && own.length <= 200);
  for (const line of lines) assert.match(line, /^(?:#.*|(?:own|also)\t[a-z0-9]+(?: [a-z0-9]+)*\t\S.*)$/);
});

test('each form of the table is found with all its lemmas, and a word between two forms with none', () => {
  const file = readFileSync(new URL('src/engine/domain/inflection/french.tsv.br', ROOT_URL));
  assert.ok(file.length < 1e6);
  const [notice, ...lines] = brotliDecompressSync(file).toString().trim().split('\n');
  assert.match(notice as string, /Mozilla Public License/);
  const forms = lines.flatMap((line) => {
    const [beginning = '', ...entries] = line.split('\t');
    return entries.map((entry) => {
      const [rest = '', ...codes] = entry.split(' ');
      return { form: beginning + rest, count: codes.length };
    });
  });
  assert.ok(forms.length > 300_000);
  const wrong = forms.filter(({ form, count }) => {
    return new Set(lemmasOf(form)).size !== count || lemmasOf(`${form}-`).join() !== `${form}-`;
  });
  assert.deepEqual(wrong, []);
  for (const form of ['', '#', '0', '~', 'é', 'z'.repeat(1_000)]) assert.deepEqual(lemmasOf(form), [form]);
});
