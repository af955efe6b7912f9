/** Successive snapshots of a source, from a daemon to its tables, with agencies' mistakes, crashes and restores. */

import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readState } from '../../src/engine/domain/stored-property.ts';
import { openDatabase } from '../../src/engine/store/database.ts';
import { SnapshotRefusedError } from '../../src/features/feeds/feed-row.ts';
import { listSources, readSource } from '../../src/features/feeds/publications.ts';
import { openFormat, readOnce } from '../../src/features/feeds/reading.ts';
import { endSource } from '../../src/features/feeds/snapshot.ts';
import { type FeedSource, startFeeds } from '../../src/features/feeds/source-watch.ts';
import { ROOT, SHARED_DATA } from '../support/checkout.ts';
import { runVigie } from '../support/daemon.ts';
import {
  crawledOf,
  eventCount,
  liveCount,
  pricesOf,
  recorded,
  rowOf,
  rows,
  startFeedScene,
  streamed,
  take,
} from '../support/feed-scene.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { metricOf } from '../support/operator-scene.ts';
import { polirisFile } from '../support/poliris.ts';
import { emptyDirectory, lastFirst, startTestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until, untilIs } from '../support/until.ts';

const FOLDER = fileURLToPath(new URL('feeds/', SHARED_DATA));
const skip = existsSync(FOLDER) ? false : 'the real files are not here';

const never = new AbortController().signal;

class Crash extends Error {}

const cleanup = lastFirst({ after });
/** Shared by most tests; each test has its own sources. */
const scene = await startFeedScene(cleanup);

test('an advert whose publication was not acknowledged is known, and expires when the next file lacks it', async () => {
  const { broker } = scene;
  const connection = Object.assign(Object.create(broker.connection), {
    publish(...parameters: Parameters<typeof broker.connection.publish>) {
      broker.connection.publish(...parameters);
      throw new Crash();
    },
  });
  const before = await streamed(scene);
  const file = polirisFile([rowOf(1, 1), rowOf(2, 2)]);
  await assert.rejects(take(scene, 'unacknowledged', file, { broker: { ...broker, connection } }), Crash);
  await untilIs(() => streamed(scene), before + 1);
  await take(scene, 'unacknowledged', polirisFile([rowOf(2, 2)]));
  await recorded(scene);
  assert.equal(await liveCount(scene, 'unacknowledged'), 1);
});

test('a reading whose lock was lost publishes nothing, because another process may have read a newer file', async (t) => {
  const path = join(await emptyDirectory(t), 'Annonces.csv');
  await writeFile(path, polirisFile([rowOf(1, 1)]));
  const database = openDatabase({ url: scene.servers.postgres.url, connectionsMax: 3 });
  t.after(() => database.end());
  const before = await streamed(scene);
  const reading = readOnce({
    ...{ database, broker: scene.broker, source: 'unlocked', path, isAll: false, isForced: false, stopping: never },
    clock: () => new Date(),
    async format() {
      const locking = `locktype = 'advisory' and (classid::bigint << 32 | objid::bigint) = hashtextextended('vigie feed unlocked', 0)`;
      await scene.database.query(`select pg_terminate_backend(pid, 10000) from pg_locks where ${locking}`);
      return openFormat('poliris', null, 'unlocked');
    },
  });
  await assert.rejects(reading, /connection/i);
  assert.equal(await streamed(scene), before);
});

test('A, B and A again within the stream’s duplicate window end as A', async () => {
  const [one, two] = [polirisFile([rowOf(1, 100)]), polirisFile([rowOf(1, 90)])];
  for (const file of [one, two, one]) await take(scene, 'aba', file);
  await recorded(scene);
  assert.equal(await eventCount(scene, 'ad.update.price', 'aba'), 2);
  // After the clock was set back, the new message still gets a later time than the earlier ones.
  await take(scene, 'aba', two, { clock: () => new Date(0) });
  await recorded(scene);
  assert.equal(await eventCount(scene, 'ad.update.price', 'aba'), 3);
});

test('an unusable file expires nothing, and a forced one is applied unchanged', async () => {
  const twenty = rows(0, 20, 100_000);
  await take(scene, 'refused', polirisFile(twenty));
  const before = await streamed(scene);
  const refused = async (file: Buffer, reason: RegExp) => {
    await assert.rejects(
      take(scene, 'refused', file),
      (error: Error) => error instanceof SnapshotRefusedError && reason.test(error.message),
    );
    assert.equal(await streamed(scene), before);
  };
  const thirteen = polirisFile(twenty.slice(0, 13));
  await refused(Buffer.alloc(0), /The file is empty/);
  await refused(thirteen, /7 of 20 adverts are missing\. To accept this, run "vigie feed" with --force\./);
  await refused(polirisFile(twenty).subarray(0, -100), /The file is cut off/);
  await refused(
    polirisFile(twenty.map((row) => ({ ...row, 2: '' }))),
    /None of the 20 rows is valid\. Line 1: the reference is missing\./,
  );
  const fourteen = await take(scene, 'refused', polirisFile(twenty.slice(0, 14)), { broker: null });
  assert.equal(fourteen.counts.gone, 6);
  const cut = await take(scene, 'refused', polirisFile([...twenty.slice(0, 3), rowOf(99, 5)]).subarray(0, -100), {
    isForced: true,
  });
  assert.deepEqual([cut.counts.gone, cut.counts.unchanged], [0, 3]);
  assert.match(cut.notices.join(), /No advert expires\. The file is cut off/);
  const { counts } = await take(scene, 'refused', thirteen, { isForced: true });
  assert.equal(counts.gone, 7);
  await recorded(scene);
  assert.equal(await liveCount(scene, 'refused'), 13);
  await take(scene, 'refused', Buffer.alloc(0), { isForced: true });
  await recorded(scene);
  assert.equal(await liveCount(scene, 'refused'), 0);
});

test('an unreadable row leaves its advert unchanged, and one without a reference leaves all missing adverts unchanged', async () => {
  await take(scene, 'row', polirisFile([rowOf(1, 100), rowOf(2, 200), rowOf(3, 300)]));
  const broken = await take(scene, 'row', polirisFile([rowOf(1, 100), { ...rowOf(2, 150), 21: '\0' }]));
  assert.deepEqual([broken.counts.gone, broken.counts.notUnderstood], [1, 1]);
  assert.match(broken.complaints[0] ?? '', /^Line 2, R2: the record contains NUL bytes/);
  const nameless = await take(scene, 'row', polirisFile([rowOf(1, 100), { 3: 'vente' }]));
  assert.equal(nameless.counts.gone, 0);
  assert.match(
    nameless.notices.join(),
    /unreadable rows without a reference \(1\) may belong to missing adverts \(1\)\. .* with --force/,
  );
  const twice = await take(scene, 'row', polirisFile([rowOf(1, 100), rowOf(2, 200), rowOf(2, 300)]));
  assert.deepEqual([twice.counts.unchanged, twice.complaints], [2, ['Line 3, R2: the reference occurs twice.']]);
  await recorded(scene);
  assert.equal(await liveCount(scene, 'row'), 2);
  assert.equal(await eventCount(scene, 'ad.update.price', 'row'), 0);
});

test('an unchanged advert is published again once a day, without an event, and all of them on request', async () => {
  const file = polirisFile(rows(0, 3, 100));
  const at = (hours: number) => ({ clock: () => new Date(Date.UTC(2026, 2, 10, hours)) });
  const republished = async (hours: number, options = {}) =>
    (await take(scene, 'equal', file, { ...at(hours), ...options })).counts.republished;
  await take(scene, 'equal', file, at(0));
  assert.deepEqual(
    [await republished(12), await republished(23), await republished(24), await republished(47)],
    [0, 3, 0, 3],
  );
  assert.equal(await republished(47, { isAll: true }), 3);
  await recorded(scene);
  assert.deepEqual(
    [await eventCount(scene, 'property.ad.create', 'equal'), await eventCount(scene, 'ad.update.price', 'equal')],
    [3, 0],
  );
  for (const time of await crawledOf(scene, 'equal')) assert.match(time, /^2026-03-11T23:00:00\.001Z,/);
});

test('the command exits with 2 for unreadable rows, explains refusals in a sentence, and --end ends a source', async (t) => {
  const folder = await emptyDirectory(t);
  const path = join(folder, 'Annonces.csv');
  const feed = (...args: string[]) => runVigie(['feed', ...args], scene.servers);
  const poliris = ['ended', '--format', 'poliris', path];
  await writeFile(path, polirisFile([rowOf(1, 100), {}]));
  const two = await feed(...poliris);
  assert.equal(two.code, 2);
  assert.match(two.stdout, /not understood: Line 2: the reference is missing\.\nended: 1 adverts; 1 new/);
  await writeFile(path, 'nothing of the kind');
  const refused = await feed(...poliris);
  assert.deepEqual([refused.code, refused.stdout], [1, '']);
  assert.match(refused.stderr, /Annonces\.csv was refused\. The file is not Poliris/);
  assert.doesNotMatch(refused.stderr, /at .*\.ts/);
  for (const [args, words] of [
    [['Not A Name', ...poliris.slice(1)], /The source "Not A Name" must have only lower-case letters/],
    [['ended', path], /Set --format to poliris or mapping/],
    [['ended', '--format', 'mapping', path], /needs --mapping FILE/],
    [['ended', '--end', path], /--end takes neither FILE/],
    [['ended'], /Name a FILE/],
    [['ended', '--format', 'poliris', join(folder, 'none\x1b[2J')], /Cannot read .*none\ufffd\[2J: no such file/],
    [['ended', '--format', 'poliris', folder], /is not a regular file/],
  ] as const) {
    const { code, stderr } = await feed(...args);
    assert.ok(code === 1 || code === 2);
    assert.match(stderr, words);
  }
  const ended = await feed('ended', '--end');
  assert.match(ended.stdout, /The source ended was removed\. Adverts that expire: 1\./);
  await recorded(scene);
  assert.equal(await liveCount(scene, 'ended'), 0);
  assert.equal(await readSource(scene.database, 'ended'), null);
});

test('a mapping of a CSV file publishes the adverts of Toulon', { skip }, async () => {
  const before = await liveCount(scene);
  const csv = join(FOLDER, '../adverts/toulon_bienici_2026-03-10.csv.gz');
  const mapping = join(ROOT, 'config/bienici-mapping.json');
  const { code, stdout } = await runVigie(
    ['feed', 'toulon', '--format', 'mapping', '--mapping', mapping, csv],
    scene.servers,
  );
  assert.equal(code, 0);
  assert.match(stdout, /note: 17 of 1664 values of price are not a number \(first: line \d+, "\[443000, 1265000\]"\)/);
  await recorded(scene);
  assert.equal((await liveCount(scene)) - before, 1_664);
  const { rows: letters } = await scene.database.query('select reason from dead_letters');
  assert.deepEqual(letters, []);
});

const HABITS = join(ROOT, 'test/feeds');

/** Expected results, written by hand from the file. */
interface ExpectedReading {
  readonly code: number;
  readonly says: readonly string[];
  readonly adverts: readonly { readonly title: string }[];
}

/** The members with a known value, by their paths in the contract. */
function membersOf(content: object, path = ''): [path: string, value: unknown][] {
  return Object.entries(content).flatMap(([name, value]): [string, unknown][] => {
    if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return [];
    const isObject = typeof value === 'object' && !Array.isArray(value);
    return isObject ? membersOf(value, `${path}${name}.`) : [[path + name, value]];
  });
}

test('files in unusual styles are read without an invented or lost value', async (t) => {
  const { rows: earlier } = await scene.database.query('select uuid from properties');
  const byTitle = async () => {
    const { rows } = await scene.database.query('select state from properties where uuid <> all($1)', [
      earlier.map(({ uuid }) => uuid),
    ]);
    const adverts = rows.flatMap(({ state }) => readState(state).adverts);
    const members = adverts.map(({ content, property }) => [...membersOf(property), ...membersOf(content)]);
    return new Map(members.map(Object.fromEntries).map((each) => [each.title, each]));
  };
  const expected: Readonly<Record<string, ExpectedReading>> = JSON.parse(
    await readFile(join(HABITS, 'expected.json'), 'utf8'),
  );
  for (const [file, { code, says, adverts }] of Object.entries(expected)) {
    const source = file.split('.')[0] as string;
    const mapping = ['--format', 'mapping', '--mapping', join(HABITS, `${source}.mapping.json`)];
    const read = await runVigie(['feed', source, ...mapping, join(HABITS, file)], scene.servers);
    assert.deepEqual([read.code, read.stdout.trim().split('\n'), read.stderr], [code, says, ''], file);
    await recorded(scene);
    const shown = await byTitle();
    for (const advert of adverts) assert.deepEqual(shown.get(advert.title), advert, file);
  }
  const late = (agency: string) => [
    { 1: 'Identifiant agence', 2: 'Référence agence du bien', 3: 'Type d’annonce', 11: 'Prix' },
    ...[1, 2, 3].map((number) => ({ ...rowOf(number, 100_000 * number), 1: agency })),
  ];
  const path = join(await emptyDirectory(t), 'late.csv');
  for (const [agency, counts] of [
    ['', '3 new, 0 changed, 0 gone, 0 unchanged'],
    ['A7', '0 new, 0 changed, 0 gone, 3 unchanged'],
  ] as const) {
    await writeFile(path, polirisFile(late(agency)));
    const { stdout } = await runVigie(['feed', 'late', '--format', 'poliris', path], scene.servers);
    assert.match(stdout, new RegExp(`late: 3 adverts; ${counts}`), stdout);
  }
});

test('the role reads a folder when its newest file is complete, in one instance, and reports to operators', async (t) => {
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
  const daemon = await startHere(t, servers, { VIGIE_FEEDS_FILE: sources });
  const admin = (...args: string[]) => runVigie(['admin', ...args, '--address', daemon.adminAddress], servers);
  assert.match((await admin('feeds', 'list')).stdout, /agency +0 .*\nother/);
  await writeFile(join(folder, 'pushed', 'Annonces.csv'), polirisFile([{ ...rowOf(1, 100), 16: 'grand' }, {}]));
  // A run that an operator requests does not wait until the file is unchanged for a minute.
  assert.match((await admin('feeds', 'run', 'agency')).stdout, /request time/);
  const shown = await until(
    () => admin('feeds', 'show', 'agency'),
    ({ stdout }) => /read count +1/.test(stdout),
  );
  assert.match(
    shown.stdout,
    /advert count +1\b[^]*not understood: Line 2: the reference is missing[^]*note: 1 of 1 values of surface is not a number \(first: line 1, "grand"\)/,
  );
  assert.equal((await admin('feeds', 'show', 'nobody')).code, 3);
  const metrics = await (await fetch(`${daemon.operationsUrl}/metrics`)).text();
  assert.match(metrics, /vigie_feed_lost_values\{source="agency",member="surface"\} 1/);
  await writeFile(join(folder, 'pushed', 'later.csv'), 'something else');
  await admin('feeds', 'run', 'agency');
  await until(
    () => admin('feeds', 'list'),
    ({ stdout }) => stdout.includes('The file is not Poliris'),
  );
  assert.equal(await metricOf(daemon, 'vigie_feed_refused'), 1);
  assert.equal(await daemon.end('SIGTERM'), 0);
});

function sourceOf(name: string, from: Partial<FeedSource>): FeedSource {
  const nothing = { mapping: null, path: null, url: null, authorization: null };
  return { name, format: 'poliris', everyMs: 24 * 3_600_000, ...nothing, ...from };
}

test('a slow source delays only other sources of its host, and is listed as being read', async (t) => {
  const path = join(await emptyDirectory(t), 'Annonces.csv');
  await writeFile(path, polirisFile([rowOf(1, 1)]));
  let [asked, end] = [0, () => undefined as unknown];
  const server = createServer((request, response) => {
    asked += 1;
    if (request.url !== '/drip') return response.end(polirisFile([rowOf(1, 1)]));
    response.write('x');
    end = () => response.destroy();
  });
  const host = `http://127.0.0.1:${await listenOnLoopback(t, server)}`;
  const read: string[] = [];
  const names = ['dripping', 'neighbour', ...Array.from({ length: 6 }, (_, at) => `elsewhere-${at}`)];
  const urls = [`${host}/drip`, `${host}/file`];
  const task = await startFeeds({
    ...scene,
    sources: names.map((name, at) => sourceOf(name, urls[at] === undefined ? { path } : { url: urls[at] })),
    allowPrivateNetworks: true,
    clock: () => new Date(),
    nowMs: () => performance.now(),
    onRead: (name) => void read.push(name),
    onRefused: (name, reason) => void read.push(`${name}: ${reason}`),
    onTransientError: (_, error) => assert.fail(error),
    checkEveryMs: 50,
    settledAfterMs: 0,
  });
  t.after(() => task.stop());
  await untilIs(async () => read.length, 6);
  assert.ok(!read.includes('neighbour'));
  const listed = await until(
    () => listSources(scene.database, 'drippinf', 1),
    ([source]) => source?.reading?.bytes === 1,
  );
  assert.ok(Date.parse(listed[0]?.reading?.since ?? '') <= Date.now());
  assert.equal(asked, 1);
  end();
  await untilIs(async () => read.length, 8);
  assert.match(read.find((line) => line.startsWith('dripping')) ?? '', /dripping: Cannot download/);
  assert.equal((await readSource(scene.database, 'dripping'))?.reading, null);
  // Stops the task before its file is removed.
  await task.stop();
});

test('a file is read once it has not changed for a minute, and a silent source’s file is not read again', async (t) => {
  const folder = await emptyDirectory(t);
  const path = join(folder, 'Annonces.csv');
  let nowMs = 0;
  const read: string[] = [];
  const task = await startFeeds({
    ...scene,
    sources: [sourceOf('agency', { path: folder })],
    allowPrivateNetworks: false,
    clock: () => new Date(1_800_000_000_000 + nowMs),
    nowMs: () => nowMs,
    onRead: (_, { counts }) => void read.push(`${counts.new} new, ${counts.republished} again`),
    onRefused: (_, reason) => void read.push(reason),
    onTransientError: (_, error) => assert.fail(error),
    checkEveryMs: Number.POSITIVE_INFINITY,
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

test('a file that is uploaded again while another source is read is not read until it is complete', async (t) => {
  const folder = await emptyDirectory(t);
  const names = ['uploading-a', 'uploading-b'];
  const pathOf = (name: string) => join(folder, name);
  for (const name of names) await writeFile(pathOf(name), polirisFile([rowOf(1, 1), rowOf(2, 2)]));
  let nowMs = 0;
  const read: string[] = [];
  const task = await startFeeds({
    ...scene,
    sources: names.map((name) => sourceOf(name, { path: pathOf(name) })),
    allowPrivateNetworks: false,
    clock: () => new Date(1_800_000_000_000 + nowMs),
    nowMs: () => nowMs,
    onRead(name, { counts }) {
      read.push(`${counts.adverts}`);
      // The upload of the other file has begun.
      for (const other of names) if (other !== name) writeFileSync(pathOf(other), polirisFile([rowOf(1, 1)]));
    },
    onRefused: (_, reason) => void read.push(reason),
    onTransientError: (_, error) => assert.fail(error),
    checkEveryMs: Number.POSITIVE_INFINITY,
  });
  t.after(() => task.stop());
  await task.run();
  nowMs = 61_000;
  await task.run();
  assert.deepEqual(read, ['2']);
});

test('an agency that adds its number later keeps its adverts: only new and removed ones are reported', async () => {
  const before = rows(0, 24, 100_000).map((row, at) => ({ ...row, 175: String(500 + at) }));
  await take(scene, 'renumbered', polirisFile(before));
  // One advert is gone, one is new, one has another price, and one can be recognised only by its technical id.
  const now = [...before.slice(1), { ...rowOf(99, 5), 175: '999' }].map((row) => ({ ...row, 1: 'AG7' }));
  Object.assign(now[0] as object, { 11: '90000' });
  Object.assign(now[1] as object, { 2: 'renamed' });
  const dry = await take(scene, 'renumbered', polirisFile(now), { broker: null });
  const { counts, notices } = await take(scene, 'renumbered', polirisFile(now));
  assert.deepEqual(dry.counts, counts);
  assert.deepEqual([counts.new, counts.changed, counts.gone, counts.unchanged], [1, 2, 1, 21]);
  assert.match(notices.join(), /23 adverts return under another agency number \(R1 as AG7\/R1\) and keep/);
  // The former number returns, and one advert is missing.
  const back = await take(scene, 'renumbered', polirisFile([...before.slice(1, 23), { ...rowOf(99, 5), 175: '999' }]));
  assert.deepEqual([back.counts.new, back.counts.gone, back.counts.changed], [0, 1, 2]);
  await recorded(scene);
  assert.equal(await eventCount(scene, 'property.ad.create', 'renumbered'), 25);
  assert.equal(await eventCount(scene, 'ad.update.expired', 'renumbered'), 2);
  assert.equal(await eventCount(scene, 'ad.update.price', 'renumbered'), 2);
  assert.equal(await endSource({ ...scene, source: 'renumbered', clock: () => new Date(), stopping: never }), 23);
  await recorded(scene);
  assert.equal(await liveCount(scene, 'renumbered'), 0);
});

test('if half of the references changed, or several adverts share a key, no advert is carried over', async () => {
  const numbered = (from: number, to: number, agency: string) =>
    rows(from, to, 100).map((row) => ({ ...row, 1: agency }));
  await take(scene, 'half', polirisFile(numbered(0, 10, 'A')));
  const half = await take(scene, 'half', polirisFile([...numbered(0, 5, 'A'), ...numbered(5, 10, 'B')]));
  assert.deepEqual([half.counts.new, half.counts.gone], [5, 5]);
  await take(scene, 'shared', polirisFile([...numbered(0, 5, 'A'), ...numbered(0, 5, 'B')]));
  const shared = await take(scene, 'shared', polirisFile([...numbered(0, 5, 'C'), ...numbered(0, 5, 'D')]));
  assert.deepEqual([shared.counts.new, shared.counts.gone], [10, 10]);
});

test('the agencies of a file are checked separately: one with a new number keeps its adverts', async () => {
  const of = (agency: string, from: number, to: number) =>
    rows(from, to, 100_000).map((row) => ({ ...row, 1: agency, 175: `${agency.at(-1)}${row[2]}` }));
  const others = [...of('A1', 0, 5), ...of('A2', 0, 9)];
  await take(scene, 'common', polirisFile([...others, ...of('A3', 0, 4)]));
  // One row cannot be parsed, which does not expire its advert. C5 is a new agency with one of the same references.
  const renamed = of('B3', 0, 4).map((row, at) => ({ ...row, 21: at === 3 ? '\0' : '' }));
  const now = [...others, ...renamed, ...of('C5', 1, 2)];
  const { counts, notices } = await take(scene, 'common', polirisFile(now));
  assert.deepEqual([counts.new, counts.gone, counts.unchanged, counts.notUnderstood], [1, 0, 17, 1]);
  assert.match(notices.join(), /4 adverts return under another agency number \(A3\/R0 as B3\/R0\)/);
  // Two agencies change at once and have the same references. Only their technical ids distinguish them.
  const two = [...of('D1', 0, 5), ...of('D2', 0, 9), ...of('B3', 0, 4), ...of('C5', 1, 2)];
  const apart = await take(scene, 'common', polirisFile(two));
  assert.deepEqual([apart.counts.new, apart.counts.gone], [0, 0]);
  const alike = two.map((row) => ({ ...row, 1: row[1].replace('D', 'E'), 175: '' }));
  const lost = await take(scene, 'common', polirisFile(alike), { isForced: true, broker: null });
  assert.deepEqual([lost.counts.new, lost.counts.gone], [14, 14]);
});

test('a snapshot in which most adverts of the source, or of an agency, change price by a fifth is refused', async () => {
  const of = (agency: string, ...prices: readonly number[]) =>
    prices.map((price, at) => ({ ...rowOf(at + 1, price), 1: agency }));
  const shifted = [rowOf(2, 100_000), rowOf(3, 200_000), rowOf(4, 300_000), rowOf(5, 400_000)];
  await take(scene, 'reused', polirisFile([1, 2, 3, 4].map((number) => rowOf(number, number * 100_000))));
  const sentence =
    /^3 of 3 adverts change their price by more than a fifth at once\. To accept this, run "vigie feed" with --force\.$/;
  const refused = (file: Buffer, reason: RegExp) =>
    assert.rejects(take(scene, 'reused', file), (error: Error) => reason.test(error.message));
  await refused(polirisFile(shifted), sentence);
  assert.equal((await take(scene, 'reused', polirisFile(shifted), { isForced: true })).counts.changed, 3);

  const known = [...of('A', 100, 100, 100, 100, 100, 100), ...of('B', 100, 100, 100, 100, 100)];
  await take(scene, 'fifths', polirisFile(known));
  const next = (...prices: readonly number[]) =>
    take(scene, 'fifths', polirisFile([...known.slice(0, 6), ...of('B', ...prices)]), { broker: null });
  for (const prices of [
    [120, 80, 120, 80, 120],
    [121, 79, 100, 100, 100],
  ])
    assert.equal((await next(...prices)).counts.adverts, 11);
  await assert.rejects(next(121, 79, 200, 100, 100), /3 of 5 adverts of the agency B change/);
});

test('a price with grouped digits is read by the habit of the source’s earlier rows, even when they are gone', async () => {
  const row = (number: number, price: string, surface = '') => ({ ...rowOf(number, 1), 11: price, 16: surface });
  const first = await take(
    scene,
    'grouped',
    polirisFile([row(1, '350.000'), row(2, '250000', '62,5'), row(3, '189.500 €')]),
  );
  assert.deepEqual([first.counts.new, first.lost], [3, {}]);
  const second = await take(scene, 'grouped', polirisFile([row(1, '350.000'), row(2, '250000'), row(3, '189.500 €')]));
  assert.deepEqual([second.counts.unchanged, second.counts.changed, second.lost], [2, 1, {}]);
  await recorded(scene);
  assert.deepEqual(await pricesOf(scene, 'grouped'), [189_500, 250_000, 350_000]);
  assert.equal(await eventCount(scene, 'ad.update.price', 'grouped'), 0);
  const other = await take(
    scene,
    'grouped',
    polirisFile([row(1, '350.000'), row(2, '250000', '62.5'), row(3, '189.500 €')]),
  );
  assert.deepEqual([other.counts.unchanged, other.counts.changed, other.lost], [2, 1, {}]);
  const unknown = await take(scene, 'unfamiliar', polirisFile([row(1, '350.000')]));
  assert.deepEqual(unknown.lost, { price: 1 });
  assert.match(unknown.notices.join(), /1 of 1 values of price is ambiguous.*\(first: line 1, "350\.000"\)/);
});

test('if many adverts lose a member, the command reports it and exits with 2', async (t) => {
  const path = join(await emptyDirectory(t), 'Annonces.csv');
  const feed = async (file: Buffer) => {
    await writeFile(path, file);
    return runVigie(['feed', 'losing', '--format', 'poliris', path], scene.servers);
  };
  const ten = rows(0, 10, 100_000);
  assert.equal((await feed(polirisFile(ten))).code, 0);
  const one = await feed(polirisFile([{ ...ten[0], 11: '' }, ...ten.slice(1)]));
  assert.deepEqual([one.code, one.stdout.includes('warning')], [0, false]);
  const asked = ten.map((row, at) => (at < 3 ? { ...row, 11: 'nous consulter' } : row));
  const three = await feed(polirisFile(asked));
  assert.equal(three.code, 2);
  assert.match(three.stdout, /note: 3 of 10 values of price are not a number \(first: line 1, "nous consulter"\)/);
  assert.match(three.stdout, /warning: 2 of 10 adverts have lost price\.\n/);
});
