/** An earlier version of the program, as its users still run it: taken from the history, with packages of its own. */

import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Cleanup } from './servers.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The last commit before `migration` (a file's name) was written; null where the history does not reach so far: in a
 * shallow clone or an archive.
 */
export async function commitBefore(migration: string): Promise<string | null> {
  const git = async (...args: readonly string[]): Promise<string> =>
    (await run('git', ['-C', ROOT, ...args]).catch(() => ({ stdout: '' }))).stdout.trim();
  const added = await git('log', '--diff-filter=A', '--format=%H', '--', `src/store/migrations/${migration}`);
  const first = added.split('\n').at(-1);
  return first ? (await git('rev-parse', '--verify', '--quiet', `${first}^`)) || null : null;
}

/** Resolves with the directory in which it can be started; needs the package registry. */
export async function formerVersion(cleanup: Cleanup, commit: string): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'vigie-former-'));
  cleanup.after(() => rm(root, { recursive: true, force: true }));
  const archive = join(root, 'source.tar');
  await run('git', ['-C', ROOT, 'archive', `--output=${archive}`, commit]);
  await run('tar', ['-xf', archive, '-C', root]);
  await run('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: root });
  return root;
}
