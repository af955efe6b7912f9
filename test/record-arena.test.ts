/** Records that are allocated and freed leave little memory in use. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecordArena } from '../src/engine/matching/records/arena.ts';

test('one record that takes every size in turn uses a few megabytes, not the sum of all sizes', () => {
  const arena = new RecordArena();
  for (let words = 1; words <= arena.wordsMax; words++) arena.free(arena.allocate(words), words);
  assert.ok(arena.bytes < 8 * 1_024 ** 2, String(arena.bytes));
});
