/** A phrase is found exactly if its words occur in order, while phrases are added and removed, with limited work. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../bench/adverts/seeded-random.ts';
import { LoosePhraseTable } from '../src/engine/matching/text/loose-phrase-table.ts';
import { PhraseTable } from '../src/engine/matching/text/phrase-table.ts';

test('a phrase is found exactly when a scan of the words finds it, after any additions and removals', () => {
  const random = createRandom(5);
  const table = new PhraseTable();
  const stored: { code: number; words: readonly number[] }[] = [];
  const draw = (most: number): number[] =>
    Array.from(
      { length: 1 + Math.floor(random.uniform() ** 2 * most) },
      () => 1 + Math.floor(random.uniform() ** 2 * 40),
    );
  for (let generation = 1; generation <= 300; generation++) {
    for (let i = 0; i < 40; i++) {
      const words = draw(6);
      stored.push({ code: table.use(words), words });
    }
    for (let i = 0; i < (generation % 3 === 0 ? 90 : 10); i++) {
      const [gone] = stored.splice(Math.floor(random.uniform() * stored.length), 1);
      if (gone !== undefined) table.release(gone.code);
    }
    const text = [...draw(60), -1, ...draw(60), 0, ...draw(60)];
    const seenIn = new Int32Array(table.end);
    const starts = text.flatMap((word, place) => (table.startOf(word) === 0 ? [] : [place, table.startOf(word)]));
    table.read(Int32Array.from(text), Int32Array.from(starts), generation, seenIn);
    const scanned = ` ${text.join(' ')} `;
    for (const { code, words } of stored) {
      assert.equal(seenIn[code] === generation, scanned.includes(` ${words.join(' ')} `), words.join(' '));
      assert.deepEqual(table.wordsOf(code), words);
    }
  }
  for (const { code } of stored) table.release(code);
  assert.equal(table.use([7]), table.use([7]));
});

test('the work of reading a text for loose phrases grows with its places, however many phrases exist', () => {
  const random = createRandom(6);
  const table = new LoosePhraseTable();
  const common = () => ({ term: 1 + Math.floor(random.uniform() * 14), gapMax: 2 });
  const places = 100;
  const occurrences = Int32Array.from(Array.from({ length: places }, (_, place) => [4 * place, common().term]).flat());
  const judged = [1, 2].map((round) => {
    for (let i = 0; i < 20_000; i++) {
      table.use({ steps: [common(), common(), { term: 20_000 * round + i, gapMax: 2 }], isNegation: false });
      table.use({ steps: [common(), common(), common(), common()], isNegation: false });
    }
    return table.read(occurrences, round, new Int32Array(table.end));
  });
  for (const count of judged) assert.ok(count > places && count <= places * (1 + 3 + 9 + 27), judged.join());
  const same = { steps: Array.from({ length: 30 }, () => ({ term: 15, gapMax: 2 })), isNegation: false };
  table.use(same);
  const alike = Int32Array.from(occurrences, (value, i) => (i % 2 === 0 ? value : 15));
  assert.ok(table.read(alike, 3, new Int32Array(table.end)) <= places * 30);
});
