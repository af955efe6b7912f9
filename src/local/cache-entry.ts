/**
 * Entries of the cache directory are complete or absent: made under another name, then renamed. Of two processes that
 * make the same one, either stands. What an interrupted process left behind goes when another entry is made.
 */

import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { dangerOf } from './data-directory.ts';

const STAGING = 'unfinished-';
/** Longer than any entry takes to make. */
const ABANDONED_MS = 3_600_000;

/**
 * The path of the entry `name`, which `make` fills unless `isUsable` says that it is there. Readable by all users:
 * a root daemon runs some of it as another. Throws when another user could change what lies in the cache.
 */
export async function cacheEntry(
  cacheDir: string,
  name: string,
  isUsable: (path: string) => Promise<boolean>,
  make: (path: string) => Promise<void>,
): Promise<string> {
  // A program that another user put there would run as us.
  const danger = await stat(cacheDir).then(dangerOf, () => null);
  if (danger !== null) throw new Error(`${cacheDir} ${danger}`);
  const entry = join(cacheDir, name);
  if (await isUsable(entry)) return entry;
  await createForAll(cacheDir);
  await removeAbandoned(cacheDir);
  const staging = await mkdtemp(join(cacheDir, STAGING));
  try {
    await chmod(staging, 0o755);
    await make(staging);
    // Present by now: another process was faster, or the entry was damaged.
    if (!(await isUsable(entry))) {
      await rm(entry, { recursive: true, force: true });
      await rename(staging, entry);
    }
    return entry;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** The directories it creates are open to all users, whatever the umask. */
async function createForAll(directory: string): Promise<void> {
  const first = await mkdir(directory, { recursive: true });
  for (let path = directory; first !== undefined && path.startsWith(first); path = dirname(path)) {
    await chmod(path, 0o755);
  }
}

async function removeAbandoned(cacheDir: string): Promise<void> {
  for (const name of await readdir(cacheDir)) {
    if (!name.startsWith(STAGING)) continue;
    const path = join(cacheDir, name);
    // Gone when another process cleans up too.
    const ageMs = await stat(path).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (ageMs > ABANDONED_MS) await rm(path, { recursive: true, force: true });
  }
}
