/** Texts compare as French readers read them, and adverts read fast are read no differently. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { foldText, foldWords, stem } from '../src/domain/text.ts';
import { CodeTable } from '../src/matching/code-table.ts';
import { TokenReader } from '../src/matching/token-reader.ts';

test('case, accents, ligatures, apostrophes and hyphens make no difference', () => {
  const forms = [
    "L'ÎLE-Saint-Louis, cœur",
    'l’île saint‑louis CŒUR',
    'l ile saint louis coeur',
    "l'i\u0302le saint-louis cœur",
  ];
  for (const form of forms) assert.equal(foldText(form), 'l ile saint louis coeur');
  assert.deepEqual(foldWords('80 m², 2½ pièces — ﬁn'), ['80', 'm2', '21', '2', 'pieces', 'fin']);
});

test('inflected forms share a stem, different words do not', () => {
  for (const forms of [
    ['renove', 'renovee', 'renovees'],
    ['balcon', 'balcons'],
    ['terrasse', 'terrasses'],
    ['calme', 'calmes'],
  ]) {
    assert.equal(new Set(forms.map(stem)).size, 1, forms.join());
  }
  assert.notEqual(stem('mer'), stem('mairie'));
  assert.notEqual(stem('cave'), stem('caviar'));
});

/** Terms that stand for every word, so that a reader's codes can be turned back into words. */
function readWith(text: string, terms: CodeTable, reader: TokenReader): string[] {
  const read: string[] = [];
  reader.read(text, (wordCode, stemCode) => {
    const word = wordCode === 0 ? '' : terms.textOf(wordCode);
    assert.equal(stemCode, word === '' ? stemCode : terms.codeOf(stem(word)));
    read.push(word);
  });
  return read;
}

test('the reader finds the words that foldWords finds, in order, in any text', () => {
  const terms = new CodeTable();
  const reader = new TokenReader(terms);
  const piece = fc.oneof(
    fc.constantFrom(
      'Cœur ',
      'É',
      'e\u0301',
      '🏡',
      '👨‍👩‍👧',
      '²',
      '½',
      'ﬁ',
      'ß',
      'ŉ',
      'Σ',
      '-',
      '’',
      '\u00a0',
      '\ud83d',
      'İ',
      '𝒜',
      'x'.repeat(70),
    ),
    fc.string({ unit: 'binary', maxLength: 8 }),
    fc.string({ unit: 'grapheme', maxLength: 8 }),
    fc.constantFrom('vue mer ', 'balcon', 'maison '),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join('');
      const words = foldWords(text);
      for (const word of words) {
        terms.use(word);
        terms.use(stem(word));
      }
      assert.deepEqual(readWith(text, terms, reader), [...words]);
    }),
    { numRuns: 5000 },
  );
});

test('every single character folds in the reader as it does in foldWords', () => {
  const terms = new CodeTable();
  const reader = new TokenReader(terms);
  for (let unit = 0; unit < 0x10000; unit++) {
    const text = `a${String.fromCharCode(unit)}b`;
    const words = foldWords(text);
    for (const word of words) terms.use(word);
    assert.deepEqual(readWith(text, terms, reader), [...words], unit.toString(16));
  }
});
