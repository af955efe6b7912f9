/** Texts compare as French readers read them, and adverts read fast are read no differently. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { foldText, foldWords } from '../src/domain/text.ts';
import { CodeTable } from '../src/matching/code-table.ts';
import { TermTable } from '../src/matching/text/term-table.ts';
import { TokenReader } from '../src/matching/text/token-reader.ts';

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

/** Knows every word it reads, so that codes can be turned back into words. */
function createReader() {
  const words = new CodeTable();
  const terms = new TermTable();
  const reader = new TokenReader(words, terms);
  return {
    learn(word: string): void {
      words.use(word);
      terms.use(word);
    },
    read(text: string): string[] {
      const read: { word: string; termCodes: number[] }[] = [];
      reader.read(text, {
        addWord: (wordCode) => read.push({ word: wordCode === 0 ? '' : words.textOf(wordCode), termCodes: [] }),
        addTerm: (termCode) => read.at(-1)?.termCodes.push(termCode),
      });
      for (const { word, termCodes } of read) if (word !== '') assert.deepEqual(termCodes, terms.codesOf(word));
      return read.map(({ word }) => word);
    },
  };
}

test('the reader finds the words that foldWords finds, in order, in any text', () => {
  const reader = createReader();
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
      for (const word of words) reader.learn(word);
      assert.deepEqual(reader.read(text), [...words]);
    }),
    { numRuns: 5000 },
  );
});

test('every single character folds in the reader as it does in foldWords', () => {
  const reader = createReader();
  for (let unit = 0; unit < 0x10000; unit++) {
    const text = `a${String.fromCharCode(unit)}b`;
    const words = foldWords(text);
    for (const word of words) reader.learn(word);
    assert.deepEqual(reader.read(text), [...words], unit.toString(16));
  }
});
