/**
 * The cache directory. Each entry is built under another name and then renamed, so it is complete or absent. If two
 * processes build the same entry, one of the results is kept. Building an entry also removes unfinished entries that
 * are older than an hour. Some entries are packages of Debian or Ubuntu, downloaded and unpacked without root and
 * without their dependencies. apt verifies their signatures, whichever mirror the machine uses.
 */

import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { succeeds } from '../engine/actor/waiting.ts';
import { dangerOf } from './data-directory.ts';

const STAGING = 'unfinished-';
/** Longer than the time to build any entry. */
const ABANDONED_MS = 3_600_000;

/**
 * Returns the path of the entry `name`. Calls `make` to fill the entry unless `isUsable` accepts the existing one. All
 * users can read the entry, because a root daemon runs programs in it as another user. Throws if another user could
 * change the content of the cache.
 */
export async function cacheEntry(
  cacheDir: string,
  name: string,
  isUsable: (path: string) => Promise<boolean>,
  make: (path: string) => Promise<void>,
): Promise<string> {
  // If another user could write here, a program of that user could run with our rights.
  const danger = await stat(cacheDir).then(dangerOf, () => null);
  if (danger !== null) throw new Error(`${cacheDir} ${danger}`);
  const entry = join(cacheDir, name);
  if (await isUsable(entry)) return entry;
  await createForAll(cacheDir);
  await removeAbandoned(cacheDir);
  const staging = await mkdtemp(join(cacheDir, STAGING));
  try {
    await chmod(staging, 0o755);
    try {
      await make(staging);
    } catch (error) {
      // Another process may have built the entry meanwhile.
      if (await isUsable(entry)) return entry;
      throw error;
    }
    // Keeps a usable entry, which another process has built meanwhile and may be using. Replaces a damaged one.
    if (!(await renameIfAbsent(staging, entry)) && !(await isUsable(entry))) {
      await rm(entry, { recursive: true, force: true });
      if (!(await renameIfAbsent(staging, entry)) && !(await isUsable(entry)))
        throw new Error(`${entry} is not usable. Delete it, then try again.`);
    }
    return entry;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Renames a directory. False if the new name exists, except as an empty directory. */
async function renameIfAbsent(from: string, to: string): Promise<boolean> {
  return rename(from, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(error.code ?? '')) return false;
      throw error;
    },
  );
}

/**
 * Makes new directories accessible to all users, regardless of the umask. Never makes one that all users can write to,
 * which another process would refuse.
 */
async function createForAll(directory: string): Promise<void> {
  const first = await mkdir(directory, { recursive: true, mode: 0o755 });
  for (let path = directory; first !== undefined && path.startsWith(first); path = dirname(path)) {
    await chmod(path, 0o755);
  }
}

async function removeAbandoned(cacheDir: string): Promise<void> {
  for (const name of await readdir(cacheDir)) {
    if (!name.startsWith(STAGING)) continue;
    const path = join(cacheDir, name);
    // Another process may have removed or renamed it meanwhile.
    const ageMs = await stat(path).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (ageMs > ABANDONED_MS) await rm(path, { recursive: true, force: true });
  }
}

const run = promisify(execFile);

/** Allows one step of apt on a slow line: a full update has about 15 MB, and a package up to 60 MB. */
const APT_TIMEOUT_MS = 300_000;

/**
 * Downloads the packages and unpacks them into the directory `target`. `sources` is a sources list that replaces the
 * machine's.
 */
export async function unpackDebianPackages(
  names: readonly string[],
  target: string,
  { sources = null }: { readonly sources?: string | null } = {},
): Promise<void> {
  const work = join(target, 'apt');
  await download(names, work, sources);
  const archives = (await readdir(work)).filter((file) => file.endsWith('.deb'));
  if (archives.length < names.length) throw new Error('apt-get download did not store every package');
  for (const archive of archives) await run('dpkg-deb', ['--extract', join(work, archive), target]);
  await rm(work, { recursive: true });
}

/** Without `sources`, tries the machine's package lists first. If that fails, downloads separate lists. */
async function download(names: readonly string[], work: string, sources: string | null): Promise<void> {
  await mkdir(join(work, 'cache/archives/partial'), { recursive: true });
  await mkdir(join(work, 'state/lists/partial'), { recursive: true });
  // As root, apt would switch to another user, who could not write here.
  const options = [`Dir::Cache=${join(work, 'cache')}`, 'APT::Sandbox::User=', 'Acquire::Retries=1'];
  const ownLists = [...options, `Dir::State=${join(work, 'state')}`, 'Acquire::Languages=none'];
  if (sources !== null) ownLists.push(`Dir::Etc::sourcelist=${sources}`, 'Dir::Etc::sourceparts=-');
  const apt = (settings: readonly string[], ...args: readonly string[]) =>
    run('apt-get', ['-qq', ...settings.flatMap((setting) => ['-o', setting]), ...args], {
      cwd: work,
      timeout: APT_TIMEOUT_MS,
    });
  if (sources === null && (await succeeds(apt(options, 'download', ...names)))) return;
  // An update fails if any source is unreachable. Only the download shows whether the packages are available.
  const updateError = await apt([...ownLists, 'APT::Update::Error-Mode=any'], 'update').then(
    () => null,
    (error: Error) => error,
  );
  await apt(ownLists, 'download', ...names).catch((error: Error) => {
    throw updateError ?? error;
  });
}
