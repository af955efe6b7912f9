/** The hash that distinguishes expressions. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Expressions } from '../src/engine/domain/expressions.ts';
import { ExpressionSpelling } from '../src/engine/matching/text/expression-table.ts';

const wanting = (word: string): Expressions => [[{ word, includes: true, strict: false }]];

function hashOf(expressions: Expressions): number {
  const spelling = new ExpressionSpelling();
  spelling.write(expressions);
  return spelling.hash;
}

test('equal expressions have one hash', () => {
  assert.equal(hashOf(wanting('balcon')), hashOf(wanting('balcon')));
});

test('words built to collide under a published hash function do not collide here', () => {
  // Words that collide under FNV-1a with its published constants.
  const hashes = ['仳偢崜一', '僐冊瑻一', '僗偐裂一'].map((word) => hashOf(wanting(word)));
  assert.equal(new Set(hashes).size, 3);
});
