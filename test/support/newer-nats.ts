/** A nats-server that knows metadata and bounds above its store (2.10): the distribution's, else that of Debian 13. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheEntry } from '../../src/local/cache-entry.ts';
import { unpackDebianPackage } from '../../src/local/debian-package.ts';
import { findNatsServer } from '../../src/local/nats-server-binary.ts';
import { CACHE } from './servers.ts';

const DEBIAN_13 = 'http://deb.debian.org/debian trixie main';
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
    await writeFile(sources, `deb [signed-by=${KEYRING}] ${DEBIAN_13}\n`);
    await unpackDebianPackage('nats-server', path, { sources });
  });
  return binaryIn(root);
}
