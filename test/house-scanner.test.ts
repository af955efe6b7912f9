/** The scanner behind the house rules finds what it must, and nothing else. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { functionsOf, importsOf } from './support/source-scanner.ts';

test('the scanner sees functions, methods and arrows, and nothing else', () => {
  const source = `
export async function several(
  first: string,
): Promise<{ a: number }> {
  if (first === '') {
    return { a: 1 };
  }
  const inner = (value: number): number => {
    return value;
  };
  return { a: inner(1) };
}
function typed(): {
  readonly a: string;
} {
  return { a: '' };
}
class Box {
  async #open(lid: string): Promise<void> {
    for (const hinge of lid) {
      turn(hinge);
    }
  }
  get isOpen() {
    return true;
  }
}
const settings = {
  name: 'box',
  close() {
    done();
  },
};
call(1, async () => {
  done();
});`;
  assert.deepEqual(functionsOf(source.split('\n')), [
    { line: 2, length: 11 },
    { line: 8, length: 3 },
    { line: 13, length: 5 },
    { line: 19, length: 5 },
    { line: 24, length: 3 },
    { line: 30, length: 3 },
    { line: 34, length: 3 },
  ]);
});

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
