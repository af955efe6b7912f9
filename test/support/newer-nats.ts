/**
 * A nats-server that knows metadata and bounds above its store (2.10): the distribution's, else that of Debian 13, from
 * the mirror that the machine uses.
 */

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheEntry } from '../../src/local/cache-entry.ts';
import { unpackDebianPackage } from '../../src/local/debian-package.ts';
import { findNatsServer } from '../../src/local/nats-server-binary.ts';
import { CACHE } from './servers.ts';

const run = promisify(execFile);

const SUITE = 'trixie';
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** Rejects where neither can be fetched. */
export async function findNewerNats(): Promise<string> {
  const usual = await findNatsServer(process.env.NATS_SERVER_BIN || null, CACHE);
  if (usual.canSyncAlways) return usual.path;
  const binaryIn = (root: string) => join(root, 'usr/sbin/nats-server');
  const isUsable = (root: string) =>
    findNatsServer(binaryIn(root), CACHE).then(
      ({ canSyncAlways }) => canSyncAlways,
      () => false,
    );
  const root = await cacheEntry(CACHE, `newer-nats-server-${process.arch}`, isUsable, async (path) => {
    const sources = join(path, 'debian-13.list');
    await writeFile(sources, `deb [signed-by=${KEYRING}] ${await findMirror()} ${SUITE} main\n`);
    await unpackDebianPackage('nats-server', path, { sources });
  });
  return binaryIn(root);
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
