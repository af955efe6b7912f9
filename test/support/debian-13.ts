/** The source of Debian 13 packages for a machine with another release: the machine's own mirror. */

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const SUITE = 'trixie';
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** Writes a list of sources for `unpackDebianPackages` into `directory`, and returns its path. */
export async function debian13Sources(directory: string): Promise<string> {
  const sources = join(directory, 'debian-13.list');
  await writeFile(sources, `deb [signed-by=${KEYRING}] ${await findMirror()} ${SUITE} main\n`);
  return sources;
}

/** The mirror of the distribution itself: suites of updates and security fixes have a hyphen in their names. */
async function findMirror(): Promise<string> {
  const { stdout } = await run('apt-get', [
    'indextargets',
    '--format',
    '$(REPO_URI) $(RELEASE)',
    'Created-By: Packages',
  ]);
  const mirrors = stdout.split('\n').map((line) => line.split(' '));
  const [uri] = mirrors.find(([, release = '']) => /^\w+$/.test(release)) ?? [];
  if (uri === undefined) throw new Error('apt-get names no mirror of the distribution');
  return uri;
}
