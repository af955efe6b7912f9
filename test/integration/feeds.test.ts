/** A source's snapshots, one after the other, through a daemon into its tables: what agencies, crashes and restores do. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import type pg from 'pg';
import { type Broker, connectBroker } from '../../src/engine/broker/connection.ts';
import { readState } from '../../src/engine/domain/stored-property.ts';
import { SnapshotRefusedError } from '../../src/features/feeds/feed-row.ts';
import { startFeeds } from '../../src/features/feeds/feeds.ts';
import { identityOf } from '../../src/features/feeds/identity.ts';
import { readPoliris } from '../../src/features/feeds/poliris.ts';
import { readSource, withSource } from '../../src/features/feeds/publications.ts';
import { endSource, type SnapshotOptions, takeSnapshot } from '../../src/features/feeds/snapshot.ts';
import { expireUnseen } from '../../src/features/feeds/unseen.ts';
import { type Daemon, runVigie, spawnVigie, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { copyDatabase, restoreDatabase } from '../support/database-copy.ts';
import { metricOf } from '../support/operator-scene.ts';
import { polirisFile } from '../support/poliris.ts';
import { emptyDirectory, startTestPostgres, startTestServers, type TestServers } from '../support/servers.ts';
import { until } from '../support/until.ts';

const FOLDER = fileURLToPath(new URL('../../../shared/data/feeds/', import.meta.url));
const skip = existsSync(FOLDER) ? false : 'the real files are not here';

const HEKTOR = [
  { name: '2026-03-13_1602', lines: 83, expired: 0, prices: 0 },
  { name: '2026-03-13_2111', lines: 84, expired: 0, prices: 0 },
  { name: '2026-03-14_1805', lines: 85, expired: 0, prices: 0 },
  { name: '2026-03-16_1556', lines: 88, expired: 1, prices: 0 },
  { name: '2026-03-17_2331', lines: 91, expired: 1, prices: 1 },
  { name: '2026-03-19_0424', lines: 101, expired: 1, prices: 0 },
  { name: '2026-03-19_1847', lines: 102, expired: 1, prices: 1 },
] as const;

interface Scene {
  readonly servers: TestServers;
  readonly daemon: Daemon;
  readonly database: pg.Pool;
  readonly broker: Broker;
}

async function startScene(t: TestContext, servers?: TestServers): Promise<Scene> {
  const own = servers ?? (await startTestServers(t));
  const daemon = await startDaemon(t, own);
  const broker = await connectBroker({ url: own.nats.url, name: 'test', onStatus: () => undefined });
  t.after(() => broker.close());
  return { servers: own, daemon, broker, database: connectDatabase(t, own.postgres.url) };
}

const never = new AbortController().signal;

function take(scene: Scene, source: string, file: Buffer, options: Partial<SnapshotOptions> = {}) {
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
  const input = { rows: () => readPoliris(bytes(), source), hash: () => String(file.length) + String(file.at(400)) };
  return takeSnapshot(input, { ...defaults, ...options });
}

async function streamed({ broker }: Scene): Promise<number> {
  return (await broker.manager.streams.info('ADVERTS')).state.messages;
}

/** When the daemon has recorded all that the stream has. */
async function recorded(scene: Scene): Promise<void> {
  const consumer = () => scene.broker.manager.consumers.info('ADVERTS', scene.broker.names.intakeConsumer);
  await until(consumer, ({ num_pending: pending, num_ack_pending: open }) => pending === 0 && open === 0);
}

async function liveCount({ database }: Scene): Promise<number> {
  const { rows } = await database.query('select count(*)::integer as count from properties where expired_at is null');
  return rows[0].count;
}

async function eventCount({ database }: Scene, kind: string): Promise<number> {
  const { rows } = await database.query('select count(*)::integer as count from events where kind = $1', [kind]);
  return rows[0].count;
}

function gunzip(name: string): Buffer {
  return gunzipSync(readFileSync(join(FOLDER, `hektor_${name}.csv.gz`)));
}

// oxlint-disable-next-line typescript/no-explicit-any -- states as PostgreSQL has them
type Loose = any;

/** All that a client can see of each property, times apart, and its events. */
async function statesOf({ database }: Pick<Scene, 'database'>): Promise<ReadonlyMap<string, unknown>> {
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

test('seven snapshots of an agency are its adverts after each, and a second reading publishes nothing', {
  skip,
}, async (t) => {
  const scene = await startScene(t);
  const folder = await emptyDirectory(t);
  let events = { expired: 0, prices: 0 };
  for (const { name, lines, expired, prices } of HEKTOR) {
    const path = join(folder, `${name}.csv`);
    await writeFile(path, gunzip(name));
    const feed = (...options: string[]) =>
      runVigie(['feed', 'saint-raphael', '--format', 'poliris', ...options, path], scene.servers);
    const tried = await feed('--dry-run');
    const before = await streamed(scene);
    const first = await feed();
    assert.deepEqual([tried.code, first.code], [0, 0], first.stderr);
    assert.match(first.stdout, new RegExp(`^saint-raphael: ${lines} adverts; \\d+ new, \\d+ changed, ${expired} gone`));
    assert.equal(
      tried.stdout.trim().split('\n').at(-1),
      first.stdout.trim().replace('saint-raphael', 'saint-raphael would bring'),
    );
    assert.equal(tried.stdout.includes('price '), prices === 1);
    const published = await streamed(scene);
    assert.ok(published > before);
    await recorded(scene);
    assert.equal(await liveCount(scene), lines, name);
    const now = {
      expired: await eventCount(scene, 'ad.update.expired'),
      prices: await eventCount(scene, 'ad.update.price'),
    };
    assert.deepEqual([now.expired - events.expired, now.prices - events.prices], [expired, prices], name);
    events = now;
    assert.match((await feed()).stdout, new RegExp(`${lines} adverts; 0 new, 0 changed, 0 gone, ${lines} unchanged`));
    assert.equal(await streamed(scene), published);
  }
  assert.equal(await eventCount(scene, 'property.ad.create'), 106);
  const letters = await scene.database.query('select 1 from dead_letters');
  assert.equal(letters.rowCount, 0);
});

test('after a restore of the 14th the file of the 19th is read as if nothing had been', { skip }, async (t) => {
  const scene = await startScene(t);
  for (const { name } of HEKTOR.slice(0, 3)) await take(scene, 'saint-raphael', gunzip(name));
  await recorded(scene);
  const copy = await copyDatabase(scene.servers.postgres.url);
  for (const { name } of HEKTOR.slice(3)) await take(scene, 'saint-raphael', gunzip(name));
  await recorded(scene);
  const expected = await statesOf(scene);
  await scene.daemon.end('SIGTERM');
  const postgres = await startTestPostgres(t);
  await restoreDatabase(postgres, copy);
  const restored = await startScene(t, { postgres, nats: scene.servers.nats });
  await take(restored, 'saint-raphael', gunzip('2026-03-19_1847'));
  await recorded(restored);
  assert.equal(await liveCount(restored), 102);
  const contents = (states: ReadonlyMap<string, Loose>) => [...states].map(([uuid, { adverts }]) => [uuid, adverts]);
  assert.deepEqual(contents(await statesOf(restored)), contents(expected));
});

const ADVERTS = 300;
const rowOf = (number: number, price: number) => ({
  2: `R${number}`,
  3: 'vente',
  4: 'appartement',
  5: '83600',
  6: 'Fréjus',
  11: String(price),
});
const rows = (from: number, to: number, price: number) =>
  Array.from({ length: to - from }, (_, at) => rowOf(from + at, price + from + at));
const FIRST = polirisFile(rows(0, ADVERTS, 100_000));
/** Forty are gone, two hundred cheaper, three hundred new. */
const SECOND = polirisFile([
  ...rows(40, 240, 90_000),
  ...rows(240, ADVERTS, 100_000),
  ...rows(ADVERTS, 2 * ADVERTS, 200_000),
]);

class Crash extends Error {}

test('broken off at any of its moments and repeated, a snapshot leaves the same tables', async (t) => {
  const scene = await startScene(t);
  const { database, broker } = scene;
  /** The nth statement, or the nth message, is not made any more. */
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
      // The publisher's name is the source's.
      return JSON.stringify([events, adverts]).replaceAll(source, 'source');
    });
  const held = async (source: string) =>
    (await database.query('select reference from feed_publications where source = $1 order by 1', [source])).rows;
  const expected = ofSource('whole');
  for (const at of moments.keys()) {
    assert.deepEqual(ofSource(`broken-${at}`), expected, `moment ${at}`);
    assert.deepEqual(await held(`broken-${at}`), await held('whole'));
  }
  const { rows: messages } = await database.query('select count(*)::integer as count from dead_letters');
  assert.equal(messages[0].count, 0);
});

test('an advert whose publication nobody has acknowledged is known, and expires when the next file lacks it', async (t) => {
  const scene = await startScene(t);
  const { broker } = scene;
  const connection = Object.assign(Object.create(broker.connection), {
    publish(...parameters: Parameters<typeof broker.connection.publish>) {
      broker.connection.publish(...parameters);
      throw new Crash();
    },
  });
  const file = polirisFile([rowOf(1, 1), rowOf(2, 2)]);
  await assert.rejects(take(scene, 'agency', file, { broker: { ...broker, connection } }), Crash);
  await until(
    () => streamed(scene),
    (count) => count === 1,
  );
  await take(scene, 'agency', polirisFile([rowOf(2, 2)]));
  await recorded(scene);
  assert.equal(await liveCount(scene), 1);
});

test('a process that is killed holds no source, and the same command goes on where it was', async (t) => {
  const scene = await startScene(t);
  const path = join(await emptyDirectory(t), 'Annonces.csv');
  await writeFile(path, polirisFile(rows(0, 8_000, 100_000)));
  const args = ['feed', 'agency', '--format', 'poliris', path];
  const command = spawnVigie(args, scene.servers);
  await until(
    () => streamed(scene).catch(() => 0),
    (count) => count > 500,
  );
  // Stopped, so that it is still at work when the other one asks.
  command.kill('SIGSTOP');
  const busy = await runVigie(args, scene.servers);
  assert.equal(busy.code, 1, busy.stdout);
  assert.match(busy.stderr, /agency is being read elsewhere/);
  command.kill('SIGKILL');
  const again = await until(
    () => runVigie(args, scene.servers),
    ({ stderr }) => !stderr.includes('being read elsewhere'),
  );
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.stdout, /8000 adverts; /);
  await recorded(scene);
  assert.equal(await liveCount(scene), 8_000);
  const { state } = await scene.broker.manager.streams.info('ADVERTS');
  assert.equal(state.messages, 8_000, 'none is published twice');
});

test('A, B and A again within the stream’s duplicate window end as A', async (t) => {
  const scene = await startScene(t);
  const [one, two] = [polirisFile([rowOf(1, 100)]), polirisFile([rowOf(1, 90)])];
  for (const file of [one, two, one]) await take(scene, 'agency', file);
  await recorded(scene);
  assert.equal(await eventCount(scene, 'ad.update.price'), 2);
  // A clock that is set back is no reason to say something older than before.
  await take(scene, 'agency', two, { clock: () => new Date(0) });
  await recorded(scene);
  assert.equal(await eventCount(scene, 'ad.update.price'), 3);
});

test('a bad file expires nobody, and who forces it gets what it says', async (t) => {
  const scene = await startScene(t);
  const twenty = rows(0, 20, 100_000);
  await take(scene, 'agency', polirisFile(twenty));
  const before = await streamed(scene);
  const refused = async (file: Buffer, reason: RegExp) => {
    await assert.rejects(
      take(scene, 'agency', file),
      (error: Error) => error instanceof SnapshotRefusedError && reason.test(error.message),
    );
    assert.equal(await streamed(scene), before);
  };
  const thirteen = polirisFile(twenty.slice(0, 13));
  await refused(Buffer.alloc(0), /it is empty/);
  await refused(thirteen, /7 of 20 adverts are gone from it: --force takes it/);
  await refused(polirisFile(twenty).subarray(0, -100), /it is cut off/);
  await refused(polirisFile(twenty.map((row) => ({ ...row, 2: '' }))), /none of its 20 rows is understood/);
  const fourteen = await take(scene, 'agency', polirisFile(twenty.slice(0, 14)), { broker: null });
  assert.equal(fourteen.counts.gone, 6);
  const cut = await take(scene, 'agency', polirisFile([...twenty.slice(0, 3), rowOf(99, 5)]).subarray(0, -100), {
    isForced: true,
  });
  assert.deepEqual([cut.counts.gone, cut.counts.unchanged], [0, 3]);
  assert.match(cut.notices.join(), /nothing expires: it is cut off/);
  const { counts } = await take(scene, 'agency', thirteen, { isForced: true });
  assert.equal(counts.gone, 7);
  await recorded(scene);
  assert.equal(await liveCount(scene), 13);
  await take(scene, 'agency', Buffer.alloc(0), { isForced: true });
  await recorded(scene);
  assert.equal(await liveCount(scene), 0);
});

test('a row that is not understood leaves its advert as it was, and one that nobody can name leaves all that are gone', async (t) => {
  const scene = await startScene(t);
  await take(scene, 'agency', polirisFile([rowOf(1, 100), rowOf(2, 200), rowOf(3, 300)]));
  const broken = await take(scene, 'agency', polirisFile([rowOf(1, 100), { ...rowOf(2, 150), 21: '\0' }]));
  assert.deepEqual([broken.counts.gone, broken.counts.notUnderstood], [1, 1]);
  assert.match(broken.complaints[0] ?? '', /^line 2, R2: it holds a NUL/);
  const nameless = await take(scene, 'agency', polirisFile([rowOf(1, 100), { 3: 'vente' }]));
  assert.equal(nameless.counts.gone, 0);
  const twice = await take(scene, 'agency', polirisFile([rowOf(1, 100), rowOf(2, 200), rowOf(2, 300)]));
  assert.deepEqual([twice.counts.unchanged, twice.complaints], [2, ['line 3, R2: its reference is there twice']]);
  await recorded(scene);
  assert.equal(await liveCount(scene), 2);
  assert.equal(await eventCount(scene, 'ad.update.price'), 0);
});

test('what is equal is published again once a day, without an event, and all of it when asked', async (t) => {
  const scene = await startScene(t);
  const file = polirisFile(rows(0, 3, 100));
  const at = (hours: number) => ({ clock: () => new Date(Date.UTC(2026, 2, 10, hours)) });
  const republished = async (hours: number, options = {}) =>
    (await take(scene, 'agency', file, { ...at(hours), ...options })).counts.republished;
  await take(scene, 'agency', file, at(0));
  assert.deepEqual(
    [await republished(12), await republished(23), await republished(24), await republished(47)],
    [0, 3, 0, 3],
  );
  assert.equal(await republished(47, { isAll: true }), 3);
  await recorded(scene);
  const { rows: events } = await scene.database.query('select distinct kind from events');
  assert.deepEqual(events, [{ kind: 'property.ad.create' }]);
  const { rows: crawls } = await scene.database.query('select crawls from properties');
  for (const { crawls: times } of crawls) assert.match(String(Object.values(times)), /^2026-03-11T23:00:00\.001Z,/);
});

test('the command line: rows that are not understood are exit code 2, refusals a sentence, and --end the end', async (t) => {
  const scene = await startScene(t);
  const folder = await emptyDirectory(t);
  const path = join(folder, 'Annonces.csv');
  const feed = (...args: string[]) => runVigie(['feed', ...args], scene.servers);
  const poliris = ['agency', '--format', 'poliris', path];
  await writeFile(path, polirisFile([rowOf(1, 100), {}]));
  const two = await feed(...poliris);
  assert.equal(two.code, 2);
  assert.match(two.stdout, /not understood: line 2: it has no reference\nagency: 1 adverts; 1 new/);
  await writeFile(path, 'nothing of the kind');
  const refused = await feed(...poliris);
  assert.deepEqual([refused.code, refused.stdout], [1, '']);
  assert.match(refused.stderr, /Annonces\.csv is refused: it is not Poliris/);
  assert.doesNotMatch(refused.stderr, /at .*\.ts/);
  for (const [args, words] of [
    [['Not A Name', ...poliris.slice(1)], /a source is named by lower-case letters/],
    [['agency', path], /feed needs --format, poliris or mapping/],
    [['agency', '--format', 'mapping', path], /needs --mapping FILE/],
    [['agency', '--end', path], /--end takes neither FILE/],
    [['agency'], /feed needs FILE/],
    [['agency', '--format', 'poliris', join(folder, 'none')], /cannot read .*none: no such file/],
    [['agency', '--format', 'poliris', folder], /is no file/],
  ] as const) {
    const { code, stderr } = await feed(...args);
    assert.ok(code === 1 || code === 2);
    assert.match(stderr, words);
  }
  const ended = await feed('agency', '--end');
  assert.match(ended.stdout, /agency: 1 adverts expire/);
  await recorded(scene);
  assert.equal(await liveCount(scene), 0);
  assert.equal(await readSource(scene.database, 'agency'), null);
});

test('a mapping of a CSV brings the adverts of Toulon', { skip }, async (t) => {
  const scene = await startScene(t);
  const csv = join(FOLDER, '../adverts/toulon_bienici_2026-03-10.csv.gz');
  const mapping = fileURLToPath(new URL('../../config/bienici-mapping.json', import.meta.url));
  const { code, stdout } = await runVigie(
    ['feed', 'toulon', '--format', 'mapping', '--mapping', mapping, csv],
    scene.servers,
  );
  assert.equal(code, 0);
  assert.match(stdout, /note: .*price: "\[.*\]" is no number/);
  await recorded(scene);
  assert.equal(await liveCount(scene), 1_664);
  const { rows: letters } = await scene.database.query('select reason from dead_letters');
  assert.deepEqual(letters, []);
});

test('the role reads a folder when its newest file stands still, once among instances, and tells operators', async (t) => {
  const servers = await startTestServers(t);
  const folder = await emptyDirectory(t);
  await mkdir(join(folder, 'pushed', 'archive'), { recursive: true });
  const sources = join(folder, 'feeds.json');
  await writeFile(
    sources,
    JSON.stringify({
      agency: { format: 'poliris', path: 'pushed', every: '1d' },
      other: { format: 'poliris', path: 'none', every: '1h' },
    }),
  );
  const daemon = await startDaemon(t, servers, { VIGIE_FEEDS_FILE: sources });
  const admin = (...args: string[]) => runVigie(['admin', ...args, '--address', daemon.adminAddress], servers);
  assert.match((await admin('feeds', 'list')).stdout, /agency +0 .*\nother/);
  await writeFile(join(folder, 'pushed', 'Annonces.csv'), polirisFile([rowOf(1, 100), {}]));
  // An operator does not wait for it to stand still.
  assert.match((await admin('feeds', 'run', 'agency')).stdout, /request time/);
  const shown = await until(
    () => admin('feeds', 'show', 'agency'),
    ({ stdout }) => /read count +1/.test(stdout),
  );
  assert.match(shown.stdout, /advert count +1\b[^]*not understood: line 2: it has no reference/);
  assert.equal((await admin('feeds', 'show', 'nobody')).code, 3);
  await writeFile(join(folder, 'pushed', 'later.csv'), 'something else');
  await admin('feeds', 'run', 'agency');
  await until(
    () => admin('feeds', 'list'),
    ({ stdout }) => stdout.includes('it is not Poliris'),
  );
  assert.equal(await metricOf(daemon, 'vigie_feed_refused'), 1);
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('a file is read when it has stood still for a minute, and a silent source’s is not shown again', async (t) => {
  const scene = await startScene(t);
  const folder = await emptyDirectory(t);
  const path = join(folder, 'Annonces.csv');
  let nowMs = 0;
  const read: string[] = [];
  const task = await startFeeds({
    ...scene,
    sources: [{ name: 'agency', format: 'poliris', mapping: null, path: folder, url: null, everyMs: 24 * 3_600_000 }],
    allowPrivateNetworks: false,
    clock: () => new Date(1_800_000_000_000 + nowMs),
    nowMs: () => nowMs,
    onRead: (_, { counts }) => void read.push(`${counts.new} new, ${counts.republished} again`),
    onRefused: (_, reason) => void read.push(reason),
    onTransientError: (_, error) => assert.fail(error),
    lookEveryMs: Number.POSITIVE_INFINITY,
  });
  t.after(() => task.stop());
  const lookAt = async (seconds: number) => {
    nowMs = seconds * 1_000;
    await task.run();
    return read.splice(0);
  };
  assert.deepEqual(await lookAt(0), []);
  await writeFile(path, polirisFile([rowOf(1, 1)]));
  assert.deepEqual(await lookAt(1), []);
  assert.deepEqual(await lookAt(50), []);
  await writeFile(path, polirisFile([rowOf(1, 1), rowOf(2, 2)]));
  assert.deepEqual(await lookAt(61), []);
  assert.deepEqual(await lookAt(120), []);
  assert.deepEqual(await lookAt(122), ['2 new, 0 again']);
  assert.deepEqual(await lookAt(300), []);
  assert.deepEqual(await lookAt(22 * 3_600), ['0 new, 2 again']);
  assert.deepEqual(await lookAt(44 * 3_600), ['0 new, 2 again']);
  assert.deepEqual(await lookAt(66 * 3_600), []);
});

test('a source that another session holds is left alone', async (t) => {
  const { database } = await startScene(t);
  await withSource(database, 'agency', async () => {
    await assert.rejects(
      withSource(database, 'agency', async () => assert.fail()),
      /agency is being read elsewhere/,
    );
    await withSource(database, 'another', async () => undefined);
  });
  assert.equal(await withSource(database, 'agency', async () => 'free'), 'free');
});

test('adverts that nobody has shown for so many days expire, others do not, and a pause of ours is no reason', async (t) => {
  const scene = await startScene(t);
  const daysAgo = (days: number) => ({ clock: () => new Date(Date.now() - days * 24 * 3_600_000) });
  await take(scene, 'dropped', polirisFile(rows(0, 5, 100)), daysAgo(10));
  await take(scene, 'shown', polirisFile(rows(0, 3, 100)), daysAgo(10));
  await take(scene, 'shown', polirisFile(rows(0, 3, 100)), daysAgo(2));
  await recorded(scene);
  const expire = (days: number) => expireUnseen({ ...scene, days, clock: () => new Date(), stopping: never });
  // Away for five days, and for three before that.
  const away = (from: number, to: number) =>
    `tstzrange(now() - interval '${from} days', now() - interval '${to} days')`;
  await scene.database.query(`update intake_leads set gaps = array[${away(14, 11)}, ${away(6, 1)}]`);
  assert.equal(await expire(7), 0);
  assert.equal(await expire(4), 5);
  await recorded(scene);
  assert.equal(await liveCount(scene), 3);
  assert.equal(await expire(7), 0);
  // What is shown again lives again.
  await take(scene, 'dropped', polirisFile(rows(0, 5, 100)));
  await recorded(scene);
  assert.equal(await liveCount(scene), 8);
  assert.equal(await endSource({ ...scene, source: 'dropped', clock: () => new Date(), stopping: never }), 5);
});
