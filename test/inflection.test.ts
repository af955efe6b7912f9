/** A word stands for its inflected forms and for nothing else. */

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import dictionary from 'dictionary-fr';
import fc from 'fast-check';
import { lemmasOf } from '../src/domain/inflection/lemmas.ts';
import { formsOf, readSuffixRules } from '../src/domain/inflection/suffix-rules.ts';
import { buildWordGraph, endingsFrom, follow } from '../src/domain/inflection/word-graph.ts';
import { foldText } from '../src/domain/text.ts';
import { DIFFERENT_WORDS, FORMS_OF_ONE_WORD } from './support/inflection-pairs.ts';

function agree([a, b]: readonly [string, string]): boolean {
  const lemmas = lemmasOf(foldText(b));
  return lemmasOf(foldText(a)).some((lemma) => lemmas.includes(lemma));
}

function pairs(text: string): (readonly [string, string])[] {
  return text.split(', ').map((pair) => pair.split(' ') as [string, string]);
}

test('words of adverts agree with their inflected forms, and not with what only looks alike', () => {
  assert.ok(FORMS_OF_ONE_WORD.length + DIFFERENT_WORDS.length >= 300);
  assert.deepEqual(
    FORMS_OF_ONE_WORD.filter((pair) => !agree(pair)),
    [],
  );
  assert.deepEqual(DIFFERENT_WORDS.filter(agree), []);
});

test('derivation is another word', () => {
  const different = pairs(
    'chaudière chaude, étagères étage, port porte, villa ville, terrasse terre, gare garantie, exposé exposition, ' +
      'visite vis, refaite réf, loueur louer, habitable habiter, rénovation rénover, voie voir, Vienne venir',
  );
  assert.deepEqual(different.filter(agree), []);
});

test('true inflections are one word, however irregular', () => {
  const same = pairs(
    'neuf neuve, actif active, beau belle, vieux vieille, blanc blanche, long longue, public publique, bail baux, ' +
      'rénover rénovée, œil yeux, ciel cieux, frais fraîche, sec sèche, franc franche, favori favorite, tout toutes, ' +
      'contigu contiguë, construire construisent, refaire referait, voir verrez, être sera, neiger neigeait',
  );
  assert.deepEqual(
    same.filter((pair) => !agree(pair)),
    [],
  );
});

test('words that the dictionary does not have stand for themselves and their plural', () => {
  const same = pairs(
    'rooftop rooftops, habitación habitaciones, piso pisos, woning woningen, slaapkamer slaapkamers, bungalow bungalows',
  );
  assert.deepEqual(
    same.filter((pair) => !agree(pair)),
    [],
  );
  assert.deepEqual(pairs('immoweb immo, bienici bien, t2 t3, f2 2, gas ga').filter(agree), []);
  assert.deepEqual(lemmasOf('m2'), ['m2']);
});

test('of verbs the simple past and the subjunctives are left out', () => {
  const rules = readSuffixRules(Buffer.from(dictionary.aff).toString());
  const left = { 'terrer/a0p+': 'terrasse', 'voir/pFpG': 'vit', 'être/zE': 'fut', 'neiger/a8p.': 'neigea' };
  for (const [entry, form] of Object.entries(left)) assert.ok(!formsOf(entry, rules).has(form), form);
  assert.deepEqual([...formsOf('falloir/qA', rules)], ['falloir', 'fallu', 'faut', 'fallait', 'faudra', 'faudrait']);
});

test('a word graph has the words it was built from, and no others', () => {
  const letters = fc.constantFrom('a', 'b', 'c');
  const word = fc.array(letters, { minLength: 1, maxLength: 6 }).map((word) => word.join(''));
  fc.assert(
    fc.property(fc.uniqueArray(word, { minLength: 1, maxLength: 60 }), word, (words, beginning) => {
      const sorted = words.sort();
      const graph = buildWordGraph(sorted);
      assert.deepEqual([...endingsFrom(graph, 0)].sort(), sorted);
      const node = follow(graph, 0, beginning);
      const expected = sorted.filter((word) => word.startsWith(beginning) && word !== beginning);
      assert.deepEqual(node === 0 ? [] : endingsFrom(graph, node).map((ending) => beginning + ending), expected);
    }),
  );
});

test('words that begin and end alike share their letters: the forms of French fit in a megabyte', () => {
  const words = ['a', 'b', 'c'].flatMap((first) => ['x', 'y', 'z'].map((last) => `${first}mmmmmmmm${last}`));
  assert.equal(buildWordGraph(words).length, 3 + 8 + 3);
  assert.ok(statSync(new URL('../src/domain/inflection/french.graph', import.meta.url)).size < 1e6);
});
