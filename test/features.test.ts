/** The vocabulary of features, and the features that items of adverts state (decisions, section 3). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FEATURE_VOCABULARY } from '../src/engine/domain/feature-vocabulary.ts';
import {
  FEATURE_NAMES,
  type FeatureName,
  featureSetOf,
  featuresIn,
  featuresOf,
} from '../src/engine/domain/features.ts';
import { foldText } from '../src/engine/domain/text.ts';

/** The names that the decisions list. */
const NAMES =
  'balcony terrace garden cellar parking garage pool fireplace airConditioning accessible furnishedKitchen newBuild ' +
  'renovated toRenovate quiet unobstructedView caretaker intercom alarm';

function read(...items: readonly string[]): Record<'named' | 'denied', string> {
  const { named, denied } = featuresOf(items);
  return { named: featuresIn(named).join(' '), denied: featuresIn(denied).join(' ') };
}

test('the vocabulary is that of the decisions, and no word means two features', () => {
  assert.equal(FEATURE_NAMES.join(' '), NAMES);
  const meanings = new Map<string, FeatureName>();
  for (const name of FEATURE_NAMES) {
    const { words } = FEATURE_VOCABULARY[name];
    for (const word of [...words.fr, ...words.en]) {
      assert.equal(meanings.get(foldText(word)), undefined, word);
      meanings.set(foldText(word), name);
      assert.ok((featuresOf([word]).named & featureSetOf([name])) !== 0, word);
    }
  }
});

test('an item counts if all its words, except numbers and measures, are in the vocabulary', () => {
  for (const [item, named] of [
    ['Balcon', 'balcony'],
    ['BALCONS', 'balcony'],
    ['cheminee', 'fireplace'],
    ['Balcon 12 m²', 'balcony'],
    ['Terrasse de 40m2', ''],
    ['2 terrasses', 'terrace'],
    ['Balcon : 1', 'balcony'],
    ['Piscine : oui', 'pool'],
    ['Balcon (8,5 m²)', 'balcony'],
    ['Cave, terrasse et jardin', 'terrace garden cellar'],
    ['Cave / local à vélos', ''],
    ['Proche parking', ''],
    ['Vue sur jardin', ''],
    ['box', 'parking garage'],
    ['Garage - cave', 'cellar parking garage'],
    ['Cuisine aménagée et équipée', 'furnishedKitchen'],
    ['Sans vis-à-vis', 'unobstructedView'],
    ['A/C', 'airConditioning'],
    ['Clim', 'airConditioning'],
    ['accès PMR', 'accessible'],
    ['12 m²', ''],
    ['', ''],
    [`balcon${' '.repeat(300)}`, ''],
  ] as const) {
    assert.deepEqual(read(item), { named, denied: '' }, item);
  }
});

test('an item with a negation makes its feature absent unless another item names it, and does not affect others', () => {
  for (const [item, denied] of [
    ['sans balcon', 'balcony'],
    ['zéro balcon', 'balcony'],
    ['dépourvu de balcon', 'balcony'],
    ['Pas de piscine', 'pool'],
    ["Pas d'interphone", 'intercom'],
    ['balcon : 0', 'balcony'],
    ['0 parking', 'parking'],
    ['garage : non', 'garage'],
    ['no balcony', 'balcony'],
    ['Ni cave ni terrasse', 'terrace cellar'],
    ['Sans travaux', 'toRenovate'],
    ['sans ascenseur', ''],
  ] as const) {
    assert.deepEqual(read(item), { named: '', denied }, item);
  }
  assert.deepEqual(read('balcon', 'balcon : 0'), { named: 'balcony', denied: '' });
});
