/** Comparison ignores case, accents and punctuation. The fast reader finds the same words as the slow one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { foundWords, readText } from '../src/engine/domain/expression-criterion.ts';
import { entryHolds } from '../src/engine/domain/expressions.ts';
import { foldText, foldWords, foldWordsJoined } from '../src/engine/domain/text.ts';
import { foldTexts } from '../src/engine/domain/word-phrases.ts';
import { CodeTable } from '../src/engine/matching/code-table.ts';
import { PhraseTable } from '../src/engine/matching/text/phrase-table.ts';
import { TermTable } from '../src/engine/matching/text/term-table.ts';
import { TokenReader } from '../src/engine/matching/text/token-reader.ts';
import { placeKey } from '../src/engine/reference/place-names.ts';

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

test('invisible characters split no word, in a text, a search or the name of a place', () => {
  for (const unseen of [
    '\u00ad',
    '\u200b',
    '\u200c',
    '\u200d',
    '\u2060',
    '\ufeff',
    '\u034f',
    '\u180e',
    '\u3164',
    '\u{e0041}',
  ]) {
    const within = (text: string) => text.replaceAll(/(?<=\p{L})(?=\p{L})/gu, unseen);
    const text = within('Grande terrasse, vue mer. Viager occupé');
    assert.deepEqual(foldWords(text), ['grande', 'terrasse', 'vue', 'mer', 'viager', 'occupe']);
    assert.equal(placeKey(within('Saint-Étienne')), placeKey('Saint-Étienne'));
    for (const strict of [true, false]) {
      const entry = { word: within('vue mer'), includes: true, strict };
      assert.ok(entryHolds(entry, foldTexts(['Vue mer'])));
      assert.ok(entryHolds({ ...entry, word: 'vue mer' }, foldTexts([text])));
      assert.ok(!entryHolds({ word: 'viager', includes: false, strict }, foldTexts([text])));
    }
    assert.deepEqual(foundWords({ word: 'terrasse', includes: true, strict: false }, [readText(text)])?.words, [
      within('terrasse'),
    ]);
  }
});

const TEXT_END = -1;

/** A reader with known words, so that codes can be converted back into words. */
function createReader() {
  const words = new CodeTable();
  const terms = new TermTable();
  const reader = new TokenReader(words, new PhraseTable(), terms);
  return {
    learn(word: string): void {
      words.use(word);
      terms.use(word);
    },
    knows: (word: string): boolean => words.codeOf(word) !== 0,
    read(text: string): string[] {
      reader.restart();
      reader.read(text, TEXT_END, 2);
      const { joins } = foldWordsJoined(text);
      assert.deepEqual(
        joins.map((_, at) => reader.joinAt(at)),
        joins,
      );
      const codes = [...reader.codes];
      assert.equal(codes.pop(), TEXT_END);
      const read = codes.map((code) => (code === 0 ? '' : words.textOf(code)));
      const expected = new Set(foldWords(text).flatMap((word) => terms.codesOf(word)));
      assert.deepEqual(reader.terms.toSorted(), Int32Array.from(expected).sort());
      return read;
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
      'ter\u00adrasse',
      'v\u{e0041}ue',
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

test('more words than the reader caches are read in the same way, and so is a long text', () => {
  const reader = createReader();
  const words = Array.from({ length: 100_000 }, (_, i) => `mot${i.toString(36)}${'x'.repeat(i % 40)}`);
  for (let first = 0; first < words.length; first += 500) {
    const some = words.slice(first, first + 500);
    for (const word of some.slice(0, 3)) reader.learn(word);
    const again = [...some, ...words.slice(0, 10), ...some];
    const known = (word: string): string => (reader.knows(word) ? word : '');
    assert.deepEqual(reader.read(again.join(' ')), again.map(known));
  }
  const long = words.slice(0, 5000);
  assert.deepEqual(
    reader.read(long.join(' ')),
    long.map((word) => (reader.knows(word) ? word : '')),
  );
});
