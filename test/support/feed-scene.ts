/** Snapshots of a source, published to a service that records them. */

import type pg from 'pg';
import { type Broker } from '../../src/engine/broker/connection.ts';
import { readState } from '../../src/engine/domain/stored-property.ts';
import type { DecimalHabits } from '../../src/features/feeds/numbers.ts';
import { openFormat } from '../../src/features/feeds/reading.ts';
import { publishSnapshot, type SnapshotOptions } from '../../src/features/feeds/snapshot.ts';
import { connectTestBroker } from './broker.ts';
import type { RunningService } from './daemon.ts';
import { connectDatabase } from './database.ts';
import { type Cleanup, startTestServers, type TestServers } from './servers.ts';
import { startHere } from './service.ts';
import { until } from './until.ts';

export interface FeedScene {
  readonly servers: TestServers;
  readonly daemon: RunningService;
  readonly database: pg.Pool;
  readonly broker: Broker;
}

export async function startFeedScene(t: Cleanup, servers?: TestServers): Promise<FeedScene> {
  const own = servers ?? (await startTestServers(t));
  const daemon = await startHere(t, own);
  const broker = await connectTestBroker(t, own.nats.url);
  return { servers: own, daemon, broker, database: connectDatabase(t, own.postgres.url) };
}

const never = new AbortController().signal;

export async function take(scene: FeedScene, source: string, file: Buffer, options: Partial<SnapshotOptions> = {}) {
  const { database, broker } = scene;
  const defaults = {
    database,
    broker,
    source,
    isAll: false,
    isForced: false,
    stopping: never,
    clock: () => new Date(),
  };
  async function* bytes(): AsyncGenerator<Buffer> {
    yield file;
  }
  const format = await openFormat('poliris', null, source);
  const input = {
    rows: (habits: DecimalHabits) => format(bytes(), habits),
    hash: () => String(file.length) + String(file.at(400)),
  };
  return publishSnapshot(input, { ...defaults, ...options });
}

export async function streamed({ broker }: FeedScene): Promise<number> {
  return (await broker.manager.streams.info('ADVERTS')).state.messages;
}

/** Resolves when the daemon has recorded everything in the stream. */
export async function recorded(scene: FeedScene): Promise<void> {
  const consumer = () => scene.broker.manager.consumers.info('ADVERTS', scene.broker.names.intakeConsumer);
  await until(consumer, ({ num_pending: pending, num_ack_pending: open }) => pending === 0 && open === 0);
}

/** The properties of a source, which adverts from Poliris rows name as their publisher; all properties for null. */
const OF_SOURCE = `(select uuid, state, crawls, expired_at from properties
  where $1::text is null or state like '%"' || $1 || '"%') as of_source`;

export async function liveCount({ database }: FeedScene, source: string | null = null): Promise<number> {
  const { rows } = await database.query(
    `select count(*)::integer as count from ${OF_SOURCE} where expired_at is null`,
    [source],
  );
  return rows[0].count;
}

export async function eventCount({ database }: FeedScene, kind: string, source: string | null = null): Promise<number> {
  const { rows } = await database.query(
    `select count(*)::integer as count from ${OF_SOURCE} join events on property_uuid = uuid where kind = $2`,
    [source, kind],
  );
  return rows[0].count;
}

export async function pricesOf({ database }: FeedScene, source: string): Promise<readonly unknown[]> {
  const { rows } = await database.query(`select state from ${OF_SOURCE}`, [source]);
  return rows.flatMap(({ state }) => readState(state).adverts.map(({ content }) => content.price)).sort();
}

/** The crawl times of the adverts of each property. */
export async function crawledOf({ database }: FeedScene, source: string): Promise<readonly string[]> {
  const { rows } = await database.query(`select crawls from ${OF_SOURCE}`, [source]);
  return rows.map(({ crawls }) => String(Object.values(crawls)));
}

/** A row of a Poliris file. */
export const rowOf = (number: number, price: number) => ({
  2: `R${number}`,
  3: 'vente',
  4: 'appartement',
  5: '83600',
  6: 'Fréjus',
  11: String(price),
});
export const rows = (from: number, to: number, price: number) =>
  Array.from({ length: to - from }, (_, at) => rowOf(from + at, price + from + at));
