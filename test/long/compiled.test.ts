/** A checkout runs compiled JavaScript, builds it when a source is newer, and executes no files of other users. */

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, lchown, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { ROOT } from '../support/checkout.ts';
import { poisonCache } from '../support/hostile-cache.ts';
import { emptyDirectory } from '../support/servers.ts';

const run = promisify(execFile);
const isRoot = process.geteuid?.() === 0;
const UID = isRoot ? 65_534 : (process.geteuid?.() as number);

interface Checkout {
  readonly path: string;
  readonly temporary: string;
  /** Runs one script as an ordinary user; resolves with its exit code and output. */
  script(name: string, ...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }>;
}

async function makeCheckout(t: TestContext): Promise<Checkout> {
  const folder = await emptyDirectory(t);
  await chmod(folder, 0o755);
  const [path, temporary] = [join(folder, 'checkout'), join(folder, 'tmp')];
  await mkdir(temporary);
  for (const name of ['src', 'config', 'package.json', 'package-lock.json', 'tsconfig.json', '.npmrc'])
    await cp(join(ROOT, name), join(path, name), { recursive: true, preserveTimestamps: true });
  await symlink(join(ROOT, 'node_modules'), join(path, 'node_modules'));
  if (isRoot)
    for (const name of ['', ...(await readdir(path, { recursive: true }))]) await lchown(join(path, name), UID, UID);
  const env = { PATH: process.env.PATH, HOME: temporary, TMPDIR: temporary, NO_UPDATE_NOTIFIER: '1' };
  return {
    path,
    temporary,
    async script(name, ...args) {
      const options = { cwd: path, env, ...(isRoot ? { uid: UID, gid: UID } : {}) };
      const said = run('npm', ['run', '-s', name, '--', ...args], options);
      return said.then(
        ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
        ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
      );
    },
  };
}

test('a checkout builds missing and outdated files, reports it, and executes no file of another user', async (t) => {
  const { path, temporary, script } = await makeCheckout(t);
  const mark = join(temporary, 'mark');
  const main = join(path, 'src/main.ts');
  for (const uid of new Set([UID, process.geteuid?.() as number])) await poisonCache(temporary, uid, main, mark);
  // Running the source with tsx shows that the poisoned cache would be executed.
  const env = { PATH: process.env.PATH, TMPDIR: temporary };
  await run(process.execPath, ['--import', import.meta.resolve('tsx'), main, '--help'], { env });
  assert.ok(existsSync(mark), 'tsx executes the cache');
  await rm(mark);

  const first = await script('vigie', '--version');
  assert.match(first.stderr, /^building the program, and installing /);
  assert.match(first.stdout, /^\d+\.\d+\.\d+\n$/);
  assert.deepEqual(await script('vigie', '--version'), { code: 0, stdout: first.stdout, stderr: '' });
  await writeFile(join(path, 'src/new.ts'), 'export {};\n');
  assert.match((await script('vigie', '--version')).stderr, /^building/);
  await rm(join(path, 'src/new.ts'));
  assert.match((await script('vigie', '--version')).stderr, /^building/);
  assert.ok(!existsSync(join(path, 'dist/src/new.js')));
  assert.ok(!existsSync(mark), 'no file of the cache was executed');

  if (!isRoot) return;
  await lchown(path, 0, 0);
  assert.deepEqual(await script('vigie', '--version'), { code: 0, stdout: first.stdout, stderr: '' });
  await writeFile(join(path, 'src/new.ts'), 'export {};\n');
  const refused = await script('vigie', '--version');
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /^dist is missing or older than the sources, and this user may not write to .*: run npm run ready as its owner\n$/,
  );
});

test('the compiled program prints its version within one and a half times the start time of Node.js', async () => {
  await run('npm', ['run', '-s', 'ready'], { cwd: ROOT });
  const took = (args: readonly string[]): number => {
    const began = performance.now();
    assert.equal(spawnSync(process.execPath, args, { stdio: 'ignore' }).status, 0);
    return performance.now() - began;
  };
  const [nothing, version] = [
    ['-e', '0'],
    ['--max-semi-space-size=64', join(ROOT, 'dist/src/main.js'), '--version'],
  ];
  const rounds = Array.from({ length: 12 }, () => [took(nothing), took(version)] as const);
  const least = (at: 0 | 1): number => Math.min(...rounds.map((round) => round[at]));
  assert.ok(least(1) <= 1.5 * least(0), `${least(1)} ms, ${least(0)} ms`);
});
