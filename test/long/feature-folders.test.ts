/** Features are separate from the engine: without any or all of them, the rest compiles and the engine works. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { FEATURES } from '../../src/features.ts';
import { startDaemon } from '../support/daemon.ts';
import { startTestServers } from '../support/servers.ts';
import { copySources } from '../support/source-copy.ts';

/** Tests of the engine: effects of a change, an advert's way to a webhook, searches, no routes of removed features. */
const ENGINE_TESTS = [
  'test/alerts.test.ts',
  'test/openapi-routes.test.ts',
  'test/integration/intake-journey.test.ts',
  'test/integration/rest-searches.test.ts',
];

test('without the folder of the console the service compiles, is built and serves everything else', async (t) => {
  const copy = await copySources(t);
  for (const each of ['src/console', 'test', 'bench']) await rm(join(copy.path, each), { recursive: true });
  for (const script of ['types', 'build']) await promisify(execFile)('npm', ['run', '-s', script], { cwd: copy.path });
  assert.equal(await copy.failureOf('dist/src/main.js', '--version'), null);
  const servers = await startTestServers(t);
  const { apiUrl, errors } = await startDaemon(t, servers, {}, { root: copy.path });
  const statuses = ['/console', '/console/console.js', '/docs', '/searches'].map(
    async (path) => (await fetch(apiUrl + path)).status,
  );
  assert.deepEqual(await Promise.all(statuses), [404, 404, 200, 401]);
  assert.deepEqual(errors, []);
});

const NAMES = FEATURES.map(({ name }) => name);

async function deleteFeatures(t: TestContext, gone: readonly string[], engineTests: readonly string[]): Promise<void> {
  const copy = await copySources(t);
  for (const name of gone) await rm(join(copy.path, 'src/features', name), { recursive: true });
  const others = NAMES.filter((name) => !gone.includes(name));
  await copy.change('src/features.ts', (text) =>
    gone
      .reduce(
        (left, name) =>
          left.replace(new RegExp(`^import .*/features/${name}/.*\\n|^import \\{ ${name} \\}.*\\n`, 'gm'), ''),
        text,
      )
      .replace(/= \[[^\]]*\];/, `= [${others.join(', ')}];`),
  );
  // Compiled, the tests load in half the time.
  const only = {
    extends: './tsconfig.json',
    compilerOptions: { noEmit: false, outDir: 'dist', rootDir: '.' },
    include: ['src', ...engineTests],
    exclude: ['src/console/page'],
  };
  await writeFile(join(copy.path, 'tsconfig.only.json'), JSON.stringify(only));
  assert.equal(await copy.failureOf('node_modules/typescript/bin/tsc', '-p', 'tsconfig.only.json'), null);
  for (const each of ['src', 'config', 'package.json']) {
    await cp(join(copy.path, each), join(copy.path, 'dist', each), {
      recursive: true,
      filter: (path) => !path.endsWith('.ts'),
    });
  }
  const compiled = engineTests.map((path) => join('dist', path.replace(/ts$/, 'js')));
  assert.equal(await copy.failureOf('--test', '--test-concurrency=1', ...compiled), null);
}

for (const name of NAMES) {
  test(`without the folder and the name of ${name} everything else compiles and the engine works`, (t) =>
    deleteFeatures(t, [name], ENGINE_TESTS));
}

test('without any feature everything else compiles and the engine works', (t) =>
  deleteFeatures(t, NAMES, [...ENGINE_TESTS, 'test/integration/webhook-courier.test.ts']));
