/** An entry of the cache is built once, even by processes that build it at the same time, and again if it is damaged. */

import assert from 'node:assert/strict';
import { access, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { succeeds } from '../src/engine/actor/waiting.ts';
import { cacheEntry } from '../src/local/cache.ts';
import { emptyDirectory } from './support/servers.ts';

const isWhole = (path: string): Promise<boolean> => succeeds(access(join(path, 'program')));
const make = (path: string): Promise<void> => writeFile(join(path, 'program'), 'own');

for (const moment of ['while this process builds it', 'just after this process has looked for it'] as const) {
  test(`an entry that another process completes ${moment} is kept, because that process may be using it`, async (t) => {
    const directory = await emptyDirectory(t);
    const entry = join(directory, 'entry');
    const program = join(entry, 'program');
    let isCompleted = false;
    const complete = async (): Promise<void> => {
      isCompleted = true;
      await mkdir(entry);
      await writeFile(program, 'of the other process');
    };
    let looks = 0;
    const isUsable = async (path: string): Promise<boolean> => {
      looks += 1;
      const isThere = await isWhole(path);
      if (!isThere && looks === 2) await complete();
      return isThere;
    };
    const build = async (path: string): Promise<void> => {
      await make(path);
      if (moment === 'while this process builds it') await complete();
    };
    assert.equal(await cacheEntry(directory, 'entry', isUsable, build), entry);
    assert.equal(await readFile(program, 'utf8'), isCompleted ? 'of the other process' : 'own');
    assert.deepEqual(await readdir(directory), ['entry']);
  });
}

test('a damaged entry is replaced, and a usable one is not built again', async (t) => {
  const directory = await emptyDirectory(t);
  const entry = join(directory, 'entry');
  await mkdir(entry);
  await writeFile(join(entry, 'program.part'), '');
  assert.equal(await cacheEntry(directory, 'entry', isWhole, make), entry);
  assert.deepEqual(await readdir(entry), ['program']);
  await writeFile(join(directory, 'file'), 'no directory');
  assert.deepEqual(await readdir(await cacheEntry(directory, 'file', isWhole, make)), ['program']);
  assert.equal(await cacheEntry(directory, 'entry', isWhole, assert.fail), entry);
});
