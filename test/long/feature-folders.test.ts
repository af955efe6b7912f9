/** Features are separate from the engine: without one or all of them, the rest compiles and the engine works. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { FEATURES } from '../../src/features.ts';
import { ROOT } from '../support/checkout.ts';
import { startDaemon } from '../support/daemon.ts';
import { startTestServers } from '../support/servers.ts';
import { copySources } from '../support/source-copy.ts';

/** Tests of the engine: effects of a change, an advert's way to a webhook, searches, no routes of removed features. */
const ENGINE_TESTS = ['alerts', 'openapi-routes', 'integration/intake-journey', 'integration/rest-searches'];
const COURIER_TEST = 'integration/webhook-courier';

test('without the folder of the console the service compiles, is built, and serves its documentation and its API', async (t) => {
  const copy = await copySources(t);
  for (const each of ['src/console', 'test', 'bench']) await rm(join(copy.path, each), { recursive: true });
  for (const script of ['types', 'build']) await promisify(execFile)('npm', ['run', '-s', script], { cwd: copy.path });
  assert.equal(await copy.failureOf('dist/src/main.js', '--version'), null);
  const servers = await startTestServers(t);
  const { apiUrl, errors } = await startDaemon(t, servers, {}, { root: join(copy.path, 'dist') });
  const statuses = ['/console', '/console/console.js', '/docs', '/searches'].map(
    async (path) => (await fetch(apiUrl + path)).status,
  );
  assert.deepEqual(await Promise.all(statuses), [404, 404, 200, 401]);
  assert.deepEqual(errors, []);
});

const NAMES = FEATURES.map(({ name }) => name);

/** One copy for all features, because the compiler then checks again only what depends on a deleted feature. */
const shared = await copySources({ after });
// In one process, the tests load the program once.
const together = `import { runTogether } from './support/together.ts';\nrunTogether(${JSON.stringify(ENGINE_TESTS)});\n`;
await writeFile(join(shared.path, 'test/engine.test.ts'), together);
const compiled = [...ENGINE_TESTS, 'engine', COURIER_TEST].map((name) => `test/${name}.test.ts`);
const only = {
  extends: './tsconfig.json',
  compilerOptions: { noEmit: false, outDir: 'dist', rootDir: '.', incremental: true },
  include: ['src', ...compiled],
  exclude: ['src/console/page'],
};
await writeFile(join(shared.path, 'tsconfig.only.json'), JSON.stringify(only));
for (const each of ['config', 'package.json'])
  await cp(join(shared.path, each), join(shared.path, 'dist', each), { recursive: true });

async function deleteFeatures(gone: readonly string[], ...tests: readonly string[]): Promise<void> {
  const { path, change, failureOf } = shared;
  for (const each of ['src/features', 'src/features.ts'])
    await cp(join(ROOT, each), join(path, each), { recursive: true });
  for (const name of gone) {
    for (const folder of ['src/features', 'dist/src/features'])
      await rm(join(path, folder, name), { recursive: true, force: true });
  }
  const others = NAMES.filter((name) => !gone.includes(name));
  await change('src/features.ts', (text) =>
    gone
      .reduce(
        (left, name) =>
          left.replace(new RegExp(`^import .*/features/${name}/.*\\n|^import \\{ ${name} \\}.*\\n`, 'gm'), ''),
        text,
      )
      .replace(/= \[[^\]]*\];/, `= [${others.join(', ')}];`),
  );
  assert.equal(await failureOf('node_modules/typescript/bin/tsc', '-p', 'tsconfig.only.json'), null);
  const filter = (name: string) => !name.endsWith('.ts');
  await cp(join(path, 'src'), join(path, 'dist/src'), { recursive: true, filter });
  const files = tests.map((name) => join('dist/test', `${name}.test.js`));
  assert.equal(await failureOf('--test', '--test-concurrency=1', ...files), null);
}

for (const name of NAMES) {
  test(`without the folder and the name of ${name} everything else compiles and the engine works`, () =>
    deleteFeatures([name], 'engine'));
}

test('without any feature everything else compiles and the engine works', () =>
  deleteFeatures(NAMES, 'engine', COURIER_TEST));
