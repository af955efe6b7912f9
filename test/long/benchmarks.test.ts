/**
 * Every benchmark of package.json completes with a load of a few seconds (`--smoke`), and prints its figures. If this
 * test runs compiled, the benchmarks do too, because their processes then start in half the time.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { LOADER, moduleUrl, ROOT } from '../support/checkout.ts';

/** Figures of the first and the last part of each benchmark. */
const FIGURES: Readonly<Record<string, readonly RegExp[]>> = {
  'bench:console': [/^20 searches, 30 matches: [1-9]\d* frames/m, /tasks of the page above/],
  'bench:courier': [/^deliveriesPerSecond +[1-9]/m, /^recoveredPerSecond +[1-9]/m, /^resumedPerSecond +[1-9]/m],
  'bench:http': [/"hostileWorst":\s*\[\s*\{/, /^ +"poiPerSecond": [1-9]/m, /"explanations":\s*\{/],
  'bench:loading': [/^ready after \d/m],
  'bench:matching': [/^first population: 2,000 searches/m, /^mismatches +0$/m, /^ +50 km +5 .* 0$/m],
  'bench:pipeline': [/^recordedPerSecond +[1-9]/m, /^lost +0$/m, /^besideFloodMs +\{/m, /^shareOfBulkInsert +\d/m],
  'bench:retention': [/^removed \d+ rows/m],
};

const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));

test('every benchmark is among those that this test runs', () => {
  const committed = Object.keys(scripts).filter((name) => name.startsWith('bench:'));
  assert.deepEqual(committed, Object.keys(FIGURES));
});

for (const [name, figures] of Object.entries(FIGURES)) {
  test(`${name} --smoke prints its figures`, { timeout: 1_200_000 }, () => assertPrints(name, [], figures));
}

test('bench:courier --smoke compares the courier with each peer', { timeout: 1_200_000 }, async () => {
  const figures = ['pg-boss', 'graphile-worker'].map((peer) => new RegExp(`^${peer} held perSecond +[1-9]`, 'm'));
  await assertPrints('bench:courier', ['--peer', 'pg-boss', '--peer', 'graphile-worker', '--snapshot'], figures);
});

async function assertPrints(name: string, options: readonly string[], figures: readonly RegExp[]): Promise<void> {
  const [, flags = '', script = ''] = /^node (.*)--import tsx (\S+)\.ts$/.exec(scripts[name]) ?? [];
  const program = [...flags.split(' ').filter(Boolean), ...LOADER, fileURLToPath(moduleUrl(script))];
  const running = promisify(execFile)(process.execPath, [...program, '--smoke', ...options], { maxBuffer: 1e8 });
  const { stdout } = await running.catch(({ message, stdout }) => assert.fail(`${message}\n${stdout}`));
  for (const figure of figures) assert.match(stdout, figure);
}
