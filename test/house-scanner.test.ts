/** The scanner behind the house rules finds every import, and nothing else. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importsOf } from './support/source-scanner.ts';

test('the scanner sees every form of import, and no other text', () => {
  const source = `
import { a } from './a.ts';
import './b.ts';
import type {
  C,
} from './c.ts';
export * from './d.ts';
const e = await import('./e.ts');
export const NAME = './f.ts';
export function copy() {
  return Buffer.from('./g.ts');
}`;
  assert.deepEqual(importsOf(source), ['./a.ts', './b.ts', './c.ts', './d.ts', './e.ts']);
});
