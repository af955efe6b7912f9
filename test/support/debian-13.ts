/** Where packages of Debian 13 come from on a machine of another release: the mirror that the machine uses. */

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const SUITE = 'trixie';
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** A list of sources for `unpackDebianPackages`, in `directory`. */
export async function debian13Sources(directory: string): Promise<string> {
  const sources = join(directory, 'debian-13.list');
  await writeFile(sources, `deb [signed-by=${KEYRING}] ${await findMirror()} ${SUITE} main\n`);
  return sources;
}

/** Of the distribution itself: its updates and corrections are suites with a hyphen. */
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
