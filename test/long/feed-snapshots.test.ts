/** Long tests of snapshots: all files of two agencies, a restore, interruptions at thirteen points, and a kill. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { readState } from '../../src/engine/domain/stored-property.ts';
import { identityOf } from '../../src/features/feeds/identity.ts';
import type { SnapshotOptions } from '../../src/features/feeds/snapshot.ts';
import { SHARED_DATA } from '../support/checkout.ts';
import { runVigie, spawnVigie } from '../support/daemon.ts';
import { copyDatabase, restoreDatabase } from '../support/database-copy.ts';
import {
  eventCount,
  type FeedScene,
  liveCount,
  recorded,
  rows,
  startFeedScene,
  streamed,
  take,
} from '../support/feed-scene.ts';
import { polirisFile } from '../support/poliris.ts';
import { emptyDirectory, startTestPostgres } from '../support/servers.ts';
import { until } from '../support/until.ts';

const FOLDER = fileURLToPath(new URL('feeds/', SHARED_DATA));
const skip = existsSync(FOLDER) ? false : 'the files of real agencies are not installed';

const HEKTOR = [
  { name: '2026-03-13_1602', lines: 83, expired: 0, prices: 0 },
  { name: '2026-03-13_2111', lines: 84, expired: 0, prices: 0 },
  { name: '2026-03-14_1805', lines: 85, expired: 0, prices: 0 },
  { name: '2026-03-16_1556', lines: 88, expired: 1, prices: 0 },
  { name: '2026-03-17_2331', lines: 91, expired: 1, prices: 1 },
  { name: '2026-03-19_0424', lines: 101, expired: 1, prices: 0 },
  { name: '2026-03-19_1847', lines: 102, expired: 1, prices: 1 },
] as const;

function gunzip(name: string, agency = 'hektor'): Buffer {
  return gunzipSync(readFileSync(join(FOLDER, `${agency}_${name}.csv.gz`)));
}

// oxlint-disable-next-line typescript/no-explicit-any -- states as PostgreSQL has them
type Loose = any;

/** Everything that a client can see of each property, except times, and its events. */
async function statesOf({ database }: Pick<FeedScene, 'database'>): Promise<ReadonlyMap<string, unknown>> {
  const { rows } = await database.query(`
    select uuid, state, (select coalesce(json_agg(array[kind, field_name, field_old_value, field_new_value] order by id), '[]')
      from events where property_uuid = uuid) as events
    from properties order by uuid`);
  return new Map(
    rows.map(({ uuid, state, events }) => [
      uuid,
      {
        events,
        adverts: readState(state).adverts.map(({ content, property, expiredAt }: Loose) => [
          content,
          property,
          expiredAt === null,
        ]),
      },
    ]),
  );
}

/** Expected differences of each file from the previous file, counted over fields 2, 11 and 16 with other tools. */
const LUBERON = [
  { name: '2026-02-18_0041', lines: 22, expired: 0, prices: 0, surfaces: 0 },
  { name: '2026-02-18_2049', lines: 71, expired: 2, prices: 1, surfaces: 1 },
  { name: '2026-02-19_1629', lines: 102, expired: 3, prices: 0, surfaces: 0 },
] as const;
const AGENCIES = [
  { source: 'hektor', files: HEKTOR, created: 106 },
  { source: 'luberon', files: LUBERON, created: 107 },
] as const;

test('each of ten snapshots of two agencies yields its adverts, and a second reading publishes nothing', {
  skip,
}, async (t) => {
  const scene = await startFeedScene(t);
  const folder = await emptyDirectory(t);
  const [counted, live] = [{ expired: 0, prices: 0, surfaces: 0, created: 0 }, new Map<string, number>()];
  const kinds = {
    expired: 'ad.update.expired',
    prices: 'ad.update.price',
    surfaces: 'ad.update.surface',
    created: 'property.ad.create',
  } as const;
  for (const { source, files, created } of AGENCIES) {
    for (const { name, lines, ...changes } of files) {
      const path = join(folder, `${name}.csv`);
      await writeFile(path, gunzip(name, source));
      const feed = (...options: string[]) =>
        runVigie(['feed', source, '--format', 'poliris', ...options, path], scene.servers);
      const tried = await feed('--dry-run');
      const before = await streamed(scene);
      const first = await feed();
      assert.deepEqual([tried.code, first.code], [0, 0], first.stderr);
      const { expired, prices } = changes;
      assert.match(first.stdout, new RegExp(`^${source}: ${lines} adverts; \\d+ new, \\d+ changed, ${expired} gone`));
      assert.equal(
        tried.stdout.trim().split('\n').at(-1),
        first.stdout.trim().replace(source, `${source} would bring`),
      );
      assert.equal(tried.stdout.includes('price '), prices === 1);
      const published = await streamed(scene);
      assert.ok(published > before);
      await recorded(scene);
      live.set(source, lines);
      assert.equal(
        await liveCount(scene),
        [...live.values()].reduce((sum, count) => sum + count),
        name,
      );
      for (const [change, count] of Object.entries({ surfaces: 0, ...changes }) as ['prices', number][]) {
        counted[change] += count;
        assert.equal(await eventCount(scene, kinds[change]), counted[change], `${name}: ${change}`);
      }
      assert.match((await feed()).stdout, new RegExp(`${lines} adverts; 0 new, 0 changed, 0 gone, ${lines} unchanged`));
      assert.equal(await streamed(scene), published);
    }
    counted.created += created;
    assert.equal(await eventCount(scene, kinds.created), counted.created, source);
  }
  const letters = await scene.database.query('select 1 from dead_letters');
  assert.equal(letters.rowCount, 0);
});

test('after a restore to the 14th, the file of the 19th is read as usual', { skip }, async (t) => {
  const scene = await startFeedScene(t);
  for (const { name } of HEKTOR.slice(0, 3)) await take(scene, 'saint-raphael', gunzip(name));
  await recorded(scene);
  const copy = await copyDatabase(scene.servers.postgres.url);
  for (const { name } of HEKTOR.slice(3)) await take(scene, 'saint-raphael', gunzip(name));
  await recorded(scene);
  const expected = await statesOf(scene);
  await scene.daemon.end('SIGTERM');
  const postgres = await startTestPostgres(t);
  await restoreDatabase(postgres, copy);
  const restored = await startFeedScene(t, { postgres, nats: scene.servers.nats });
  await take(restored, 'saint-raphael', gunzip('2026-03-19_1847'));
  await recorded(restored);
  assert.equal(await liveCount(restored), 102);
  const contents = (states: ReadonlyMap<string, Loose>) => [...states].map(([uuid, { adverts }]) => [uuid, adverts]);
  assert.deepEqual(contents(await statesOf(restored)), contents(expected));
});

const ADVERTS = 300;
const FIRST = polirisFile(rows(0, ADVERTS, 100_000));
/** Forty adverts are gone, two hundred have a lower price, three hundred are new. */
const SECOND = polirisFile([
  ...rows(40, 240, 90_000),
  ...rows(240, ADVERTS, 100_000),
  ...rows(ADVERTS, 2 * ADVERTS, 200_000),
]);

class Crash extends Error {}

test('a snapshot that is interrupted at one of thirteen points and repeated gives the same tables', async (t) => {
  const scene = await startFeedScene(t);
  const { database, broker } = scene;
  /** Crashes instead of executing the statement, or publishing the message, with this number. */
  const crashing = (statements: number, messages: number): Partial<SnapshotOptions> => {
    const query = ((...parameters: Parameters<typeof database.query>) => {
      statements -= 1;
      if (statements < 0) throw new Crash();
      return database.query(...parameters);
    }) as typeof database.query;
    const connection = Object.assign(Object.create(broker.connection), {
      publish(...parameters: Parameters<typeof broker.connection.publish>) {
        messages -= 1;
        if (messages < 0) throw new Crash();
        broker.connection.publish(...parameters);
      },
    });
    return { database: { connect: () => database.connect(), query }, broker: { ...broker, connection } };
  };
  const moments = [
    ...[0, 1, 2, 3, 4, 5, 6, 7, 8].map((count) => crashing(count, Number.POSITIVE_INFINITY)),
    ...[10, 300, 505, 520].map((count) => crashing(Number.POSITIVE_INFINITY, count)),
  ];
  await take(scene, 'whole', FIRST);
  await take(scene, 'whole', SECOND);
  for (const [at, moment] of moments.entries()) {
    await take(scene, `broken-${at}`, FIRST);
    await assert.rejects(take(scene, `broken-${at}`, SECOND, moment), Crash, `moment ${at}`);
    const before = await streamed(scene);
    await take(scene, `broken-${at}`, SECOND);
    const again = await streamed(scene);
    await take(scene, `broken-${at}`, SECOND);
    assert.equal(await streamed(scene), again);
    assert.ok(again - before <= 540);
  }
  await recorded(scene);
  const states = await statesOf(scene);
  const ofSource = (source: string) =>
    Array.from({ length: 2 * ADVERTS }, (_, number) => {
      const { events, adverts } = states.get(identityOf(source, `R${number}`).property) as Loose;
      // The source is also the publisher's name.
      return JSON.stringify([events, adverts]).replaceAll(source, 'source');
    });
  const stored = async (source: string) =>
    (await database.query('select reference from feed_publications where source = $1 order by 1', [source])).rows;
  const expected = ofSource('whole');
  for (const at of moments.keys()) {
    assert.deepEqual(ofSource(`broken-${at}`), expected, `moment ${at}`);
    assert.deepEqual(await stored(`broken-${at}`), await stored('whole'));
  }
  const { rows: messages } = await database.query('select count(*)::integer as count from dead_letters');
  assert.equal(messages[0].count, 0);
});

test('a killed process releases its source, and the same command continues where it was', async (t) => {
  const scene = await startFeedScene(t);
  const path = join(await emptyDirectory(t), 'Annonces.csv');
  await writeFile(path, polirisFile(rows(0, 8_000, 100_000)));
  const args = ['feed', 'agency', '--format', 'poliris', path];
  const command = spawnVigie(args, scene.servers);
  await until(
    () => streamed(scene).catch(() => 0),
    (count) => count > 500,
  );
  // The process is frozen, so that it is still reading when the other process starts.
  command.kill('SIGSTOP');
  const busy = await runVigie(args, scene.servers);
  assert.equal(busy.code, 1, busy.stdout);
  assert.match(busy.stderr, /Another process is reading agency/);
  command.kill('SIGKILL');
  const again = await until(
    () => runVigie(args, scene.servers),
    ({ stderr }) => !stderr.includes('is reading agency'),
  );
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.stdout, /8000 adverts; /);
  await recorded(scene);
  assert.equal(await liveCount(scene), 8_000);
  const { state } = await scene.broker.manager.streams.info('ADVERTS');
  assert.equal(state.messages, 8_000, 'no advert is published twice');
});
