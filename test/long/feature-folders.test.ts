/** Each feature is beside the engine: without its folder and its name everything else compiles, and the engine works. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { FEATURES } from '../../src/features.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Of the engine: what a change leads to, an advert's way to a webhook, and searches. */
const ENGINE_TESTS = [
  'test/alerts.test.ts',
  'test/consequences-histories.test.ts',
  'test/integration/intake-journey.test.ts',
  'test/integration/webhook-courier.test.ts',
  'test/integration/rest-searches.test.ts',
];
const run = promisify(execFile);

for (const { name } of FEATURES) {
  test(`without the folder and the name of ${name} all else compiles and the engine works`, async (t) => {
    const copy = await mkdtemp(join(tmpdir(), 'vigie-without-'));
    t.after(() => rm(copy, { recursive: true }));
    for (const each of ['src', 'test', 'config', 'proto', 'package.json', 'tsconfig.json']) {
      await cp(join(ROOT, each), join(copy, each), { recursive: true });
    }
    await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
    await rm(join(copy, 'src/features', name), { recursive: true });
    const list = join(copy, 'src/features.ts');
    const named = await readFile(list, 'utf8');
    const others = FEATURES.map((feature) => feature.name).filter((other) => other !== name);
    const left = named
      .replace(new RegExp(`^import .*/features/${name}/.*\\n|^import \\{ ${name} \\}.*\\n`, 'gm'), '')
      .replace(/= \[[^\]]*\];/, `= [${others.join(', ')}];`);
    assert.notEqual(left, named);
    await writeFile(list, left);
    const only = { extends: './tsconfig.json', include: ['src', ...ENGINE_TESTS], exclude: ['src/console/page'] };
    await writeFile(join(copy, 'tsconfig.only.json'), JSON.stringify(only));
    const inCopy = {
      cwd: copy,
      maxBuffer: 1 << 26,
      env: { ...process.env, BUILT_ROOT: undefined, NODE_TEST_CONTEXT: undefined },
    };
    for (const args of [
      ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.only.json'],
      ['--import', 'tsx', '--test', '--test-concurrency=1', ...ENGINE_TESTS],
    ]) {
      const failure: { stdout?: string } | null = await run(process.execPath, args, inCopy).then(
        () => null,
        (error) => error,
      );
      assert.equal(failure?.stdout ?? null, null);
    }
  });
}
