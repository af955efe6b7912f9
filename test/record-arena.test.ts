/** Records come and go, each apart from the others, and leave little behind. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../bench/adverts/seeded-random.ts';
import { RecordArena } from '../src/engine/matching/records/arena.ts';

interface Held {
  readonly address: number;
  readonly words: number;
  readonly mark: number;
}

test('records that come and go in any order keep what was written to them', () => {
  const random = createRandom(23);
  const arena = new RecordArena();
  const held: Held[] = [];
  const numbersOf = ({ address, words }: Held): Float64Array => {
    const first = arena.numberOffset(address);
    return arena.numbersAt(address).subarray(first, first + words);
  };
  for (let mark = 0; mark < 5_000; mark++) {
    const words = random.integer(1, 2 ** random.integer(1, 14));
    const record = { address: arena.allocate(words), words, mark };
    assert.equal(numbersOf(record).length, words);
    numbersOf(record).fill(mark);
    held.push(record);
    if (held.length < 50) continue;
    const [gone] = held.splice(random.integer(0, held.length - 1), 1) as [Held];
    assert.ok(numbersOf(gone).every((number) => number === gone.mark));
    arena.free(gone.address, gone.words);
  }
});

test('one record that takes every size in turn leaves a few megabytes, not the sum of all sizes', () => {
  const arena = new RecordArena();
  for (let words = 1; words <= arena.wordsMax; words++) arena.free(arena.allocate(words), words);
  assert.ok(arena.bytes < 8 * 1_024 ** 2, String(arena.bytes));
});
