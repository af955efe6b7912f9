/**
 * Packages of Debian or Ubuntu, fetched and unpacked without root and without their dependencies. apt verifies their
 * signatures, from whatever mirror the machine uses.
 */

import { execFile } from 'node:child_process';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** One step of apt on a slow line: a full update is some 15 MB, a package up to 60 MB. */
const APT_TIMEOUT_MS = 300_000;

/**
 * Fills the directory `target`. Rejects with what apt or dpkg-deb say. `sources`: a list of sources in place of the
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
  if (archives.length < names.length) throw new Error('apt-get download left no package');
  for (const archive of archives) await run('dpkg-deb', ['--extract', join(work, archive), target]);
  await rm(work, { recursive: true });
}

/** With the machine's package lists first; where it has none, or old ones, with lists of our own. */
async function download(names: readonly string[], work: string, sources: string | null): Promise<void> {
  await mkdir(join(work, 'cache/archives/partial'), { recursive: true });
  await mkdir(join(work, 'state/lists/partial'), { recursive: true });
  // No change of user, when root: it could not write here.
  const options = [`Dir::Cache=${join(work, 'cache')}`, 'APT::Sandbox::User=', 'Acquire::Retries=1'];
  const ownLists = [...options, `Dir::State=${join(work, 'state')}`, 'Acquire::Languages=none'];
  if (sources !== null) ownLists.push(`Dir::Etc::sourcelist=${sources}`, 'Dir::Etc::sourceparts=-');
  const apt = (settings: readonly string[], ...args: readonly string[]) =>
    run('apt-get', ['-qq', ...settings.flatMap((setting) => ['-o', setting]), ...args], {
      cwd: work,
      timeout: APT_TIMEOUT_MS,
    });
  const isDone =
    sources === null &&
    (await apt(options, 'download', ...names).then(
      () => true,
      () => false,
    ));
  if (isDone) return;
  // An update fails when one of many sources is out of reach: whether it brought our packages, the download shows.
  const updateError = await apt([...ownLists, 'APT::Update::Error-Mode=any'], 'update').then(
    () => null,
    (error: Error) => error,
  );
  await apt(ownLists, 'download', ...names).catch((error: Error) => {
    throw updateError ?? error;
  });
}
