/**
 * nats-server 2.10 or later, which supports metadata of streams and limits above its store. It is the usual server of
 * the tests if that is new enough, otherwise that of Debian 13 from the machine's own mirror.
 */

import { join } from 'node:path';
import { cacheEntry, unpackDebianPackages } from '../../src/local/cache.ts';
import { findNatsServer } from '../../src/local/nats-server.ts';
import { debian13Sources } from './debian-13.ts';
import { CACHE } from './servers.ts';

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
    await unpackDebianPackages(['nats-server'], path, { sources: await debian13Sources(path) });
  });
  return binaryIn(root);
}
