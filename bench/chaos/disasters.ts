/**
 * Disasters: PostgreSQL returns with an earlier copy of its data, or a single NATS server with an earlier copy or none
 * (config/docs/backup-and-restore.md). During a disaster every daemon is down, and no other fault is active.
 */

import { execFile } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { copyDatabase, type DatabaseCopy, restoreDatabase } from '../../test/support/database-copy.ts';
import { temporaryDirectory } from '../../test/support/servers.ts';
import { RECOVERY_MAX_MS, until } from '../../test/support/until.ts';
import type { Random } from '../adverts/seeded-random.ts';
import type { ChaosCrawler } from './crawler.ts';
import type { SingleNats } from './nats.ts';
import type { Scene } from './scene.ts';

const run = promisify(execFile);

/** The time that the database has forgotten: from its copy to the restore, in milliseconds since the epoch. */
export interface Gap {
  readonly from: number;
  readonly to: number;
  /** Keys (`attemptKeyOf`) of the attempts of this time that the copy nevertheless contains. */
  readonly kept: ReadonlySet<string>;
}

/** `second`: start of the attempt, in seconds since the epoch. */
export function attemptKeyOf(deliveryId: string, second: number): string {
  return `${deliveryId} ${second}`;
}

export interface Disaster {
  readonly name: string;
  readonly strike: () => Promise<void>;
}

export interface Disasters {
  /** The disasters in the order in which to run them. */
  readonly all: readonly Disaster[];
  readonly gaps: readonly Gap[];
  /** Makes the copies that later disasters restore. The daemons must be running, and no fault may be active. */
  copy(): Promise<void>;
  /** Removes the copies. */
  end(): Promise<void>;
}

export async function createDisasters(scene: Scene, crawler: ChaosCrawler, random: Random): Promise<Disasters> {
  const { instances, servers, nats, watcher } = scene;
  const storeCopy = await temporaryDirectory('streams-copy');
  const gaps: Gap[] = [];
  let databaseCopy: DatabaseCopy = { takenAt: 0, tables: new Map(), apart: {} };

  async function whileDown(work: () => Promise<void>): Promise<void> {
    await Promise.all(instances.map((instance) => instance.untilUp()));
    await Promise.all(instances.map((instance) => instance.halt()));
    await work();
    for (const instance of instances) instance.resume();
    await Promise.all(instances.map((instance) => instance.untilUp()));
  }

  /** During the restore the crawler continues to publish, and the streams keep its messages. */
  function restoreOlderDatabase(): Promise<void> {
    return whileDown(async () => {
      const { urls, superuserUrl } = servers.postgres;
      await restoreDatabase({ url: urls[0], superuserUrl }, databaseCopy);
      await watcher.forgetSince(databaseCopy.takenAt);
      gaps.push({ from: databaseCopy.takenAt, to: Date.now(), kept: attemptsIn(databaseCopy) });
    });
  }

  /** Unrecorded messages would be lost, so the crawler pauses first until every message is recorded. */
  async function loseStreams({ server, store }: SingleNats, isEmpty: boolean): Promise<void> {
    await crawler.pause();
    await untilTaken(scene);
    await whileDown(async () => {
      await server.stop();
      await emptyDirectory(store);
      if (!isEmpty) await copyDirectory(storeCopy, store);
      await server.restart();
    });
    crawler.resume();
  }

  async function copyStreams({ server, store }: SingleNats): Promise<void> {
    await server.stop();
    await emptyDirectory(storeCopy);
    await copyDirectory(store, storeCopy);
    await server.restart();
  }

  const isEmpty = random.chance(0.5);
  const database = { name: 'PostgreSQL returns with older data', strike: restoreOlderDatabase };
  const streams = (single: SingleNats): Disaster => ({
    name: `NATS returns ${isEmpty ? 'without data' : 'with older data'}`,
    strike: () => loseStreams(single, isEmpty),
  });
  const all = nats.type === 'single' ? [database, streams(nats)] : [database];
  return {
    all: random.chance(0.5) ? all : all.toReversed(),
    gaps,
    async copy() {
      if (nats.type === 'single') await copyStreams(nats);
      databaseCopy = await copyDatabase(servers.postgres.superuserUrl, { open_deliveries: scene.waitingRows });
    },
    end: () => rm(storeCopy, { recursive: true, force: true }),
  };
}

function attemptsIn({ tables }: DatabaseCopy): ReadonlySet<string> {
  const attempts = JSON.parse(tables.get('attempts') as string) as { delivery_id: string; started_at: string }[];
  return new Set(
    attempts.map((each) => attemptKeyOf(each.delivery_id, Math.floor(Date.parse(each.started_at) / 1_000))),
  );
}

/** Resolves when intake has recorded everything in the stream. */
async function untilTaken({ broker }: Scene): Promise<void> {
  await until(
    async () => {
      const { num_pending, num_ack_pending } = await broker.manager.consumers.info('ADVERTS', 'intake');
      return num_pending + num_ack_pending;
    },
    (open) => open === 0,
    RECOVERY_MAX_MS,
  );
}

async function emptyDirectory(path: string): Promise<void> {
  for (const name of await readdir(path)) await rm(join(path, name), { recursive: true, force: true });
}

async function copyDirectory(from: string, to: string): Promise<void> {
  await run('cp', ['-a', `${from}/.`, to]);
}
