/**
 * Expressions are accepted in three forms and written in one. Their groups are alternatives, and all words of a group
 * are required.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type ExpressionEntry,
  expressionsHold,
  formatExpressions,
  parseExpressions,
  readExpressions,
} from '../src/engine/domain/expressions.ts';
import { foldTexts } from '../src/engine/domain/word-phrases.ts';

const entry = (word: string, includes = true, strict = false): ExpressionEntry => ({ word, includes, strict });

function holds(texts: readonly string[], ...groups: ExpressionEntry[][]): boolean {
  return expressionsHold(groups, foldTexts(texts));
}

test('one group is sufficient, and every entry of a group is required', () => {
  const texts = ['Maison avec jardin'];
  assert.ok(holds(texts, [entry('piscine')], [entry('jardin')]));
  assert.ok(!holds(texts, [entry('piscine'), entry('jardin')]));
  assert.ok(holds(texts, [entry('jardin'), entry('piscine', false)]));
  assert.ok(!holds(texts, [entry('jardin', false)]));
  assert.ok(holds(texts));
});

test('a strict entry is an exact phrase; any other entry is its words in order, inflected, at most two words apart', () => {
  assert.ok(holds(['Superbe vue mer !'], [entry('Vue MER', true, true)]));
  assert.ok(!holds(['vue sur mer'], [entry('vue mer', true, true)]));
  assert.ok(!holds(['belle vue', 'mer'], [entry('vue mer', true, true)]));
  assert.ok(!holds(['entrevue mer'], [entry('vue mer', true, true)]));
  assert.ok(!holds(['balcons'], [entry('balcon', true, true)]));
  assert.ok(holds(['balcons'], [entry('balcon')]));
  for (const text of ['vue mer', 'vues sur la mer', 'vue, mer, vue'])
    assert.ok(holds([text], [entry('vue mer')]), text);
  for (const text of ['mer en vue', 'vue sur toute la mer', 'la vue'])
    assert.ok(!holds([text], [entry('vue mer')]), text);
  assert.ok(!holds(['des vues', 'la mer'], [entry('vue mer')]));
  assert.ok(holds(['sans gros travaux'], [entry('sans travaux')]));
  assert.ok(!holds(['travaux sans fin'], [entry('sans travaux')]));
  assert.ok(holds(['vue vue vue la mer'], [entry('vue vue mer')]));
  assert.ok(holds(['à vendre'], [entry('vendu', false)]));
});

test('common spellings and abbreviations are equal to the full words', () => {
  const same = [
    ['T3', 't 3'],
    ['70 m²', '70 m2', '70 mètres carrés'],
    ['3ème étage', '3e étage', 'troisième étage'],
    ['1er étage', 'premier étage'],
    ['n° 5', 'numéro 5', 'nº 5'],
    ['rdc', 'R.D.C.', 'rez-de-chaussée'],
    ['sdb', 's.d.b.', 'salle de bains'],
    ['wc', 'W.C.', 'toilettes'],
    ['box', 'boxes'],
  ];
  for (const spellings of same) {
    for (const word of spellings)
      for (const text of spellings) assert.ok(holds([`avec ${text}.`], [entry(word)]), `${word}: ${text}`);
  }
  assert.ok(!holds(['T3'], [entry('T 4')]));
  assert.ok(!holds(["il n'est pas"], [entry('numéro 5')]));
  assert.ok(!holds(['salle de 30 m2, bain'], [entry('sdb')]));
});

test('a number and its unit are one word, and written numbers are digits', () => {
  const same = [
    ['100m2', '100 m²', '100 mètres carrés'],
    ['2 chambres', 'deux chambres', '2ch'],
    ['T3', 'F3', 'F 3', '3 pièces', '3P', 'trois pièces', 'type 3'],
    ['1 600 m²', '1600m2', '1.600 m²', '1\u202f600 m2'],
    ['11,30 m²', '11.3m2'],
    ['clim', 'climatisation'],
    ['appart', 'appt', 'appartement'],
    ['asc', 'ascenseur'],
  ];
  for (const [first = '', ...others] of same) {
    for (const text of [first, ...others]) assert.ok(holds([`avec ${text}.`], [entry(first)]), `${first}: ${text}`);
    for (const word of others) assert.ok(holds([`avec ${first}.`], [entry(word)]), `${word}: ${first}`);
  }
  for (const [word, text] of [
    ['600 m²', '1 600 m²'],
    ['30 m²', '11,30 m²'],
    ['T3', "3 pièces d'eau"],
    ['3 pièces', "trois pièces d'eau"],
    ['T3', '3 belles pièces'],
    ['T1', 'une belle pièce'],
    ['9', 'neuf'],
    ['9 pièces', 'neuf pièces'],
    ['1 chambre', 'une chambre'],
    ['8 chambres', 'dix-huit chambres'],
    ['100 pièces', 'T 100'],
    ['100 pièces', 'T100'],
    ['100 m²', '100 100 100 100 100 100 m²'],
    ['2', '2 chambres'],
    ['2 chambres', '2 bureaux, 3 chambres'],
  ] as const)
    assert.ok(!holds([text], [entry(word)]), `${word}: ${text}`);
  assert.ok(holds(['deux belles chambres'], [entry('2 chambres')]));
  assert.ok(holds(['3 pièces'], [entry('pièce')]));
  assert.ok(!holds(['100 m2'], [entry('100m2', true, true)]));
  assert.ok(!holds(['deux chambres'], [entry('2 chambres', true, true)]));
  assert.ok(holds(['3 pièces d. Eau de ville'], [entry('3 pièces')]));
});

test('only a strict entry, or one that contains the negation, finds negated words', () => {
  const denied = [
    'sans ascenseur',
    'Sans aucun gros ascenseur',
    "pas d'ascenseur",
    'pas d’un ascenseur',
    'aucun ascenseur',
    'ni cave ni ascenseur',
    'Immeuble dépourvu d’ascenseur',
    'résidences dépourvues de grand ascenseur',
    'Zéro ascenseur',
    'non-ascenseur',
    'Ascenseur : non.',
    'ascenseur\u00a0: 0',
    'sans balcon ou ascenseur',
    'ni cave et gros ascenseur',
  ];
  for (const text of denied) {
    assert.ok(!holds([text], [entry('ascenseur')]), text);
    assert.ok(holds([text], [entry('ascenseur', false)]), text);
    assert.ok(holds([text], [entry('ascenseur', true, true)]), text);
    assert.ok(holds([text, 'bel ascenseur'], [entry('ascenseur')]), text);
  }
  for (const [word, text] of [
    ['plage', 'à deux pas de la plage'],
    ['tram', 'à quelques pas de tram'],
    ['port', "pas de l'ancien port"],
    ['Calais', 'Pas-de-Calais'],
    ['ascenseur', 'sans, ascenseur'],
    ['ascenseur', 'sans\nascenseur'],
    ['parking', 'sans ascenseur parking'],
    ['vis-à-vis', 'sans gêne vis-à-vis'],
    ['sans travaux', 'sans gros travaux'],
    ['appartement sans travaux', 'aucun appartement sans travaux'],
    ['meublé', 'non loin de la mer, meublé'],
    ['meublé', 'Non-fumeur. Meublé avec goût.'],
    ['ascenseur', 'sans vis-à-vis, ascenseur'],
    ['ascenseur', 'non seulement ascenseur'],
    ['ascenseur', 'ascenseur :\nnon meublé'],
    ['ascenseur', 'ascenseur, non meublé'],
    ['avec ascenseur', 'sans balcon et avec ascenseur'],
    ['ascenseur', 'pas de balcon et ascenseur'],
    ['2 chambres', 'sans balcon et 2 chambres'],
    ['chambre', '0 chambre'],
    ['commission', 'commission : 0,50'],
    ['saison', 'location hors saison'],
    ['clefs en main', 'clé en main'],
    ['cuisine équipée', 'cuisine aménagée et bien équipée'],
    ['cuisines équipées', 'belle cuisine et entrée toutes équipées'],
  ] as const)
    assert.ok(holds([text], [entry(word)]), `${word}: ${text}`);
  for (const [word, text] of [
    ['vue mer', 'pas de vue sur la mer'],
    ['sans travaux', 'aucun travaux'],
    ['vis-à-vis', 'sans vis-à-vis'],
    ['meublé', 'Location non meublée'],
    ['meublé', 'bail non-meublé'],
    ['vue mer', 'vue sur la mer : non'],
    ['charges', 'loyer hors charges'],
    ['honoraires', 'prix hors honoraires'],
    ['cuisine équipée', 'cuisine ouverte très bien équipée'],
    ['cuisine équipée', 'cuisine ouverte et très bien équipée'],
    ['vue mer', 'vue dégagée et belle mer'],
  ] as const)
    assert.ok(!holds([text], [entry(word)]), `${word}: ${text}`);
});

test('ligatures, apostrophes and accents are ignored in entries and in texts', () => {
  assert.ok(holds(["au coeur de l'ile"], [entry('Cœur de l’Île', true, true)]));
  assert.ok(holds(['sans vis‑à‑vis'], [entry('vis a vis', true, true)]));
});

test('a word that folds to nothing is not a condition, whether included or excluded', () => {
  for (const strict of [true, false]) {
    for (const includes of [true, false]) assert.ok(holds(['x'], [entry('…', includes, strict)]));
  }
  assert.deepEqual(parseExpressions([{ word: '!' }, { word: '' }, {}]), []);
});

test('a formatted expression is read back unchanged', () => {
  const word = fc.constantFrom('balcon', 'vue & mer = 100 %', 'cœur[0]', "l'île", 'a+b', 'é');
  const entries = fc.record({ word, includes: fc.boolean(), strict: fc.boolean() }, { noNullPrototype: true });
  const groups = fc.array(fc.array(entries, { minLength: 1, maxLength: 3 }), { maxLength: 30 });
  fc.assert(fc.property(groups, (groups) => assert.deepEqual(parseExpressions(formatExpressions(groups)), groups)));
});

test('the three forms mean the same', () => {
  const expected = [[entry('balcon')], [entry('cave', false, true)]];
  const query =
    'expressions[0][0][word]=balcon&expressions[1][0][word]=cave&expressions[1][0][options][includes]=false&expressions[1][0][options][strict]=true';
  assert.deepEqual(parseExpressions(query), expected);
  assert.deepEqual(
    parseExpressions([[{ word: 'balcon' }], [{ word: 'cave', options: { includes: false, strict: true } }]]),
    expected,
  );
  assert.deepEqual(parseExpressions([{ word: 'balcon' }, { word: 'cave', includes: 'false', strict: 1 }]), expected);
});

test('every fault of a request is reported with its path, and entries beyond the limits are not read', () => {
  const faultsOf = (input: unknown) => {
    const faults: string[] = [];
    readExpressions(input, ({ path, message }) => faults.push(`${path.join('/')}: ${message.en}`));
    return faults;
  };
  assert.deepEqual(faultsOf([[{ word: '…', include: true }, 7], [{ word: 'x', options: { strict: 'ja', a: 1 } }]]), [
    '0/0/include: a member of an entry',
    '0/0/word: word must have a letter or a digit',
    '0/1: an entry must be an object with a word',
    '1/0/options/a: an option of an entry',
    '1/0/options/strict: must be true or false',
  ]);
  const unread = new Proxy([], {
    get: (target, name) => (name === 'length' ? 1e9 : assert.fail(`${String(name)} of ${typeof target} was read`)),
  });
  assert.deepEqual(faultsOf([unread]), [': must have at most 50 groups and 200 entries']);
  assert.deepEqual(faultsOf('x'.repeat(65_537)), [': must have at most 65536 characters']);
});

test('fifty unknown members of an entry are named, and the others are counted', () => {
  const count = (members: number) => {
    let told = 0;
    let all = 0;
    const unknown = Object.fromEntries(Array.from({ length: members }, (_, i) => [`k${i}`, 0]));
    readExpressions([{ ...unknown, word: 'x' }], ({ more = 0 }) => {
      told += 1;
      all += 1 + more;
    });
    return [told, all];
  };
  for (const members of [0, 1, 49, 50, 51, 500]) assert.deepEqual(count(members), [Math.min(members, 50), members]);
});

test('a stored expression is read without applying the current rules', () => {
  const long = formatExpressions([Array.from({ length: 150 }, () => entry('é'.repeat(200)))]);
  assert.equal(parseExpressions(long)[0]?.length, 150);
});
