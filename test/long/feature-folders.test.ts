/** Each feature is beside the engine: without its folder and its name everything else compiles, and the engine works. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { FEATURES } from '../../src/features.ts';
import { startDaemon } from '../support/daemon.ts';
import { startTestServers } from '../support/servers.ts';
import { copySources } from '../support/source-copy.ts';

/** Of the engine: what a change leads to, an advert's way to a webhook, and searches. */
const ENGINE_TESTS = [
  'test/alerts.test.ts',
  'test/alert-histories.test.ts',
  'test/integration/intake-journey.test.ts',
  'test/integration/webhook-courier.test.ts',
  'test/integration/rest-searches.test.ts',
];

test('without the folder of the console the service compiles, is built and serves all else', async (t) => {
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

for (const { name } of FEATURES) {
  test(`without the folder and the name of ${name} all else compiles and the engine works`, async (t) => {
    const copy = await copySources(t);
    await rm(join(copy.path, 'src/features', name), { recursive: true });
    const others = FEATURES.map((feature) => feature.name).filter((other) => other !== name);
    await copy.change('src/features.ts', (text) =>
      text
        .replace(new RegExp(`^import .*/features/${name}/.*\\n|^import \\{ ${name} \\}.*\\n`, 'gm'), '')
        .replace(/= \[[^\]]*\];/, `= [${others.join(', ')}];`),
    );
    const only = { extends: './tsconfig.json', include: ['src', ...ENGINE_TESTS], exclude: ['src/console/page'] };
    await writeFile(join(copy.path, 'tsconfig.only.json'), JSON.stringify(only));
    for (const args of [
      ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.only.json'],
      ['--import', 'tsx', '--test', '--test-concurrency=1', ...ENGINE_TESTS],
    ]) {
      assert.equal(await copy.failureOf(...args), null);
    }
  });
}
