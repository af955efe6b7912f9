/** Phrases are found in a text when, and only when, their words stand there in order, while phrases come and go. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../bench/adverts/seeded-random.ts';
import { PhraseTable } from '../src/engine/matching/text/phrase-table.ts';

test('a phrase is in a text exactly when a scan finds its words there, whatever came and went before', () => {
  const random = createRandom(5);
  const table = new PhraseTable();
  const held: { code: number; words: readonly number[] }[] = [];
  const draw = (most: number): number[] =>
    Array.from(
      { length: 1 + Math.floor(random.uniform() ** 2 * most) },
      () => 1 + Math.floor(random.uniform() ** 2 * 40),
    );
  for (let generation = 1; generation <= 300; generation++) {
    for (let i = 0; i < 40; i++) {
      const words = draw(6);
      held.push({ code: table.use(words), words });
    }
    for (let i = 0; i < (generation % 3 === 0 ? 90 : 10); i++) {
      const [gone] = held.splice(Math.floor(random.uniform() * held.length), 1);
      if (gone !== undefined) table.release(gone.code);
    }
    const text = [...draw(60), -1, ...draw(60), 0, ...draw(60)];
    const seenIn = new Int32Array(table.end);
    const starts = text.flatMap((word, place) => (table.startOf(word) === 0 ? [] : [place, table.startOf(word)]));
    table.read(Int32Array.from(text), Int32Array.from(starts), generation, seenIn);
    const scanned = ` ${text.join(' ')} `;
    for (const { code, words } of held) {
      assert.equal(seenIn[code] === generation, scanned.includes(` ${words.join(' ')} `), words.join(' '));
      assert.deepEqual(table.wordsOf(code), words);
    }
  }
  for (const { code } of held) table.release(code);
  assert.equal(table.use([7]), table.use([7]));
});
