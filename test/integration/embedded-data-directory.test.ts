/** One daemon at a time locks the data directory, and the lock ends with the daemon. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, chmod, chown, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { succeeds } from '../../src/engine/actor/waiting.ts';
import { cacheEntry } from '../../src/local/cache.ts';
import { cacheDirectory, openDataDirectory } from '../../src/local/data-directory.ts';
import { LOADER, moduleUrl } from '../support/checkout.ts';
import { emptyDirectory } from '../support/servers.ts';

const isRoot = process.getuid?.() === 0;
const module = moduleUrl('src/local/data-directory');

test('a missing directory is created, and only its owner can access it', async (t) => {
  const directory = await openDataDirectory(join(await emptyDirectory(t), 'à la volée', 'vigie'));
  t.after(() => directory.close());
  assert.equal((await stat(directory.path)).mode & 0o777, 0o700);
});

test('a second daemon is refused, by any path to the directory, and reports which process uses it', async (t) => {
  const path = await emptyDirectory(t);
  const other = join(await emptyDirectory(t), 'link');
  await symlink(path, other);
  const directory = await openDataDirectory(path);
  await assert.rejects(openDataDirectory(other), (error: Error & { code: string }) => {
    assert.equal(error.code, 'DATA_DIRECTORY_IN_USE');
    assert.match(error.message, new RegExp(`in use by another Vigie daemon \\(process ${process.pid}\\)`));
    assert.match(error.message, /VIGIE_DATA_DIR/);
    return true;
  });
  await directory.close();
  await (await openDataDirectory(other)).close();
});

test('a directory is unlocked as soon as its daemon is killed', async (t) => {
  const path = await emptyDirectory(t);
  const holder = spawn(process.execPath, [
    ...LOADER,
    '--input-type=module',
    `--eval=import { openDataDirectory } from ${JSON.stringify(module)};
    await openDataDirectory(${JSON.stringify(path)});
    process.stdout.write('held');
    setInterval(() => undefined, 60_000);`,
  ]);
  await once(holder.stdout, 'data');
  await assert.rejects(openDataDirectory(path), { code: 'DATA_DIRECTORY_IN_USE' });
  holder.kill('SIGKILL');
  await (await openDataDirectory(path)).close();
});

test('a directory that another user could change is refused', async (t) => {
  const path = await emptyDirectory(t);
  for (const mode of [0o777, 0o1777]) {
    await chmod(path, mode);
    await assert.rejects(openDataDirectory(path), /is writable by every user.*Set VIGIE_DATA_DIR/);
  }
  await chmod(path, 0o755);
  await (await openDataDirectory(path)).close();
  if (!isRoot) return;
  await chown(path, 65_534, 65_534);
  await assert.rejects(openDataDirectory(path), /belongs to user 65534, who could change its content/);
});

test('a cache that another user could change is refused, regardless of its content', async (t) => {
  const path = await emptyDirectory(t);
  await writeFile(join(path, 'planted'), '');
  await chmod(path, 0o777);
  const take = () => cacheEntry(path, 'planted', async () => true, assert.fail);
  await assert.rejects(take(), /is writable by every user/);
  await chmod(path, 0o755);
  assert.equal(await take(), join(path, 'planted'));
});

test('processes that build one cache entry all use the first one’s, even if their own build fails, and replace a damaged one', async (t) => {
  const path = await emptyDirectory(t);
  const build = async (): Promise<number> => {
    const isUsable = (entry: string) => succeeds(access(join(entry, 'complete')));
    const entry = await cacheEntry(path, 'built', isUsable, (staging) => writeFile(join(staging, 'complete'), ''));
    return (await stat(join(entry, 'complete'))).ino;
  };
  for (let round = 0; round < 10; round++) {
    await rm(join(path, 'built'), { recursive: true, force: true });
    const files = await Promise.all(Array.from({ length: 8 }, build));
    assert.equal(new Set(files).size, 1, `round ${round}`);
    assert.deepEqual(await readdir(path), ['built']);
  }
  const failing = cacheEntry(
    path,
    'built elsewhere',
    async (entry) => succeeds(access(entry)),
    async () => {
      await mkdir(join(path, 'built elsewhere'));
      throw new Error('no mirror answers');
    },
  );
  assert.equal(await failing, join(path, 'built elsewhere'));
  await rename(join(path, 'built', 'complete'), join(path, 'built', 'damaged'));
  await build();
  assert.deepEqual(await readdir(join(path, 'built')), ['complete']);
});

test('a lock file that is a link is refused', async (t) => {
  const path = await emptyDirectory(t);
  const elsewhere = join(await emptyDirectory(t), 'precious');
  await writeFile(elsewhere, 'untouched');
  await symlink(elsewhere, join(path, 'lock'));
  await assert.rejects(openDataDirectory(path), { code: 'DATA_DIRECTORY_UNUSABLE' });
  assert.equal(await readFile(elsewhere, 'utf8'), 'untouched');
});

test('a path that cannot be a directory is refused with the name of the setting', async (t) => {
  const file = join(await emptyDirectory(t), 'file');
  await writeFile(file, '');
  for (const path of [file, join(file, 'below')]) {
    await assert.rejects(openDataDirectory(path), (error: Error & { code: string }) => {
      assert.equal(error.code, 'DATA_DIRECTORY_UNUSABLE', path);
      assert.match(error.message, /Set VIGIE_DATA_DIR/);
      return true;
    });
  }
});

test('the cache is in the XDG directory, or for root in a directory of the system', () => {
  assert.equal(cacheDirectory({ XDG_CACHE_HOME: '/somewhere' }), '/somewhere/vigie');
  assert.equal(cacheDirectory({ XDG_CACHE_HOME: 'a/b' }), cacheDirectory({}), 'a relative one is ignored');
  if (isRoot) assert.equal(cacheDirectory({}), '/var/cache/vigie');
});
