/** No regex for external text takes quadratic time: `recheck` analyses each, and attacks those that it doubts. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';
import { check } from 'recheck';
import { ROOT_URL } from '../support/checkout.ts';
import { assertNone } from '../support/lists.ts';

/** Files with reported but harmless regexes, which read only files of this repository. */
const OWN_FILES_ONLY: ReadonlySet<string> = new Set([
  'engine/domain/inflection/suffix-rules.ts',
  'rest/description/code-samples.ts',
  'rest/description/documentation.ts',
]);

interface Literal {
  readonly path: string;
  readonly pattern: string;
  readonly flags: string;
}

function literalsOf(path: string): readonly Literal[] {
  const literals: Literal[] = [];
  const text = readFileSync(fileURLToPath(new URL(`src/${path}`, ROOT_URL)), 'utf8');
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if ('regex' in node) literals.push({ path, ...(node.regex as Omit<Literal, 'path'>) });
    else for (const child of Object.values(node)) visit(child);
  };
  visit(parseSync(path, text).program);
  return literals;
}

test('no regex that is applied to external text is slower than linear', async () => {
  const paths = readdirSync(fileURLToPath(new URL('src', ROOT_URL)), { recursive: true, encoding: 'utf8' });
  const literals = paths.filter((path) => /\.tsx?$/.test(path)).flatMap(literalsOf);
  assert.ok(literals.length > 300);
  const slow: string[] = [];
  for (const { path, pattern, flags } of literals) {
    const { status } = await check(pattern, flags, { timeout: 60_000 });
    if (status !== 'safe') slow.push(`${path}: /${pattern}/${flags} is ${status}`);
  }
  const paired = (path: string) => slow.some((each) => each.startsWith(`${path}:`));
  assertNone(slow.filter((each) => !OWN_FILES_ONLY.has(each.split(':', 1)[0] as string)));
  assert.ok([...OWN_FILES_ONLY].every(paired), 'the list has a file without such a regex');
});
