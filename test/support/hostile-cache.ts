/** Poisons tsx's cache of compiled code as another user of the machine could: each entry leaves a mark if it is run. */

import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Fills the cache in `folder`, the user's `TMPDIR`, for `main` and its modules. Returns the number of entries. */
export async function poisonCache(folder: string, uid: number, main: string, mark: string): Promise<number> {
  const filled = await mkdtemp(join(tmpdir(), 'vigie-cache-'));
  const env = { PATH: process.env.PATH, TMPDIR: filled };
  await promisify(execFile)(process.execPath, ['--import', import.meta.resolve('tsx'), main, '--help'], { env });
  const hostile = join(folder, `tsx-${uid}`);
  await mkdir(hostile, { recursive: true });
  await chmod(folder, 0o1777);
  const entries = (await readdir(filled, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  for (const { parentPath, name } of entries) {
    const entry = JSON.parse(await readFile(join(parentPath, name), 'utf8'));
    entry.code += `\n;process.getBuiltinModule('fs').writeFileSync(${JSON.stringify(mark)}, '');`;
    await writeFile(join(hostile, name), JSON.stringify(entry));
  }
  await rm(filled, { recursive: true });
  return entries.length;
}
