/** The NATS of a chaos run: a single server whose store, disk and clock can fail, or a cluster of three. */

import { type ClusterNode, startNatsCluster } from '../../test/support/nats-cluster.ts';
import { type Cleanup, startTestNats, type TestServer, temporaryDirectory } from '../../test/support/servers.ts';
import { startTurnedClock, type TurnedClock } from '../../test/support/turned-clock.ts';
import { mountSmallDisk, type SmallDisk } from './disk.ts';
import { STORE_BYTES } from './nats-store.ts';

export type ChaosNats = SingleNats | NatsCluster;

export interface SingleNats {
  readonly type: 'single';
  readonly server: TestServer;
  /** The directory of the streams. */
  readonly store: string;
  /** Null if the machine forbids mounting one. */
  readonly disk: SmallDisk | null;
  readonly clock: TurnedClock;
}

export interface NatsCluster {
  readonly type: 'cluster';
  readonly nodes: readonly ClusterNode[];
}

const DISK_BYTES = 256 * 1024 ** 2;

export async function openNats(cleanup: Cleanup, isCluster: boolean, withDisk: boolean): Promise<ChaosNats> {
  if (isCluster) return { type: 'cluster', nodes: await startNatsCluster(cleanup, true) };
  const disk = withDisk ? await mountSmallDisk(cleanup, await temporaryDirectory('disk'), DISK_BYTES) : null;
  const store = disk?.path ?? (await temporaryDirectory('streams'));
  const server = await startTestNats(cleanup, store, STORE_BYTES);
  return { type: 'single', server, store, disk, clock: await startTurnedClock(cleanup, server.url) };
}

/** Only daemons see the wrong clock of the single server, because crawlers do not read its times. */
export function natsUrlsOf(nats: ChaosNats, user: 'daemon' | 'crawler'): readonly string[] {
  if (nats.type === 'cluster') return nats.nodes.map(({ url }) => url);
  return [user === 'daemon' ? nats.clock.url : nats.server.url];
}
